"""Small repositories of many kinds, each with a finding for every linter that it suggests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Repository:
    """`finds`: sweep -> a rule that its check reports here; "" where its program comes from where only a machine with
    the whole internet gets it. `files`: paths begin with a folder of their own in the mixed repository."""

    files: Mapping[str, str]
    finds: Mapping[str, str]


# Programs that a check needs of the machine: no package index has them.
PROGRAMS = {
    "eslint": ("npm",), "tsc": ("npm",), "stylelint": ("npm",), "markdownlint": ("npm",), "go-vet": ("go",),
    "clippy": ("cargo",), "rubocop": ("rubocop",),
}  # fmt: skip
WORKFLOW = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make lint\n"

REPOSITORIES = {
    "python": Repository(
        {
            "pyproject.toml": "[tool.ruff]\nline-length = 100\n\n[tool.mypy]\nstrict = true\n",
            "requirements-dev.txt": "mypy\ntypes-requests\n",
            "app.py": "import os\nimport requests\n\n\ndef get() -> object:\n    return requests.get(1)\n",
        },
        {"ruff": "F401", "mypy": "arg-type"},
    ),
    "node": Repository(
        {
            ".gitignore": "node_modules/\n",
            "package.json": '{"name": "web", "private": true, "scripts": {"lint": "eslint --fix src && tsc --noEmit"}, '
            '"devDependencies": {"eslint": "^9", "typescript": "^5"}}\n',
            "eslint.config.mjs": 'export default [{ rules: { "no-var": "error" } }];\n',
            "tsconfig.json": '{"compilerOptions": {"strict": true}, "include": ["src"]}\n',
            "src/a.js": "var a = 1;\n",
            "src/b.ts": 'export const b: number = "x";\n',
        },
        {"eslint": "no-var", "tsc": "TS2322"},
    ),
    "go": Repository(
        {
            "go.mod": "module example.com/app\n\ngo 1.19\n",
            "main.go": "package main\n\nfunc main() {\n\tx := 1\n\tx = x\n}\n",
        },
        {"go-vet": "assign"},
    ),
    "rust": Repository(
        {
            ".gitignore": "target/\n",
            "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn f(v: &Vec<u8>) -> bool {\n    v.len() == 0\n}\n",
        },
        {"clippy": "clippy::len_zero"},
    ),
    "ruby": Repository(
        {".rubocop.yml": "AllCops:\n  NewCops: disable\n", "lib/a.rb": "def f( x )\n  x\nend\n"},
        {"rubocop": "Layout/SpaceInsideParens"},
    ),
    "shell": Repository(
        {"scripts/x.sh": "#!/bin/sh\necho $1\n", "Makefile": "lint:\n\tshellcheck --severity=info scripts/*.sh\n"},
        {"shellcheck": "SC2086"},
    ),
    "c": Repository(
        {"src/a.c": "int main(void) {\n  int a[2];\n  a[2] = 1;\n  return 0;\n}\n"},
        {"cppcheck": "arrayIndexOutOfBounds"},
    ),
    "docs": Repository(
        {
            ".markdownlint.json": '{"default": true}\n',
            ".codespellrc": "[codespell]\nskip = .git\n",
            ".yamllint": "extends: default\n",
            "docs/a.md": "# Title\n\nWe recieve it.\n#bad\n",
            "docs/a.yaml": "a: 1\n",
        },
        {"codespell": "misspelling", "markdownlint": "MD018", "yamllint": "document-start"},
    ),
    "images": Repository(
        {
            "Dockerfile": "FROM debian\nRUN cd /x\n",
            ".github/workflows/ci.yml": WORKFLOW,
            ".github/zizmor.yml": "rules: {}\n",
        },
        {"hadolint": "DL3003", "zizmor": "excessive-permissions", "actionlint": ""},
    ),
}

# What the linters themselves look for at the top stays there.
TOP = (".gitignore", ".github", ".markdownlint.json", ".codespellrc", ".yamllint", "Makefile", "Dockerfile")
MIXED = {
    name if name.startswith(TOP) else f"{kind}/{name}": text
    for kind, repository in REPOSITORIES.items()
    for name, text in repository.files.items()
} | {".gitignore": "node_modules/\ntarget/\n", "Makefile": "lint:\n\tshellcheck --severity=info shell/scripts/x.sh\n"}

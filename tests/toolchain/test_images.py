"""The linters' images that ship: each is built for real, and its tools work as the sandbox's user, offline."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sweeper.sandbox.contract import Limits, Toolchain
from sweeper.sandbox.docker.images import definitions_here
from tests.sandbox.conftest import Box
from tests.sandbox.trees import PlainTree

FOLDER = Path(__file__).parents[2] / "sandboxes"
ROOMY = Limits(memory=2 << 30, pids=256, disk=1 << 30)
# A finding that each tool must make, with the files it is made in: a version alone proves little.
TOOLS: dict[str, dict[str, tuple[str, str]]] = {
    "python": {"ruff check .": ("a.py", "F401"), "pytest --version": ("", "pytest"), "pip --version": ("", "pip")},
    "node": {
        "node --check a.js": ("a.js", "SyntaxError"),
        "npm --version": ("", "."),
        "npx --version": ("", "."),
        "pnpm --version": ("", "10."),
        "yarn --version": ("", "1."),
    },
    "go": {"go vet ./...": ("main.go", "Printf"), "gofmt -l .": ("main.go", "main.go")},
    "rust": {
        "cargo clippy --offline": ("src/main.rs", "needless_return"),
        "cargo fmt --check": ("src/main.rs", "Diff"),
    },
    "ruby": {
        "rubocop --only Lint/UselessAssignment": ("a.rb", "UselessAssignment"),
        "bundle --version": ("", "Bundler"),
    },
    "shell": {
        "shellcheck a.sh": ("a.sh", "SC2086"),
        "shfmt -d a.sh": ("a.sh", "echo"),
        "codespell words.txt": ("words.txt", "receive"),
    },
    "generic": {
        "codespell words.txt": ("words.txt", "receive"),
        "typos words.txt": ("words.txt", "receive"),
        "yamllint a.yaml": ("a.yaml", "syntax error"),
        "hadolint Dockerfile": ("Dockerfile", "DL3006"),
        "zizmor --offline .github/workflows": (".github/workflows/a.yaml", "template-injection"),
    },
}
FILES = {
    "a.py": b"import os\n",
    "a.js": b"const = 1\n",
    "go.mod": b"module example.com/a\n\ngo 1.24.0\n",
    "main.go": b'package main\n\nimport "fmt"\n\nfunc main() {\nfmt.Printf("%d", "x")\n}\n',
    "Cargo.toml": b'[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": b'version = 3\n\n[[package]]\nname = "a"\nversion = "0.1.0"\n',
    "src/main.rs": b'fn one() -> u8 { return 1; }\nfn main() { println!("{}", one()); }\n',
    "a.rb": b"def a\n  unused = 1\n  2\nend\n",
    "a.sh": b"#!/bin/sh\n  echo $1\n",
    "words.txt": b"we recieve it\n",
    "a.yaml": b"a: [1\n",
    "Dockerfile": b"FROM debian\n",
    ".github/workflows/a.yaml": b"on: issues\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
    b"      - run: echo ${{ github.event.issue.title }}\n",
}
ASK = (
    "id -u; touch /opt/x /usr/x 2>&1 | grep -c -e Read-only -e denied; "
    "grep -c : /proc/net/dev; (echo > /dev/tcp/192.0.2.1/80) 2>/dev/null || echo offline"
)


def test_every_definition_is_tested_here() -> None:
    assert sorted(TOOLS) == definitions_here()


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first time an image is built
@pytest.mark.parametrize("factory", [pytest.param("docker", marks=pytest.mark.docker)], indirect=True, scope="session")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if n in ("go", "rust") else ()) for n in TOOLS]
)
def test_the_tools_of_an_image_work_in_a_sandbox(box: Box, name: str) -> None:
    tree = PlainTree(FILES, git=True)
    programs = tuple(dict.fromkeys(command.split()[0] for command in TOOLS[name]))
    snapshot = box.portal.call(box.backend.prepare, tree, Toolchain(name=name, tools=(*programs, "git")))
    for command, (_, expected) in TOOLS[name].items():
        done = box.run(*command.split(), snapshot=snapshot, limits=ROOMY)
        said = (done.stdout + done.stderr).decode()
        assert expected in said, f"{command}: {done.facts}\n{said}"
    done = box.run("bash", "-c", ASK, snapshot=snapshot, limits=ROOMY)
    assert done.stdout.decode().split()[1:] == ["2", "1", "offline"], done.stdout


@pytest.mark.parametrize("name", TOOLS)
def test_a_definition_pins_its_versions_and_names_no_host(name: str) -> None:
    dockerfile = (FOLDER / name / "Dockerfile").read_text()
    assert dockerfile.count("FROM debian:bookworm-slim") == 1
    assert not re.search(r"(?i)https?://|--index-url|--registry", dockerfile)
    assert (FOLDER / name / "ca.crt").read_bytes() == b""
    if "pip install" in dockerfile:
        assert "--require-hashes" in dockerfile
        lock = (FOLDER / name / "requirements.lock").read_text()
        asked = (FOLDER / name / "requirements.in").read_text().splitlines()
        assert all(f"{each}==" in lock for each in asked if not each.startswith("#"))
        assert "://" not in lock
    if "npm ci" in dockerfile:
        packages = json.loads((FOLDER / name / "package-lock.json").read_text())["packages"]
        assert all("resolved" not in each for each in packages.values())
        assert all("integrity" in each for path, each in packages.items() if path)

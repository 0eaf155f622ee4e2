"""Linters of everything else: shell, Dockerfiles, workflows, YAML, Markdown, SQL, spelling, any language."""

from __future__ import annotations

from dataclasses import replace

from sweeper.backlog.tools.tool import NOTHING, Tool, codes, dropped, words

SHELLCHECK = Tool(
    name="shellcheck",
    programs=("shellcheck",),
    value_options=words(
        "--format -e --exclude -i --include -S --severity -s --shell -o --enable -P --source-path -W --wiki-link-count "
        "--rcfile"
    ),
    short={"-f": "--format"},
    dropped=dropped("-C --color"),
    machine_format=("--format", "json1"),
    format="shellcheck-json1",
    good_formats=words("json json1 gcc checkstyle"),
    # It prints its fixes as a patch, with paths from where it ran.
    fix_options=(("--format", "diff"),),
    fix_script='{fix} "$@" | git apply --directory="$(git rev-parse --show-prefix)" -',
    exit_codes=codes(broken=(2, 3, 4)),
    streams=("stdout",),
    incomplete=r"(?m)^.*: openBinaryFile: .*",
    config_files=(".shellcheckrc", "shellcheckrc"),
)

HADOLINT = Tool(
    name="hadolint",
    programs=("hadolint",),
    value_options=words(
        "--format -c --config --ignore --trusted-registry --require-label --error --warning --info --style "
        "--file-path-in-report"
    ),
    short={"-f": "--format"},
    dropped=dropped("--no-fail --no-color -V --verbose", "-t --failure-threshold"),
    machine_format=("--format", "json"),
    format="hadolint-json",
    good_formats=words("json sarif checkstyle tty gnu gitlab_codeclimate"),
    no_suppressions=("--disable-ignore-pragma",),
    exit_codes=codes(),
    streams=("stdout",),
    config_files=(".hadolint.yaml", ".hadolint.yml"),
)

ACTIONLINT = Tool(
    name="actionlint",
    programs=("actionlint",),
    value_options=words("-format -config-file -ignore -shellcheck -pyflakes -stdin-filename"),
    dropped=dropped("-oneline -no-color -color -verbose -debug"),
    machine_format=("-format", "{{json .}}"),
    format="actionlint-json",
    good_formats=words(""),
    exit_codes=codes(broken=(2, 3)),
    streams=("stdout",),
    config_files=("actionlint.yaml", "actionlint.yml"),
)

ZIZMOR = Tool(
    name="zizmor",
    programs=("zizmor",),
    value_options=words(
        "--format -c --config -p --persona --min-severity --min-confidence --gh-token --gh-hostname "
        "--cache-dir --collect "
        "--color"
    ),
    dropped=dropped("--fix --no-exit-codes --no-progress -v --verbose -q --quiet"),
    machine_format=("--format", "json-v1"),
    format="zizmor-json",
    good_formats=words("json json-v1 sarif github"),
    fix_options=(("--fix=safe",), ("--fix=all",)),
    exit_codes=codes(findings=(10, 11, 12, 13, 14), broken=(1, 2, 3)),
    streams=("stdout",),
    config_files=("zizmor.yml", "zizmor.yaml"),
)

YAMLLINT = Tool(
    name="yamllint",
    programs=("yamllint",),
    value_options=words("--format -c --config-file -d --config-data"),
    short={"-f": "--format"},
    machine_format=("--format", "parsable"),
    format="yamllint",
    good_formats=words("parsable github"),
    exit_codes=codes(findings=(1, 2), broken=(255,)),  # 2: warnings under --strict
    streams=("stdout",),
    config_files=(".yamllint", ".yamllint.yaml", ".yamllint.yml"),
)

MARKDOWNLINT = Tool(
    name="markdownlint",
    programs=("markdownlint-cli2",),
    value_options=words("--config"),
    dropped=dropped("--fix"),
    format="markdownlint",
    file_options=("--no-globs",),  # the configuration's globs would add every other file
    fix_options=(("--fix",),),
    exit_codes=codes(broken=(2,)),
    nothing=r"(?m)^Linting: 0 file\(s\)",
    config_files=(
        *(f".markdownlint-cli2.{end}" for end in ("jsonc", "yaml", "cjs", "mjs")),
        *(f".markdownlint.{end}" for end in ("jsonc", "json", "yaml", "yml", "cjs", "mjs")),
        ".markdownlintignore",
        "package.json",
    ),
    config_section={"package.json": "markdownlint-cli2"},
)
MARKDOWNLINT_CLI = replace(
    MARKDOWNLINT,
    name="markdownlint-cli",
    programs=("markdownlint", "markdownlint-cli"),
    value_options=words("-c --config -i --ignore -p --ignore-path -r --rules --disable --enable"),
    dropped=dropped("-f --fix -q --quiet -j --json", "-o --output"),
    file_options=(),
    exit_codes=codes(broken=(2, 3, 4)),
    nothing=NOTHING,
)

SQLFLUFF = Tool(
    name="sqlfluff",
    programs=("sqlfluff",),
    command=("lint",),
    value_options=words(
        "--format --dialect -d --templater -t --rules -r -e --exclude-rules --config --encoding -p --processes "
        "--library-path --stdin-filename --annotation-level --ignore -i"
    ),
    short={"-f": "--format"},
    dropped=dropped("--nofail --bench -v -vv -vvv -vvvv --verbose -n --nocolor", "--write-output --logger"),
    machine_format=("--format", "json"),
    format="sqlfluff-json",
    good_formats=words("json sarif github-annotation github-annotation-native"),
    check_options=("--disable-progress-bar",),
    fix_options=((),),
    fix_command=("fix",),
    no_suppressions=("--disable-noqa",),
    exit_codes=codes(broken=(2,)),
    streams=("stdout",),
    config_files=(".sqlfluff", ".sqlfluffignore", "setup.cfg", "tox.ini", "pep8.ini", "pyproject.toml"),
    config_section={"pyproject.toml": "tool.sqlfluff", "setup.cfg": "sqlfluff", "tox.ini": "sqlfluff"},
)

CODESPELL = Tool(
    name="codespell",
    programs=("codespell", "codespell_lib"),
    value_options=words(
        "-D --dictionary --builtin -I --ignore-words -L --ignore-words-list -x --exclude-file -q --quiet-level "
        "-S --skip "
        "-r --regex --ignore-regex --ignore-multiline-regex --uri-ignore-words-list -A --after-context -B "
        "--before-context -C --context --config --toml"
    ),
    dropped=dropped("-w --write-changes -s --summary --count -c --enable-colors", "-i --interactive"),
    format="codespell",
    fix_options=(("-w",),),
    exit_codes=codes(findings=(65,), broken=(64,)),
    streams=("stdout",),
    config_files=(".codespellrc", "setup.cfg", "pyproject.toml"),
    config_section={"pyproject.toml": "tool.codespell", "setup.cfg": "codespell"},
)

TYPOS = Tool(
    name="typos",
    programs=("typos",),
    value_options=words("--format -c --config -j --threads --exclude --locale --sort --color"),
    dropped=dropped("-w --write-changes --diff -v -vv --verbose -q --quiet"),
    machine_format=("--format", "json"),
    format="typos-json",
    good_formats=words("json brief sarif"),
    file_options=("--force-exclude",),
    fix_options=(("-w",),),
    exit_codes=codes(findings=(2,), broken=(1, 64, 78)),
    streams=("stdout",),
    config_files=("typos.toml", "_typos.toml", ".typos.toml", "pyproject.toml", "Cargo.toml"),
    config_section={"pyproject.toml": "tool.typos", "Cargo.toml": "metadata.typos"},
)

SEMGREP = Tool(
    name="semgrep",
    programs=("semgrep", "opengrep"),
    command=("scan",),
    value_options=words(
        "--config -e --pattern -l --lang -j --jobs --exclude --include --exclude-rule --max-memory "
        "--timeout --severity "
        "--timeout-threshold --max-target-bytes --baseline-commit --replacement"
    ),
    short={"-c": "--config", "-f": "--config"},
    dropped=dropped(
        "--sarif --text --emacs --vim --gitlab-sast --gitlab-secrets --junit-xml --error -a --autofix --dryrun "
        "-v --verbose --debug",
        "--metrics "
        "-o --output --json-output --sarif-output --text-output --emacs-output --vim-output --gitlab-sast-output "
        "--gitlab-secrets-output --junit-xml-output",
    ),
    machine_format=("--json",),
    format="semgrep-json",
    check_options=("--disable-version-check", "--metrics=off"),
    fix_options=(("--autofix",),),
    no_suppressions=("--disable-nosem",),
    exit_codes=codes(broken=(2, 3, 4, 5, 7, 8, 13)),
    streams=("stdout",),
    config_files=(".semgrep.yml", ".semgrep.yaml", ".semgrepignore", "semgrep.yml", "semgrep.yaml"),
)
SEMGREP_SHORT = replace(SEMGREP, name="semgrep-short", command=(), needs="--config")

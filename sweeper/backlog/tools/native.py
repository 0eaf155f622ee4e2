"""Linters of languages with a compiler of their own, and of Ruby."""

from __future__ import annotations

from dataclasses import replace

from sweeper.backlog.tools.tool import KEEP_FILES_ONLY, Tool, codes, dropped, words

CLIPPY = Tool(
    name="clippy",
    programs=("cargo",),
    command=("clippy",),
    value_options=words(
        "--message-format -p --package --exclude -F --features --target --manifest-path --target-dir --profile -j "
        "--jobs --color --bin --example --test --bench --config --lockfile-path -Z -C"
    ),
    dropped=dropped("--fix --allow-dirty --allow-staged --allow-no-vcs --broken-code -v -vv --verbose -q --quiet"),
    machine_format=("--message-format", "json"),
    format="cargo-json",
    good_formats=words("json"),
    fix_options=(("--fix", "--allow-dirty", "--allow-staged", "--allow-no-vcs"),),
    fix_script=KEEP_FILES_ONLY,
    whole_project=True,
    passes_on=True,
    exit_codes=codes(findings=(101,), broken=(1,)),
    config_files=("clippy.toml", ".clippy.toml", "Cargo.toml", "rust-toolchain", "rust-toolchain.toml"),
    config_section={"Cargo.toml": "lints"},
)

GOLANGCI = Tool(
    name="golangci-lint",
    programs=("golangci-lint",),
    command=("run",),
    value_options=words(
        "--output.json.path -c --config --timeout -E --enable -D --disable --enable-only --default --build-tags "
        "--concurrency -j --go --modules-download-mode --new-from-rev --new-from-patch --new-from-merge-base "
        "--path-prefix --path-mode"
    ),
    dropped=dropped(
        "--fix --show-stats --uniq-by-line -v --verbose",
        "--issues-exit-code --color --max-issues-per-linter --max-same-issues --output.text.path "
        "--output.sarif.path --output.tab.path --output.checkstyle.path --output.code-climate.path "
        "--output.html.path --output.junit-xml.path --output.teamcity.path",
    ),
    machine_format=("--output.json.path", "stdout"),
    format="golangci-json",
    good_formats=words("stdout"),
    # Without them it reports 50 findings a linter, three of the same text, and any one of those of a line: a fix
    # would then bring the next one to light.
    check_options=(
        "--show-stats=false",
        "--max-issues-per-linter=0",
        "--max-same-issues=0",
        "--uniq-by-line=false",
    ),
    fix_options=(("--fix",),),
    fix_script=KEEP_FILES_ONLY,
    whole_project=True,
    exit_codes=codes(broken=(2, 3, 4, 5, 6, 7)),
    streams=("stdout",),
    incomplete=(
        r"(?im)^(?:.*(?:can't run|because of compilation errors|context loading failed|typechecking error)"
        r"|level=error|ERRO\b).*"
    ),
    config_files=(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json", "go.mod"),
)
GOLANGCI_V1 = replace(
    GOLANGCI,
    name="golangci-lint-v1",
    needs="--out-format",
    value_options=words(
        "--out-format -c --config --timeout --deadline -E --enable -D --disable -p --presets -e --exclude --build-tags "
        "--concurrency -j --go --modules-download-mode --new-from-rev --new-from-patch --skip-dirs --skip-files "
        "--path-prefix"
    ),
    machine_format=("--out-format", "json"),
    good_formats=words("json"),
    # Older versions know no --show-stats; the last one here came with 1.30.
    check_options=("--max-issues-per-linter=0", "--max-same-issues=0", "--uniq-by-line=false"),
)

GO_VET = Tool(
    name="go-vet",
    programs=("go",),
    command=("vet",),
    value_options=words("-C -c -tags -mod -modfile -p -vettool -overlay"),
    machine_format=("-json",),
    format="go-vet-json",
    dropped=dropped("-fix -v -x"),
    whole_project=True,
    # With -json it ends with 0 whatever it found.
    exit_codes=codes(findings=(1, 2)),
    config_files=("go.mod",),
)

RUBOCOP = Tool(
    name="rubocop",
    programs=("rubocop",),
    value_options=words("--format -c --config --only --except -r --require --plugin --cache-root --stdin"),
    short={"-f": "--format", "--autocorrect-all": "-A", "--auto-correct-all": "-A"},
    dropped=dropped(
        "-a -A --autocorrect --autocorrect-all --auto-correct --auto-correct-all --safe-auto-correct -x "
        "--fix-layout -F --fail-fast --auto-gen-config -D --display-cop-names -d --debug",
        "-o --out --fail-level --cache",
    ),
    machine_format=("--format", "json"),
    format="rubocop-json",
    good_formats=words("json"),
    check_options=("--cache=false",),
    file_options=("--force-exclusion",),
    fix_options=(("-a",), ("-A",)),
    no_suppressions=("--ignore-disable-comments",),
    exit_codes=codes(broken=(2,)),
    streams=("stdout",),
    incomplete=r"(?m)^(?:An error occurred while|Infinite loop detected in) .*",
    config_files=(".rubocop.yml", ".rubocop_todo.yml", ".rubocop"),
)

CPPCHECK = Tool(
    name="cppcheck",
    crosses=True,
    programs=("cppcheck",),
    value_options=words("-I -D -U -j -i -x"),
    dropped=dropped(
        "--verbose -v --dump",
        "--template --template-location --output-file --error-exitcode --xml-version --output-format "
        "--checkers-report --cppcheck-build-dir",
    ),
    machine_format=("--xml",),
    format="cppcheck-xml",
    check_options=("-q",),
    exit_codes=codes(),
    incomplete=r"(?m)^.*(?:bailing out|Too many #ifdef configurations).*",
)

GCC = Tool(
    name="gcc",
    programs=("gcc", "g++", "cc", "c++", "clang", "clang++"),
    value_options=words(
        "-o -I -D -U -L -l -x -include -isystem -idirafter -iquote -MF -MT -MQ -Xlinker -Xclang -target -arch -T -u "
        "--param"
    ),
    format="text",
    exit_codes=codes(),
)

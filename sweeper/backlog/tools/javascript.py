"""Linters of JavaScript, TypeScript and style sheets."""

from __future__ import annotations

from dataclasses import replace

from sweeper.backlog.tools.tool import Tool, codes, dropped, words

ESLINT = Tool(
    name="eslint",
    crosses=True,
    programs=("eslint",),
    value_options=words(
        "-c --config --ext --rulesdir --parser --parser-options --resolve-plugins-relative-to --rule --plugin --env "
        "--global --ignore-path --ignore-pattern --format --stdin-filename --flag --suppressions-location "
        "--concurrency --report-unused-disable-directives-severity"
    ),
    short={"-f": "--format"},
    dropped=dropped(
        "--fix --fix-dry-run --cache --init --debug --suppress-all --prune-suppressions --color --no-color --stats",
        "-o --output-file --fix-type --cache-location --cache-file --cache-strategy --max-warnings --suppress-rule",
    ),
    machine_format=("--format", "json"),
    format="eslint-json",
    good_formats=words("json json-with-metadata"),
    fix_options=(("--fix",),),
    no_suppressions=("--no-inline-config",),
    exit_codes=codes(broken=(2,)),
    streams=("stdout",),
    config_files=(
        *(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts")),
        *(f".eslintrc{end}" for end in ("", ".js", ".cjs", ".json", ".yml", ".yaml")),
        ".eslintignore",
        "package.json",
    ),
    config_section={"package.json": "eslintConfig"},
)

TSC = Tool(
    name="tsc",
    programs=("tsc", "vue-tsc"),
    value_options=words("-p --project -t --target -m --module --outDir --rootDir --lib --types --jsx"),
    dropped=dropped("-w --watch --listFiles --listEmittedFiles --diagnostics --extendedDiagnostics"),
    machine_format=("--pretty", "false"),
    format="tsc",
    check_options=("--noEmit",),
    whole_project=True,
    booleans=True,
    exit_codes=codes(findings=(1, 2)),
    streams=("stdout",),
    config_files=("tsconfig.json", "jsconfig.json", "tsconfig.*.json"),
)

BIOME = Tool(
    name="biome",
    crosses=True,
    programs=("biome",),
    command=("lint",),
    value_options=words(
        "--reporter --config-path --diagnostic-level --only --skip --colors --log-level --log-kind --vcs-root "
        "--since --stdin-file-path --files-max-size"
    ),
    dropped=dropped("--write --fix --apply --apply-unsafe --unsafe --verbose", "--max-diagnostics"),
    machine_format=("--reporter", "rdjson"),
    format="rdjson",
    good_formats=words("rdjson json sarif github gitlab checkstyle"),
    check_options=("--max-diagnostics=none",),  # 20 by default
    fix_options=(("--write",), ("--write", "--unsafe")),
    exit_codes=codes(),
    streams=("stdout",),
    incomplete=r"(?m)^.*number of diagnostics exceeds the limit.*",
    config_files=("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"),
)
BIOME_CHECK = replace(BIOME, name="biome-check", command=("check",))
BIOME_CI = replace(BIOME, name="biome-ci", command=("ci",), fix_command=("check",))

OXLINT = Tool(
    name="oxlint",
    crosses=True,
    programs=("oxlint",),
    value_options=words(
        "--format -c --config --tsconfig -A --allow -W --warn -D --deny --ignore-path --ignore-pattern --threads"
    ),
    short={"-f": "--format"},
    dropped=dropped("--fix --fix-suggestions --fix-dangerously --silent --deny-warnings", "--max-warnings"),
    machine_format=("--format", "json"),
    format="oxlint-json",
    good_formats=words("json sarif github gitlab checkstyle unix"),
    fix_options=(
        ("--fix",),
        ("--fix", "--fix-suggestions"),
        ("--fix", "--fix-suggestions", "--fix-dangerously"),
    ),
    exit_codes=codes(),
    streams=("stdout",),
    config_files=(".oxlintrc.json", ".oxlintrc.jsonc", "oxlint.config.ts", ".eslintignore"),
)

STYLELINT = Tool(
    name="stylelint",
    programs=("stylelint",),
    value_options=words(
        "--formatter --config -c --config-basedir --ignore-path -i --ignore-pattern --ip "
        "--custom-syntax --globby-options"
    ),
    short={"-f": "--formatter"},
    dropped=dropped(
        "--fix --cache --color --no-color",
        "-o --output-file --custom-formatter --cache-location --cache-strategy --max-warnings --mw",
    ),
    machine_format=("--formatter", "json"),
    format="stylelint-json",
    good_formats=words("json unix"),
    fix_options=(("--fix",),),
    no_suppressions=("--ignore-disables",),
    exit_codes=codes(findings=(2,), broken=(1, 64, 78)),
    config_files=(
        *(f".stylelintrc{end}" for end in ("", ".json", ".yml", ".yaml", ".js", ".cjs", ".mjs")),
        *(f"stylelint.config.{end}" for end in ("js", "cjs", "mjs", "ts")),
        ".stylelintignore",
        "package.json",
    ),
    config_section={"package.json": "stylelint"},
)

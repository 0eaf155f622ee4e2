"""Linters and type checkers of Python."""

from __future__ import annotations

from dataclasses import replace

from sweeper.backlog.tools.tool import Tool, codes, dropped, words

RUFF = Tool(
    name="ruff",
    programs=("ruff",),
    command=("check",),
    value_options=words(
        "--output-format --target-version --extension --select --ignore --extend-select --extend-ignore "
        "--per-file-ignores --extend-per-file-ignores --fixable --unfixable --extend-fixable --exclude "
        "--extend-exclude --cache-dir --stdin-filename --config --color --line-length --dummy-variable-rgx"
    ),
    dropped=dropped(
        "--fix --fix-only --unsafe-fixes --show-fixes --diff --watch -w --statistics --add-noqa --add-ignore "
        "--exit-zero -e --exit-non-zero-on-fix --silent -s --verbose -v",
        "--output-file -o",
    ),
    machine_format=("--output-format", "json"),
    format="ruff-json",
    good_formats=words("json json-lines sarif concise pylint rdjson github gitlab"),
    # A cache is of no use in a sandbox that is thrown away, and would be a change of its own. `fix = true` in
    # the project's configuration would let a check repair what it should report.
    check_options=("--no-fix", "--no-cache"),
    file_options=("--force-exclude",),
    fix_options=(("--fix",), ("--fix", "--unsafe-fixes")),
    no_suppressions=("--ignore-noqa",),
    exit_codes=codes(broken=(2,)),
    streams=("stdout",),
    incomplete=r"(?m)^(?:warning|error): (?:Failed to|Panicked|Encountered error).*",
    # The ignore files hide a file from a whole run.
    config_files=("ruff.toml", ".ruff.toml", "pyproject.toml", ".gitignore", ".ignore"),
    config_section={"pyproject.toml": "tool.ruff"},
)

FLAKE8 = Tool(
    name="flake8",
    programs=("flake8",),
    value_options=words(
        "--format --exclude --extend-exclude --filename --stdin-display-name --ignore --extend-ignore "
        "--per-file-ignores --max-line-length --max-doc-length --indent-size --select --extend-select --color "
        "--config --append-config --enable-extensions --require-plugins --max-complexity -j --jobs --hang-closing"
    ),
    dropped=dropped(
        "--tee --exit-zero --count --statistics --show-source -q -qq --quiet -v -vv --verbose --benchmark",
        "--output-file",
    ),
    machine_format=("--format", "default"),
    format="text",
    good_formats=words("default pylint"),
    no_suppressions=("--disable-noqa",),
    exit_codes=codes(broken=(2,)),
    streams=("stdout",),
    config_files=(".flake8", "setup.cfg", "tox.ini"),
    config_section={"setup.cfg": "flake8", "tox.ini": "flake8"},
)

PYLINT = Tool(
    name="pylint",
    crosses=True,
    programs=("pylint",),
    value_options=words(
        "--output-format --rcfile -d --disable -e --enable -j --jobs --fail-on --ignore --ignore-paths "
        "--ignore-patterns --load-plugins --max-line-length --good-names --init-hook --source-roots --py-version"
    ),
    short={"-f": "--output-format"},
    dropped=dropped("--exit-zero -v --verbose", "--output --reports -r --score -s --msg-template --fail-under"),
    machine_format=("--output-format", "json2"),
    format="pylint-json2",
    good_formats=words("json2 json"),
    # A bit mask: 1 fatal, 2 error, 4 warning, 8 refactor, 16 convention; 32 is a usage error.
    exit_codes=codes(findings=[code for code in range(2, 32) if code & 30], broken=(1, 32)),
    streams=("stdout",),
    column_base=0,
    config_files=("pylintrc", ".pylintrc", "pylintrc.toml", ".pylintrc.toml", "pyproject.toml", "setup.cfg", "tox.ini"),
    config_section={"pyproject.toml": "tool.pylint", "setup.cfg": "pylint", "tox.ini": "pylint"},
)

BANDIT = Tool(
    name="bandit",
    programs=("bandit",),
    value_options=words(
        "--format -a --aggregate -n --number -c --configfile -p --profile -t --tests -s --skip -x --exclude "
        "-b --baseline --ini --severity-level --confidence-level"
    ),
    short={"-f": "--format"},
    dropped=dropped("--exit-zero -v --verbose -d --debug", "-o --output --msg-template"),
    machine_format=("--format", "json"),
    format="bandit-json",
    good_formats=words("json sarif"),
    check_options=("-q",),
    no_suppressions=("--ignore-nosec",),
    exit_codes=codes(broken=(2,)),
    streams=("stdout",),
    config_files=(".bandit", "bandit.yaml", "bandit.yml", "pyproject.toml"),
    config_section={"pyproject.toml": "tool.bandit"},
)

MYPY = Tool(
    name="mypy",
    programs=("mypy",),
    value_options=words(
        "--config-file --python-version --platform --python-executable --exclude --output "
        "--follow-imports --enable-error-code --disable-error-code -m --module -p --package -c --command "
        "--custom-typeshed-dir --always-true --always-false"
    ),
    short={"-O": "--output"},
    dropped=dropped(
        "--pretty --show-error-context --error-summary --show-error-end -v --verbose",
        "--cache-dir --junit-xml --txt-report --html-report --xml-report --any-exprs-report --linecount-report",
    ),
    machine_format=("--output", "json"),
    format="mypy-json",
    good_formats=words("json"),
    check_options=("--cache-dir=/dev/null",),
    whole_project=True,
    # 2 is a crash, a usage error or code that does not parse: what was printed decides.
    exit_codes=codes(findings=(1, 2)),
    partial=frozenset({2}),
    streams=("stdout",),
    config_files=("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"),
    config_section={"pyproject.toml": "tool.mypy", "setup.cfg": "mypy"},
)

PYRIGHT = Tool(
    name="pyright",
    programs=("pyright",),
    value_options=words(
        "-p --project --pythonplatform --pythonversion --pythonpath -v --venvpath --venv-path --level --threads "
        "-t --typeshedpath --typeshed-path"
    ),
    dropped=dropped("-w --watch --stats --verbose --dependencies"),
    machine_format=("--outputjson",),
    format="pyright-json",
    whole_project=True,
    exit_codes=codes(broken=(2, 3, 4)),
    streams=("stdout",),
    config_files=("pyrightconfig.json", "pyproject.toml"),
    config_section={"pyproject.toml": "tool.pyright"},
)

BASEDPYRIGHT = replace(
    PYRIGHT,
    name="basedpyright",
    programs=("basedpyright",),
    dropped=dropped("-w --watch --stats --verbose --dependencies --writebaseline", "--gitlabcodequality"),
    config_files=(*PYRIGHT.config_files, "baseline.json"),
    config_section={"pyproject.toml": "tool.basedpyright"},
)

TY = Tool(
    name="ty",
    programs=("ty",),
    command=("check",),
    value_options=words(
        "--output-format --python --python-version --python-platform --project --config --config-file -c --error "
        "--warn --ignore --exclude --typeshed --extra-search-path --color"
    ),
    dropped=dropped("-W --watch --exit-zero -v -vv --verbose -q --quiet --add-ignore --fix"),
    machine_format=("--output-format", "gitlab"),
    format="gitlab",
    good_formats=words("gitlab github concise"),
    whole_project=True,
    exit_codes=codes(broken=(2, 101)),
    streams=("stdout",),
    config_files=("ty.toml", "pyproject.toml"),
    config_section={"pyproject.toml": "tool.ty"},
)

PYREFLY = Tool(
    name="pyrefly",
    programs=("pyrefly",),
    command=("check",),
    value_options=words(
        "--output-format -c --config --project-includes --project-excludes --search-path --site-package-path "
        "--python-version --python-platform --python-interpreter-path --color --threads -j --error --warn --ignore"
    ),
    dropped=dropped("--watch --suppress-errors --count-errors --summarize-errors -v --verbose", "--output"),
    machine_format=("--output-format", "json"),
    format="pyrefly-json",
    good_formats=words("json github min-text"),
    whole_project=True,
    exit_codes=codes(broken=(2, 101)),
    streams=("stdout",),
    config_files=("pyrefly.toml", "pyproject.toml"),
    config_section={"pyproject.toml": "tool.pyrefly"},
)

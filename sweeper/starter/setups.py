"""How a project's dependencies are installed, from the lock and manifest files that it has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from sweeper.starter.declared import extra_specs, is_development, python_names, requirements
from sweeper.starter.layout import installable
from sweeper.starter.project import Project, joined, strings, table

_PYTHON = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "setup.py")
_LOCKED = ("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb")
_NODE = ("devDependencies", "dependencies", "optionalDependencies")


@dataclass(frozen=True, slots=True)
class Environment:
    """`commands` make it, at the repository's top. `names`: packages that it has because the project names them.
    `python`: an interpreter of its own that further packages are for, "" for the toolchain's."""

    commands: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    python: str = ""

    def adding(self, packages: Sequence[str]) -> tuple[str, ...]:
        """The commands, and one more for those of these Python packages that the project does not name."""
        if not packages:
            return self.commands
        pip = f"pip --python {shlex.quote(self.python)}" if self.python else "pip"
        return (*self.commands, f"{pip} install {shlex.join(packages)}")


def python(project: Project, root: str) -> Environment:
    """Of the nearest folder that has a lock file or a manifest."""
    folder = next((each for each in project.upward(root) if _has_python(project, each)), "")
    if not folder:
        return Environment()
    names = python_names(project, folder)
    if project.has(joined(folder, "uv.lock")):
        chosen = _uv_groups(project, folder)
        sync = f"uv sync --frozen --no-python-downloads{chosen}"
        return _with_own(folder, names, "uv", sync)
    if project.has(joined(folder, "poetry.lock")):
        install = "env -u VIRTUAL_ENV POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction"
        return _with_own(folder, names, "poetry", install)
    if project.has(joined(folder, "pdm.lock")):
        return _with_own(folder, names, "pdm", "env -u VIRTUAL_ENV pdm install --frozen-lockfile")
    if project.has(joined(folder, "Pipfile.lock")):
        install = "env -u VIRTUAL_ENV PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev"
        return _with_own(folder, names, "pipenv", install)
    return Environment(_pip(project, folder), names)


def _has_python(project: Project, folder: str) -> bool:
    """A pyproject.toml that only configures tools is no manifest."""
    if project.beside(folder, *_PYTHON) or requirements(project, folder):
        return True
    tree = project.tree(joined(folder, "pyproject.toml"))
    return not tree.keys().isdisjoint(("project", "build-system", "dependency-groups"))


def _with_own(folder: str, names: frozenset[str], manager: str, command: str) -> Environment:
    return Environment((f"pip install {manager}", _inside(folder, command)), names, joined(folder, ".venv/bin/python"))


def _uv_groups(project: Project, folder: str) -> str:
    tree = project.tree(joined(folder, "pyproject.toml"))
    extras = [name for name in table(tree, "project", "optional-dependencies") if is_development(name)]
    groups = [name for name in table(tree, "dependency-groups") if is_development(name) and name != "dev"]
    return "".join(f" --extra {shlex.quote(name)}" for name in extras) + "".join(
        f" --group {shlex.quote(name)}" for name in groups
    )


def _pip(project: Project, folder: str) -> tuple[str, ...]:
    tree = project.tree(joined(folder, "pyproject.toml"))
    files = requirements(project, folder)
    commands = []
    if files:
        commands.append("pip install " + " ".join(f"-r {shlex.quote(path)}" for path in files))
    groups = {"dependency-groups": tree.get("dependency-groups", {})}
    # A pip that is older than groups does not know them: their packages are named.
    named = extra_specs(groups)
    if installable(project, folder):
        extras = [name for name in table(tree, "project", "optional-dependencies") if is_development(name)]
        where = "." if folder == "." else f"./{folder}"
        target = f"{where}[{','.join(extras)}]" if extras else where
        commands.append(f"pip install -e {shlex.join([target, *named])}")
    elif named := [*strings(table(tree, "project").get("dependencies")), *extra_specs(tree)]:
        commands.append(f"pip install {shlex.join(named)}")
    return tuple(commands)


def node(project: Project, root: str) -> Environment:
    """Of the nearest folder with a lock file, which may be a workspace's top, else with a package.json."""
    manifest = project.nearest(root, "package.json")
    if not manifest:
        return Environment()
    folder = project.nearest(root, *_LOCKED) or manifest
    names = frozenset(
        name
        for where in {manifest, folder}
        for kind in _NODE
        for name in table(project.tree(joined(where, "package.json")), kind)
    )
    return Environment((*_ignoring(project, folder), _inside(folder, _node_install(project, folder))), names)


def _ignoring(project: Project, folder: str) -> tuple[str, ...]:
    """What a set-up leaves in the work tree is kept where git ignores it."""
    if any("node_modules" in project.text(joined(each, ".gitignore")) for each in project.upward(folder)):
        return ()
    return ('sh -c "echo node_modules/ >> .git/info/exclude"',)


def _node_install(project: Project, folder: str) -> str:
    has = {name for name in _LOCKED if project.has(joined(folder, name))}
    manager, _, version = str(project.tree(joined(folder, "package.json")).get("packageManager", "")).partition("@")
    version = re.sub(r"[^\w.-].*", "", version)
    if "pnpm-lock.yaml" in has:
        pinned = f"pnpm@{version}" if manager == "pnpm" and version else "pnpm"
        return f"npx --yes {pinned} install --frozen-lockfile"
    if "yarn.lock" in has:
        if "# yarn lockfile v1" in project.text(joined(folder, "yarn.lock")):
            return "npx --yes yarn@1 install --frozen-lockfile"
        pinned = f"@yarnpkg/cli-dist@{version}" if manager == "yarn" and version else "@yarnpkg/cli-dist"
        return f"env YARN_NODE_LINKER=node-modules npx --yes {pinned} install"
    if has & {"bun.lock", "bun.lockb"}:
        return "npx --yes bun install --frozen-lockfile"
    return "npm ci" if has else "npm install --no-package-lock"


def go(project: Project, root: str) -> Environment:
    """The modules that go.mod requires."""
    requires = re.search(r"(?m)^require\b", project.text(joined(root, "go.mod")))
    return Environment((_inside(root, "go mod download"),) if requires else ())


def rust(project: Project, root: str) -> Environment:
    """The crates of Cargo.lock; without one, those that Cargo.toml asks for."""
    locked = project.nearest(root, "Cargo.lock")
    if locked:
        needed = "source = " in project.text(joined(locked, "Cargo.lock"))
        return Environment((_inside(root, "cargo fetch --locked"),) if needed else ())
    asks = re.search(r"(?m)^\s*\[(?:[\w.'-]+\.)?(?:dev-|build-)?dependencies", project.text(joined(root, "Cargo.toml")))
    return Environment((_inside(root, "cargo fetch"),) if asks else ())


def ruby(project: Project, root: str) -> Environment:
    """The gems of the nearest Gemfile. `names`: those that its lock file, or the Gemfile itself, names."""
    folder = project.nearest(root, "Gemfile")
    if not folder:
        return Environment()
    text = project.text(joined(folder, "Gemfile.lock")) + project.text(joined(folder, "Gemfile"))
    named = re.findall(r"(?m)^ {4}([\w-]+) \(|^\s*gem\s+[\"']([\w-]+)", text)
    return Environment((_inside(folder, "bundle install"),), frozenset(first or second for first, second in named))


def _inside(folder: str, command: str) -> str:
    return command if folder == "." else shlex.join(["sh", "-c", f"cd {shlex.quote(folder)} && {command}"])

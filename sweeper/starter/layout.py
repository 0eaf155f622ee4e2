"""Whether `pip install` can build a Python project, by the rules of the two backends that guess what belongs to it."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sweeper.starter.declared import normal
from sweeper.starter.project import Project, joined, table

# Folders and modules that setuptools takes for no part of a distribution.
_NO_PACKAGES = (
    "ci", "bin", "debian", "doc", "docs", "documentation", "manpages", "news", "newsfragments", "changelog", "test",
    "tests", "unit_test", "unit_tests", "example", "examples", "scripts", "tools", "util", "utils", "python", "build",
    "benchmark", "benchmarks", "exercise", "exercises", "htmlcov", "[._]*",
)  # fmt: skip
_NO_MODULES = (
    "setup", "conftest", "test", "tests", "example", "examples", "build", "toxfile", "noxfile", "pavement", "dodo",
    "tasks", "fabfile", "[Ss][Cc]onstruct", "conanfile", "manage", "benchmark", "benchmarks", "exercise", "exercises",
    "[._]*",
)  # fmt: skip


def installable(project: Project, folder: str) -> bool:
    """Whether its manifest describes a distribution, and what belongs to it is said or plain."""
    if project.has(joined(folder, "setup.py")):
        return True
    tree = project.tree(joined(folder, "pyproject.toml"))
    if "project" not in tree and "build-system" not in tree:
        return False
    backend = str(table(tree, "build-system").get("build-backend", "setuptools"))
    if backend.startswith("hatchling"):
        return _hatchling_finds(project, folder, str(table(tree, "project").get("name", "")))
    if backend.startswith("setuptools"):
        said = table(tree, "tool", "setuptools").keys() & {"packages", "py-modules", "ext-modules", "package-dir"}
        in_cfg = any(
            line.split("=")[0].strip() in ("packages", "py_modules", "package_dir")
            for line in project.text(joined(folder, "setup.cfg")).splitlines()
        )
        return bool(said) or in_cfg or _setuptools_finds(project, folder)
    return True


def _setuptools_finds(project: Project, folder: str) -> bool:
    """It refuses to guess between several packages, or modules, at the top."""
    paths = [path for path in project.below(folder) if path.endswith(".py")]
    if any(path.startswith("src/") for path in paths):
        return True
    tops = {path.split("/")[0] for path in project.below(folder) if "/" in path}
    packages = {name for name in tops if name.isidentifier() and not _is_any(name, _NO_PACKAGES)}
    modules = {path[:-3] for path in paths if "/" not in path and path[:-3].isidentifier()}
    return len(packages or {name for name in modules if not _is_any(name, _NO_MODULES)}) <= 1


def _hatchling_finds(project: Project, folder: str, name: str) -> bool:
    """It takes the package that is named like the project, unless it is told."""
    build = table(project.tree(joined(folder, "pyproject.toml")), "tool", "hatch", "build")
    told = {"packages", "include", "only-include", "sources", "force-include", "hooks"}
    if not told.isdisjoint({*build, *table(build, "targets", "wheel")}):
        return True
    names = {name, normal(name).replace("-", "_"), name.replace("-", "_")}
    places = [f"{each}{end}" for each in names for end in ("/__init__.py", ".py")]
    places += [f"src/{each}/__init__.py" for each in names]
    if any(project.has(joined(folder, place)) for place in places):
        return True
    below = {path.split("/", 1)[1] for path in project.below(folder) if path.count("/") == 2}
    return any(f"{each}/__init__.py" in below for each in names)


def _is_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

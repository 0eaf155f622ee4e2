"""The type checkers' rows of `signs`."""

from __future__ import annotations

from sweeper.starter.sign import PYTHON, Sign, ini, toml

# In the same table: the check is told by its configuration what to look at.
_NAMES_FILES = r"[^\[]*?^[ \t]*(?:files|packages|modules)[ \t]*="

TYPE_CHECKERS = (
    Sign(
        "mypy",
        "mypy --output json .",
        PYTHON,
        config=("mypy.ini", ".mypy.ini"),
        tables=(("pyproject.toml", toml("tool.mypy")), ("setup.cfg", ini("mypy"))),
        variants=(
            ("pyproject.toml", (toml("tool.mypy") + _NAMES_FILES, "mypy --output json")),
            *(
                (name, (ini("mypy") + _NAMES_FILES, "mypy --output json"))
                for name in ("mypy.ini", ".mypy.ini", "setup.cfg")
            ),
        ),
        install="pip mypy",
        dependencies=True,
    ),
    Sign(
        "pyright",
        "pyright --outputjson",
        PYTHON,
        config=("pyrightconfig.json",),
        tables=(("pyproject.toml", toml("tool.pyright")),),
        install="npm pyright",
        dependencies=True,
    ),
    Sign(
        "basedpyright",
        "basedpyright --outputjson",
        PYTHON,
        tables=(("pyproject.toml", toml("tool.basedpyright")),),
        install="pip basedpyright",
        dependencies=True,
    ),
    Sign(
        "ty",
        "ty check --output-format gitlab",
        PYTHON,
        config=("ty.toml",),
        tables=(("pyproject.toml", toml("tool.ty")),),
        install="pip ty",
        dependencies=True,
    ),
    Sign(
        "pyrefly",
        "pyrefly check --output-format json",
        PYTHON,
        config=("pyrefly.toml",),
        tables=(("pyproject.toml", toml("tool.pyrefly")),),
        install="pip pyrefly",
        dependencies=True,
    ),
    Sign(
        "tsc",
        "tsc --noEmit --pretty false",
        (".ts", ".mts", ".cts", ".tsx"),
        config=("tsconfig.json",),
        must_be_configured=True,
        install="npm typescript",
        toolchain="node",
        dependencies=True,
    ),
)

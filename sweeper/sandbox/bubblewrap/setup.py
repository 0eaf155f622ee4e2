"""`Toolchain.setup` on bubblewrap: commands run once, networked and without credentials, kept in the store.

What they install goes to TOOLCHAIN, a Python environment that is first on PATH (for npm, cargo, go and gem a prefix as
well); git-ignored files that they leave in the work tree (node_modules, a .venv) are kept too, as a layer above every
tree, and the programs in there come before all others. Everything else that they wrote is dropped: a toolchain is
shared by commits.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from sweeper.errors import CheckBroken, SandboxFailed
from sweeper.sandbox import authorities
from sweeper.sandbox.bubblewrap import tools
from sweeper.sandbox.bubblewrap.program import KEPT, TOOLCHAIN
from sweeper.sandbox.contract import WORK, Facts, Limits, Name, Role, Snapshot, Spec, Toolchain
from sweeper.sandbox.setups import CLOCKS, OUTPUT, failed, tails
from sweeper.sandbox.space import on_host
from sweeper.sandbox.store import sandbox_ids

PARTS = {"toolchain": TOOLCHAIN, "kept": KEPT}  # folder of a slot and of an entry -> its place inside
LIMITS = Limits(memory=8 << 30, pids=1024, cpus=float(os.cpu_count() or 1), disk=4 << 30, output=OUTPUT)
SYSTEM_CA = "/etc/ssl/certs/ca-certificates.crt"
BARE = f"python3 -m venv --clear --without-pip {TOOLCHAIN}"
# Debian without python3-venv has no ensurepip: the host's pip is told to install into the environment.
WITH_PIP = f"{{ python3 -m venv {TOOLCHAIN} >/dev/null 2>&1 || {BARE}; }}"
# Where package managers keep what later runs need again; they see it read-only.
KEEPING = {"CARGO_HOME": "cargo", "GOMODCACHE": "go/mod", "GEM_HOME": "ruby"}
EXPORTS = f"""export VIRTUAL_ENV={TOOLCHAIN}
export NPM_CONFIG_PREFIX={TOOLCHAIN} CARGO_INSTALL_ROOT={TOOLCHAIN} GOBIN={TOOLCHAIN}/bin
export {" ".join(f"{name}={TOOLCHAIN}/{folder}" for name, folder in KEEPING.items())}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
test -e {TOOLCHAIN}/bin/pip || export PIP_PYTHON={TOOLCHAIN}/bin/python
# The machine's own authorities, which a company's proxy may be one of, unless a bundle is configured.
if test -z "$SSL_CERT_FILE" && test -e {SYSTEM_CA}; then
  export {" ".join(f"{name}={SYSTEM_CA}" for name in authorities.VARIABLES)}
fi
"""
# Copied inside, as the sandbox's user: a listing that lies leads nowhere but to what the sandbox sees anyway.
KEEP = f"""cd {WORK}
if test -e .git && command -v git >/dev/null; then
  git ls-files -z --others --ignored --exclude-standard --directory | xargs -0 -r cp -a --parents -t {KEPT} --
fi
"""


def key(toolchain: Toolchain, found: tools.Tools) -> str:
    """The entry's name: what was asked for, and the programs that it was installed with, as they are now."""
    programs = [_identity(name) for name in names(toolchain)]
    text = repr((toolchain.key, toolchain.setup, toolchain.local, found.mounts, programs, sandbox_ids()[0]))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40]


def _identity(name: str) -> tuple[str, int, int]:
    """A program of the host, told from a later version of itself."""
    where = os.path.realpath(tools.which(name) or "")
    try:
        state = os.stat(where)
    except OSError:
        return (name, 0, 0)
    return (where, state.st_size, state.st_mtime_ns)


def names(toolchain: Toolchain) -> list[str]:
    """Programs of the host that the commands may use: optional, since an earlier command may bring a later one's."""
    return [command[0] for command in toolchain.setup if command] + ["python3"]


def folders(toolchain: Toolchain) -> list[str]:
    """What a set-up puts on PATH, in its own commands and in every later sandbox."""
    return [*(f"{WORK}/{folder}" for folder in toolchain.local), f"{TOOLCHAIN}/bin", f"{TOOLCHAIN}/ruby/bin"]


def environment(entry: Path) -> dict[str, str]:
    """The variables by which tools find what the set-up left in the entry."""
    there = {name: folder for name, folder in KEEPING.items() if (entry / "toolchain" / folder).is_dir()}
    return {"VIRTUAL_ENV": TOOLCHAIN} | {name: f"{TOOLCHAIN}/{folder}" for name, folder in there.items()}


def script(toolchain: Toolchain) -> str:
    """An environment (with pip, which takes seconds, if a command speaks of it), the commands, and what to keep."""
    text = "\n".join(shlex.join(command) for command in toolchain.setup)
    make = f"if command -v python3 >/dev/null; then {WITH_PIP if 'pip' in text else BARE}; fi\n"
    path = f'export PATH={shlex.quote(":".join(folders(toolchain)))}:"$PATH"\n'
    return f"set -e\n{make}{path}{EXPORTS}{text}\n{KEEP}"


def install(
    toolchain: Toolchain,
    snapshot: Snapshot,
    entry: str,
    target: Path,
    run: Callable[[Spec, Callable[[int], None]], Facts],
) -> None:
    """Run the commands for the store's `entry` and fill `target` with what is kept.

    `run(spec, harvest)` is one sandbox; it calls `harvest` with its slot's descriptor. Blocks.
    Raises CheckBroken with the end of the output if a command fails.
    """
    with tempfile.TemporaryDirectory(prefix="sweeper-setup-") as folder:
        spec = Spec(
            name=Name("setup", entry, 1, Role.SETUP),
            snapshot=snapshot,
            argv=("sh", "-c", script(toolchain)),
            stdout=Path(folder, "stdout"),
            stderr=Path(folder, "stderr"),
            limits=LIMITS,
            clocks=CLOCKS,
            network=True,
        )
        facts = run(spec, lambda slot: _copy(slot, target))
        said = tails(spec.stdout, spec.stderr)
    if facts.exit_code != 0:
        raise failed(toolchain, facts, said, "with a network and no credentials", CLOCKS.wall)


def check(toolchain: Toolchain, missing: Sequence[str], entry: Path) -> None:
    """Raises CheckBroken for a tool that neither the host nor the setup has."""
    places = [entry / "toolchain" / "bin", entry / "toolchain" / "ruby" / "bin"]
    places += [entry / "kept" / folder for folder in toolchain.local]
    for name in missing:
        if not any(os.path.lexists(place / name) for place in places):
            commands = "; ".join(shlex.join(command) for command in toolchain.setup)
            raise CheckBroken(
                f"the tool {name!r} is neither on PATH nor installed by `setup` ({commands})",
                hint=f'add it to the sweep\'s setup in sweeper.toml, for example "pip install {name}"; what it leaves '
                "in the work tree is kept where .gitignore ignores it",
            )


def _copy(slot: int, target: Path) -> None:
    """Both parts from the ended sandbox's slot. Links stay links; nothing in it is followed or run."""
    for part in PARTS:
        (target / part).mkdir()
        source = f"/proc/self/fd/{slot}/{part}/."
        done = on_host("cp", "-a", "--no-preserve=xattr", "--", source, str(target / part), pass_fds=[slot])
        if done.returncode:
            raise SandboxFailed(f"the toolchain could not be kept in {target}: {done.stderr.strip()[-500:]}")

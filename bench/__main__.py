"""`python -m bench [NAME...]`: run the measurements, print a line a figure. Exit 1 if a target was missed."""

from __future__ import annotations

import importlib
import sys
import time

from bench.rows import Row, keep

NAMES = (
    "startup",
    "parsing",
    "policy",
    "ledger",
    "coordinator",
    "sandboxes",
    "efficiency",
    "real",
    "gateway",
    "batching",
    "kills",
    "matrix",
    "trust",
)


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        print(f"no measurement named {', '.join(unknown)}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    missed = 0
    for name in names or NAMES:
        began = time.monotonic()
        print(f"-- {name}", flush=True)
        rows: list[Row] = importlib.import_module(f"bench.{name}").measure()
        for row in rows:
            print(row, flush=True)
        keep(name, rows)
        missed += sum(not row.met for row in rows)
        print(f"   {time.monotonic() - began:.0f} s", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

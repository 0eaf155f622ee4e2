"""100,000 findings: detect, parse and partition against `json.load` of the same file, and the coordinator's memory.

The measured work runs in a process of its own, so that its peak memory is the coordinator's and nothing else's.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.rows import Row
from sweeper.sandbox.contract import WORK

FINDINGS = 100_000
FILES = 2_000
SOURCE_BYTES = 8_000  # ESLint repeats the text of every file that has findings
REPEATS = 5
FACTOR = 1.5
MEGABYTES = 150

_LOAD = """
import json, sys, time
start = time.perf_counter()
with open(sys.argv[1]) as file:
    json.load(file)
print(time.perf_counter() - start)
"""

_SWEEP = """
import resource, sys, time
from pathlib import Path
import anyio
from sweeper.backlog.child import Parser
from sweeper.backlog.partition import partition
from sweeper.backlog.tools import recognise
from sweeper.records import BaseEntry

async def main() -> None:
    listing = {b"src/m%d.js" % n: BaseEntry(0o100644, "0" * 40) for n in range(int(sys.argv[2]))}
    parser = Parser()
    small = Path(sys.argv[3])
    tool = recognise(["eslint", "--format", "json", "."])
    await parser.parse(small, small, exit_code=0, tool=tool, listing=listing)  # the server is warm in every round
    start = time.perf_counter()
    result = await parser.parse(Path(sys.argv[1]), Path("/nonexistent"), exit_code=1, tool=tool, listing=listing)
    parts = partition(result.findings, listing, {}, sweep="s")
    seconds = time.perf_counter() - start
    await parser.aclose()
    units = sum(len(unit.findings) for unit in parts.units) + parts.deferred
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, peak, len(result.findings), units)

anyio.run(main)
"""


def write(path: Path, findings: int = FINDINGS, files: int = FILES) -> None:
    """An ESLint report of so many findings in so many files, as ESLint 10 writes it."""
    rules = ("no-unused-vars", "eqeqeq", "prefer-const", "no-undef", "curly")
    source = "const value = 1;\\n" * (SOURCE_BYTES // 17)
    each = findings // files
    with path.open("w") as file:
        file.write("[")
        for number in range(files):
            messages = [
                {
                    "ruleId": rules[line % len(rules)],
                    "severity": 1 + line % 2,
                    "message": f"'value{line}' is assigned a value but never used.",
                    "line": line + 1,
                    "column": 5,
                    "messageId": "unusedVar",
                    "endLine": line + 1,
                    "endColumn": 11,
                    "suggestions": [
                        {
                            "messageId": "removeVar",
                            "data": {"varName": f"value{line}"},
                            "fix": {"range": [line * 17, line * 17 + 16], "text": ""},
                            "desc": f"Remove unused variable 'value{line}'.",
                        }
                    ],
                }
                for line in range(each)
            ]
            entry = {
                "filePath": f"{WORK}/src/m{number}.js",
                "messages": messages,
                "suppressedMessages": [],
                "errorCount": each // 2,
                "fatalErrorCount": 0,
                "warningCount": each - each // 2,
                "fixableErrorCount": 0,
                "fixableWarningCount": 0,
                "source": source,
                "usedDeprecatedRules": [],
            }
            file.write(("," if number else "") + json.dumps(entry))
        file.write("]")


def _run(program: str, *arguments: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def measure() -> list[Row]:
    """The best of a few runs, each in a fresh process: the others say what else the machine was doing."""
    with tempfile.TemporaryDirectory() as folder:
        report, small = Path(folder) / "report.json", Path(folder) / "small.json"
        write(report)
        write(small, findings=1, files=1)
        loads, sweeps = [], []
        for _ in range(REPEATS):
            loads.append(_run(_LOAD, str(report))[0])
            sweeps.append(_run(_SWEEP, str(report), str(FILES), str(small)))
        size = report.stat().st_size / 1e6
    load, seconds = min(loads), min(sweep[0] for sweep in sweeps)
    if any(sweep[2:] != [FINDINGS, FINDINGS] for sweep in sweeps):
        raise AssertionError(f"findings were lost: {sweeps}")
    peak = max(sweep[1] for sweep in sweeps)
    detail = f"{FINDINGS:,} findings, {size:.0f} MB; {seconds:.2f} s against {load:.2f} s"
    return [
        Row("parsing: detect + parse + partition / json.load", seconds / load, FACTOR, at_least=False, detail=detail),
        Row("parsing: peak memory of the coordinator (MB)", peak, MEGABYTES, at_least=False, detail=detail),
    ]

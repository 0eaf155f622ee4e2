"""The program behind `agent = "scripted"`: standard library only, runs inside a sandbox. See `sweeper.testing`."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import Any


def main(prompt_path: str, script_path: str) -> int:
    with open(prompt_path, encoding="utf-8") as file:
        unit = read_unit(file.read())
    with open(script_path, encoding="utf-8") as file:
        script = json.load(file)
    steps = choose(script, unit)
    for step in steps:
        words = step if isinstance(step, list) else step.split(" ", 1)
        code = act(words[0], words[1:], unit, script)
        if code is not None:
            return code
    return 0


def read_unit(prompt: str) -> dict[str, Any]:
    """The unit's data block: the first ```json fence of the prompt."""
    found = re.search(r"```json\n(.*?)\n```", prompt, re.DOTALL)
    if found is None:
        raise SystemExit("scripted agent: the prompt has no ```json block")
    unit: dict[str, Any] = json.loads(found.group(1))
    return unit


def choose(script: dict[str, Any], unit: dict[str, Any]) -> list[Any]:
    by_unit = script.get("units", {})
    found = next((pattern for pattern in by_unit if fnmatch.fnmatch(unit["unit"], pattern)), None)
    by_attempt = script.get("default", ["nothing"]) if found is None else by_unit[found]
    steps = by_attempt[min(unit["attempt"], len(by_attempt)) - 1]
    if isinstance(steps, str):
        return [steps]
    # a list that starts with a known word is one step with arguments, otherwise several steps
    return [steps] if steps and isinstance(steps[0], str) and steps[0] in STEPS_WITH_ARGUMENTS else steps


STEPS_WITH_ARGUMENTS = {"run", "append", "sleep", "new_file", "exit", "claim"}


def act(word: str, arguments: list[Any], unit: dict[str, Any], script: dict[str, Any]) -> int | None:
    files = unit["files"]
    if word == "fix" or word == "fix_some":
        for name in files:
            replace(name, script["fix"], some=word == "fix_some")
    elif word == "fix_lines":
        for name in files:
            replace_lines(name, script["fix"], {f["line"] for f in unit["findings"] if f["file"] == name})
    elif word == "nothing":
        pass
    elif word == "run":
        subprocess.run([*arguments, *files], check=False)
    elif word == "append":
        with open(files[0], "a", encoding="utf-8") as file:
            file.write(" ".join(arguments))
    elif word == "sleep":
        time.sleep(float(arguments[0]))
    elif word == "edit_other":
        tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
        other = next(name for name in tracked if name and name not in files)
        with open(other, "a", encoding="utf-8") as file:
            file.write("\n")
    elif word == "new_file":
        os.makedirs(os.path.dirname(arguments[0]) or ".", exist_ok=True)
        with open(arguments[0], "w", encoding="utf-8") as file:
            file.write("new\n")
    elif word == "delete":
        for name in files:
            os.remove(name)
    elif word == "empty":
        for name in files:
            open(name, "w").close()
    elif word == "suppress":
        suppress(unit["findings"])
    elif word == "commit":
        subprocess.run(
            ["git", "-c", "user.name=agent", "-c", "user.email=agent@example.com", "commit", "-qam", "mine"],
            check=False,
        )
    elif word == "claim":
        print(" ".join(arguments), flush=True)
    elif word == "exit":
        return int(arguments[0])
    else:
        misbehave(word)
    return None


def replace(name: str, pairs: list[list[str]], some: bool) -> None:
    with open(name, encoding="utf-8", newline="") as file:
        text = file.read()
    for pattern, replacement in pairs:
        matches = len(re.findall(pattern, text))
        count = max(1, matches // 2) if some else 0
        text = re.sub(pattern, replacement, text, count=count)
    with open(name, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def replace_lines(name: str, pairs: list[list[str]], wanted: set[int]) -> None:
    with open(name, encoding="utf-8", newline="") as file:
        lines = file.readlines()
    for number in wanted:
        for pattern, replacement in pairs:
            lines[number - 1] = re.sub(pattern, replacement, lines[number - 1])
    with open(name, "w", encoding="utf-8", newline="") as file:
        file.write("".join(lines))


def suppress(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        with open(finding["file"], encoding="utf-8") as file:
            lines = file.read().split("\n")
        number = max(finding["line"], 1) - 1
        lines[number] += f"  # noqa: {finding['rule']}"
        with open(finding["file"], "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


def misbehave(word: str) -> None:
    if word == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    elif word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == "fork_bomb":
        while True:
            try:
                if os.fork() == 0:
                    time.sleep(600)
            except OSError:
                print("fork failed", flush=True)
                time.sleep(600)
    elif word == "eat_memory":
        kept = []
        while True:
            kept.append(bytearray(os.urandom(1 << 20) * 8))
    elif word == "fill_disk":
        with open("fill.bin", "wb") as file:
            while True:
                file.write(b"x" * (1 << 20))
    elif word == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    else:
        raise SystemExit(f"scripted agent: unknown step {word!r}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

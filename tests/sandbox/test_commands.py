"""How a command is run, and the facts of its end."""

from __future__ import annotations

import os

import pytest

from sweeper.errors import CheckBroken
from sweeper.redact import MARK, forms
from sweeper.sandbox.contract import HOME, INPUTS, WORK, Clock, Clocks, Limits, Toolchain
from tests.sandbox.conftest import MB, Box
from tests.sandbox.trees import PlainTree
from tests.waiting import PATIENCE


def test_exit_code_and_streams_apart(box: Box) -> None:
    done = box.run("echo out; echo err >&2; exit 3")
    assert (done.facts.exit_code, done.facts.signal) == (3, None)
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")
    assert done.facts.clock is None
    assert not done.facts.oom
    assert done.facts.seconds > 0


@pytest.mark.parametrize("number", [6, 11, 15])
def test_signal(box: Box, number: int) -> None:
    done = box.python(f"import os; os.kill(os.getpid(), {number})")
    assert (done.facts.exit_code, done.facts.signal, done.facts.oom) == (None, number, False)


def test_c12_silent_command(box: Box) -> None:
    done = box.run("true", "ignored")
    assert (done.facts.exit_code, done.stdout, done.stderr) == (0, b"", b"")


def test_output_is_byte_exact(box: Box) -> None:
    done = box.python("import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)")
    assert done.stdout == bytes(range(256)) * 1000


def test_command_that_does_not_exist(box: Box) -> None:
    done = box.run("no-such-program", "argument")
    assert done.facts.exit_code == 127


def test_stdin(box: Box) -> None:
    data = bytes(range(256)) * 2048
    assert box.run("cat", "-", stdin=data).stdout == data


def test_stdin_is_closed(box: Box) -> None:
    """Nothing waits for a person: reading gives the end at once."""
    assert box.run("cat; echo end", clocks=Clocks(wall=20)).stdout == b"end\n"


def test_command_that_does_not_read_its_stdin(box: Box) -> None:
    assert box.run("exit 0", stdin=b"x" * MB).facts.exit_code == 0


def test_the_user_inside_has_a_name_and_a_home(box: Box) -> None:
    asked = (
        "import grp, os, pwd; me = pwd.getpwuid(os.getuid()); print(me.pw_name, me.pw_dir, grp.getgrgid(me.pw_gid)[0])"
    )
    assert box.python(asked).stdout.decode().split() == ["sweeper", HOME, "sweeper"]


def test_inputs(box: Box) -> None:
    done = box.run(f"cat {INPUTS}/prompt.txt {INPUTS}/more/x; ls {INPUTS}; echo y > {INPUTS}/prompt.txt",
                   inputs={"prompt.txt": b"do\n", "more/x": b"it\n"})  # fmt: skip
    assert done.stdout == b"do\nit\nmore\nprompt.txt\n"
    assert done.facts.exit_code != 0
    assert done.changed == {}


def test_cwd(box: Box) -> None:
    assert box.run("pwd; ls", cwd="folder").stdout == f"{WORK}/folder\na.txt\nb.txt\n".encode()


def test_home_and_tmp_are_empty_and_writable(box: Box) -> None:
    done = box.run(f"ls -A {HOME} /tmp; echo $HOME; touch {HOME}/x /tmp/x && echo written")
    assert done.stdout.split() == [f"{HOME}:".encode(), b"/tmp:", HOME.encode(), b"written"]
    assert done.changed == {}


def test_d06_nothing_of_the_coordinators_environment(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do-not-leak")
    monkeypatch.setenv("CLAUDECODE", "1")
    done = box.run("env; cat /proc/1/environ", env={"ASKED": "for"})
    names = {line.split(b"=")[0] for line in done.stdout.replace(b"\0", b"\n").splitlines() if b"=" in line}
    allowed = {b"PATH", b"HOME", b"USER", b"LOGNAME", b"SHELL", b"TMPDIR", b"LANG", b"TERM", b"PWD", b"OLDPWD", b"_"}
    allowed |= {b"ASKED", b"HOSTNAME", b"SHLVL", b"LC_ALL", b"SSL_CERT_FILE"}  # set by a shell or an image
    if box.factory.name != "bubblewrap":
        allowed.add(b"SSL_CERT_FILE")  # of the toolchain's image
    assert b"ASKED=for" in done.stdout.splitlines()
    assert names <= allowed
    assert b"do-not-leak" not in done.stdout


def test_no_terminal(box: Box) -> None:
    done = box.python("import os\nprint([os.isatty(n) for n in range(3)])\nopen('/dev/tty')")
    assert done.stdout == b"[False, False, False]\n"
    assert done.facts.exit_code == 1


@pytest.mark.parametrize(
    ("script", "clocks", "clock"),
    [
        ("while :; do echo x; sleep 0.05; done", Clocks(wall=0.7), Clock.WALL),
        ("sleep 600", Clocks(wall=PATIENCE, first_output=0.5), Clock.FIRST_OUTPUT),
        ("echo x; sleep 600", Clocks(wall=PATIENCE, first_output=PATIENCE, idle=0.5), Clock.IDLE),
        ("echo x >&2; trap '' TERM INT HUP; sleep 600", Clocks(wall=PATIENCE, idle=0.5), Clock.IDLE),
    ],
)
def test_clocks(box: Box, script: str, clocks: Clocks, clock: Clock) -> None:
    done = box.run(script, clocks=clocks)
    assert done.facts.clock is clock
    assert (done.facts.exit_code, done.facts.signal) == (None, 9)


def test_clock_that_does_not_run_out(box: Box) -> None:
    done = box.run(
        "for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done",
        clocks=Clocks(wall=PATIENCE, first_output=PATIENCE, idle=PATIENCE),
    )
    assert (done.facts.clock, done.facts.exit_code) == (None, 0)


BEGUN = Clocks(wall=PATIENCE, first_output=PATIENCE, idle=1)  # a second since it printed something


def test_what_was_written_before_a_clock_is_captured(box: Box) -> None:
    done = box.run("echo fixed > edit.py; echo printed; sleep 600", clocks=BEGUN)
    assert done.changed == {"edit.py": b"fixed\n"}
    assert done.stdout == b"printed\n"


def test_c04_descendants_stop_writing_before_the_layer_is_read(box: Box) -> None:
    """The layer is one moment: no file may be longer than what another says was written last."""
    code = """
import os, time
for i in range(8):
    if os.fork() == 0:
        os.setsid()
        n = 0
        while True:
            n += 1
            with open(f'f{i}', 'ab') as file:
                file.write(b'%d\\n' % n)
while len([name for name in os.listdir('.') if name.startswith('f') and name[1:].isdigit()]) < 8:
    time.sleep(0.05)
print('all', flush=True)
time.sleep(600)
"""
    spec = box.spec("python3", "-c", code, clocks=BEGUN)
    done = box.done(spec, box.portal.call(box.backend.run, spec))
    again = box.portal.call(box.backend.list)
    assert done.facts.clock is Clock.IDLE
    assert len(done.changed) == 8
    for data in done.changed.values():
        assert data is not None
        lines = data.split(b"\n")
        assert [int(line) for line in lines[:-1]] == list(range(1, len(lines)))
    assert not [handle for handle in again if handle.running and handle.name == str(spec.name)]


def test_c04_children_of_a_finished_command_end_with_it(box: Box) -> None:
    done = box.run("(setsid sh -c 'sleep 600; echo late > late.txt') & echo done > now.txt")
    assert done.changed == {"now.txt": b"done\n"}
    assert done.facts.exit_code == 0


def test_c10_zombies_are_reaped(box: Box) -> None:
    code = """
import os, subprocess, time
for _ in range(30):
    subprocess.run(['sh', '-c', 'sleep 0.01 &'])
def sleepers():
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            found.append(open(f'/proc/{pid}/stat').read().split()[1:3])
        except OSError:
            pass
    return [state for name, state in found if name == '(sleep)']  # running, or dead and not reaped
for _ in range(300):
    if not sleepers():
        break
    time.sleep(0.1)
print(sleepers())
"""
    assert box.python(code).stdout == b"[]\n"


def test_missing_tool_is_named_with_the_line_to_add(box: Box) -> None:
    tools = Toolchain(tools=("sh", "no-such-linter"))
    with pytest.raises(CheckBroken, match="no-such-linter") as caught:
        box.portal.call(box.backend.prepare, PlainTree({"a": b""}), tools)
    assert "setup = [" in caught.value.hint


def test_many_at_once(box: Box) -> None:
    specs = [
        box.spec(f"echo {n} > own.txt; ls own.txt edit.py", limits=Limits(256 * MB, 64, 1, 8 * MB, MB))
        for n in range(8)
    ]
    futures = [box.portal.start_task_soon(box.backend.run, spec) for spec in specs]
    for number, (spec, future) in enumerate(zip(specs, futures, strict=True)):
        assert box.done(spec, future.result()).changed == {"own.txt": f"{number}\n".encode()}


def test_long_arguments(box: Box) -> None:
    words = [f"path/to/some/file{number}.py" for number in range(8_000)]
    done = box.run("sh", "-c", "echo $#", "sh", *words)
    assert done.stdout == b"8000\n"


def test_the_repository_is_a_git_work_tree(box: Box) -> None:
    tree = PlainTree({"a.py": b"x\n", ".gitignore": b"*.log\n"}, git=True)
    done = box.run(
        "git status --porcelain; touch b.log c; git status --porcelain; git commit -qam x; exit 0", tree=tree
    )
    if box.factory.name == "bubblewrap":
        assert done.stdout == b"?? c\n"
    assert done.changed == {"b.log": b"", "c": b""}


def test_uid_is_real(box: Box) -> None:
    expected = 65532 if os.geteuid() == 0 else os.geteuid()
    assert box.run("id -u; stat -c %u edit.py .").stdout.split() == [str(expected).encode()] * 3


def test_c26_what_is_printed_of_a_secret_is_never_stored(box: Box) -> None:
    """In two parts, and as base64, on both streams."""
    secret = b"sk-secret-0123456789abcdef"
    done = box.run(
        "for s in 1 2; do printf sk-secret- >&$s; sleep 0.2; echo 0123456789abcdef >&$s; "
        "printf 'a%s' sk-secret-0123456789abcdef | base64 >&$s; done; echo end",
        secrets=(secret,),
    )
    assert done.stdout.endswith(b"\nend\n")
    for printed in (done.stdout, done.stderr):
        assert printed.count(MARK) == 2
        assert not any(form in printed for form in forms(secret))

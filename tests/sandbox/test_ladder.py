"""The ladder: the best that works is taken, and what does not work is said."""

import asyncio
import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import agi
from agi.errors import Unavailable
from agi.sandbox.ladder import Ladder
from agi.sandbox.scratch import sweep
from agi.sandbox.seccomp import Sockets, build_filter
from agi.sandbox.syscalls import machine

from .conftest import CONFINING, ENV, LADDERS, ladder_on

REFUSING = """
import ctypes, json, struct, sys
from agi.sandbox.ladder import Ladder

refused = list(map(int, sys.argv[1:]))
rules = [(0x20, 0, 0, 0)]
for number in refused:
    rules += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 38)]
rules += [(0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *rule) for rule in rules), len(rules) * 8)
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("@HP", len(rules), ctypes.addressof(code)), 0, 0) == 0
rung = Ladder({"PATH": "/nonexistent"}).rung
print(json.dumps([rung.name, rung.gaps, rung.why, rung.confines]))
"""
"""A process for which some calls do not exist: the kernel is made to say so."""
MOUNT_SETATTR, LANDLOCK = "442", "444"
NAMES = {"namespaces": "namespaces", "bubblewrap": "bubblewrap", "landlock": "Landlock"}
NOT_INSTALLED = "bubblewrap: not installed where only the system's owner can change it"


def rung_without(*calls):
    """What is found by a process without these calls, and without bubblewrap."""
    said = subprocess.run(
        [sys.executable, "-c", REFUSING, *calls], capture_output=True, text=True, check=True, env=os.environ
    )
    return json.loads(said.stdout)


def test_the_first_rung_is_taken_where_it_works():
    """It says what it does not hold, and needs no program of anybody's."""
    rung = ladder_on("namespaces").rung

    assert (rung.name, rung.confines, rung.why) == ("namespaces", True, ())
    assert any("can be read" in gap for gap in rung.gaps)
    assert Ladder({"PATH": "/nonexistent"}).rung == rung


@pytest.mark.threat("T36")
def test_where_we_may_not_make_namespaces_bubblewrap_is_taken(monkeypatch):
    """It may where we may not, and holds the same, but for root what is root's of the machine's devices."""
    ladder_on("bubblewrap")
    monkeypatch.setattr("agi.sandbox.namespaces.Namespaces._plan", lambda *_: {"clone": 0xFFFF, "namespaces": 0})

    rung = Ladder(ENV).rung

    more = [gap for gap in rung.gaps if gap not in ladder_on("namespaces").rung.gaps]
    assert (rung.name, ["/dev/null" in gap for gap in more]) == ("bubblewrap", [True] if os.getuid() == 0 else [])
    assert rung.why == ("namespaces: no process could be made: Function not implemented",)


@pytest.mark.threat("T36")
def test_without_namespaces_and_bubblewrap_landlock_is_taken():
    """And says why, and what gets past it."""
    ladder_on("landlock")
    name, gaps, why, confines = rung_without(MOUNT_SETATTR)

    assert (name, confines) == ("landlock", True)
    assert why[0].startswith("namespaces: The sandbox failed: [Errno 38] Function not implemented")
    assert why[1:] == [NOT_INSTALLED]
    assert any(".git/hooks" in gap for gap in gaps)


@pytest.mark.threat("T36")
def test_without_landlock_there_is_nothing_and_that_is_said():
    """All reasons are told."""
    name, gaps, why, confines = rung_without(MOUNT_SETATTR, LANDLOCK)

    assert (name, confines) == ("none", False)
    assert gaps == ["Commands run as you: they can read, change and reach everything that you can."]
    assert [reason.partition(":")[0] for reason in why] == ["namespaces", "bubblewrap", "Landlock"]
    assert why[1:] == [NOT_INSTALLED, "Landlock: not offered by this kernel"]


@pytest.mark.threat("T36")
def test_without_a_place_for_a_temporary_folder_nothing_can_be_tried_and_that_is_said(tmp_path, monkeypatch):
    """That says nothing of what would hold: a way out is named, and with it the same holds as ever."""
    usual = Ladder(ENV).rung
    monkeypatch.setattr("agi.sandbox.scratch._USUAL", (str(tmp_path / "missing"),))

    refused = refused_by(Ladder({**ENV, "TMPDIR": ""}))

    assert refused.code == "sandbox_failed"
    assert "no temporary folder can be made: " in refused.message
    assert "TMPDIR" in refused.hint
    assert Ladder({**ENV, "TMPDIR": str(tmp_path)}).rung == usual


def test_switched_off_is_nothing_too():
    """Then nothing is tried."""
    rung = Ladder(ENV, "off").rung

    assert (rung.name, rung.why) == ("none", ("switched off (sandbox.mode)",))


@pytest.mark.threat("T36")
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create new namespace"),
        ('while [ $# -gt 0 ]; do [ "$1" = -- ] && break; shift; done; shift; exec "$@"', "does not keep commands in"),
        ("exit 0", "does not let commands work"),
    ],
)
def test_a_program_that_is_there_but_does_not_work_is_not_trusted(tmp_path, monkeypatch, script, why):
    """It is tried, not just looked for: one that lets everything through is no sandbox."""
    program = tmp_path / "bwrap"
    program.write_text(f'#!/bin/sh\n[ "$1" = --help ] && exit 0\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda *_: str(program))

    rung = Ladder(ENV, tried=["bubblewrap", "landlock"]).rung

    assert rung.name != "bubblewrap"
    assert why in rung.why[0]


def mutant_of_namespaces(tmp_path, monkeypatch):
    """Our own builder forgets to make the root read-only."""
    package = Path(agi.__file__).parent
    shutil.copytree(package / "sandbox", tmp_path / "agi" / "sandbox")
    shutil.copy(package / "__init__.py", tmp_path / "agi")
    builder = tmp_path / "agi" / "sandbox" / "enclosing.py"
    before = builder.read_text()
    builder.write_text(before.replace("    restrict(root, SHOWN)\n", ""))
    assert builder.read_text() != before
    monkeypatch.setattr("agi.sandbox.helper._ROOT", str(tmp_path))


def mutant_of_bubblewrap(tmp_path, monkeypatch):
    """bubblewrap is asked for a root that can be written to."""
    program = tmp_path / "bwrap"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\nwords = sys.argv[1:]\n"
        'if "--ro-bind" in words:\n    at = words.index("--ro-bind")\n    assert words[at + 1 : at + 3] == ["/", "/"]\n'
        f'    words[at] = "--bind"\nos.execv({shutil.which("bwrap")!r}, ["bwrap", *words])\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda *_: str(program))


def mutant_of_landlock(tmp_path, monkeypatch):
    """Whatever may be read may be written to, and files may be made there."""
    monkeypatch.setattr("agi.sandbox.landlock._READ", (1 << 13) - 1)


@pytest.mark.threat("T36")
@pytest.mark.parametrize("temporary", ["", "/tmp", "/run", "~"])
@pytest.mark.parametrize("rung", CONFINING)
def test_a_rung_whose_root_can_be_written_to_is_not_taken(tmp_path, monkeypatch, rung, temporary):
    """It is tried where the sandbox has no folder of its own, wherever temporary files go otherwise."""
    ladder_on(rung)
    mutants = {"namespaces": mutant_of_namespaces, "bubblewrap": mutant_of_bubblewrap, "landlock": mutant_of_landlock}
    mutants[rung](tmp_path, monkeypatch)
    env = {**ENV, "HOME": os.path.expanduser("~"), "TMPDIR": os.path.expanduser(temporary)}
    ladder = Ladder(env, tried=[rung])

    found = ladder.rung
    ladder.close()

    assert (found.name, found.why) == ("none", (f"{NAMES[rung]}: it does not keep commands in",))


def test_a_process_of_32_bits_does_not_go_by_the_numbers_of_its_kernel(monkeypatch):
    """Which is what the system names: calls by number would be other calls, and a filter would end every command."""
    with monkeypatch.context() as patched:
        patched.setattr("sys.maxsize", (1 << 31) - 1)
        ladder = Ladder({"PATH": "/nonexistent"})
        rung = ladder.rung
        assert build_filter(machine(), Sockets(internet=True, unix=True)) is None

    ladder.close()
    assert (rung.name, rung.why[0]) == ("none", "namespaces: not on this kind of machine")
    assert rung.why[2].startswith(("Landlock: of no use without a filter", "Landlock: not offered"))


def left_by_the_killed(folder):
    """A temporary folder whose maker is no more."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = folder / f"agi-{ended.pid}-0123456789abcdef"
    left.mkdir()
    return left


async def test_what_the_killed_have_left_is_removed_once_and_nobody_waits_for_it(tmp_path, monkeypatch):
    """There may be much of it, and whoever asks what holds may be the event loop."""
    go_on, begun = threading.Event(), []

    def slow(env):
        begun.append(threading.get_ident())
        go_on.wait(60)
        sweep(env)

    monkeypatch.setattr("agi.sandbox.ladder.sweep", slow)
    left = left_by_the_killed(tmp_path)
    ladder = Ladder({**ENV, "TMPDIR": str(tmp_path)}, tried=["bubblewrap"])
    for _ in range(3):
        assert ladder.rung
        ladder.failed()

    assert left.exists()
    go_on.set()
    async with asyncio.timeout(20):
        while left.exists():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    assert len(begun) == 1
    assert threading.get_ident() not in begun


def test_the_end_of_a_process_does_not_wait_for_what_is_being_removed(tmp_path):
    """A one-shot is over when it is."""
    code = (
        "import sys, time\nfrom agi.sandbox import ladder\n"
        "ladder.sweep = lambda env: (print('begun', flush=True), time.sleep(100))\n"
        "made = ladder.Ladder({'PATH': '/nonexistent'}, tried=['bubblewrap'])\nmade.rung\nmade.close()\n"
        "time.sleep(0.2)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert said.stdout == "begun\n"
    assert said.stderr == ""


def test_what_holds_is_found_out_once_and_again_after_a_failure(monkeypatch):
    """Probing takes milliseconds, and machines change."""
    asked = []
    ladder = Ladder({"PATH": "/nonexistent"}, tried=["bubblewrap"])
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda *words: asked.append(words))
    assert ladder.rung == ladder.rung
    assert len(asked) == 1

    ladder.failed()
    assert ladder.rung
    assert len(asked) == 2


PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


def raising(number):
    """Something that fails for this reason, whatever it is asked."""

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture
def confining():
    """A ladder that has found what holds commands, and its rung; bubblewrap needs no helper, so it is not tried."""
    ladder = Ladder(ENV, tried=["namespaces", "landlock"])
    if not ladder.rung.confines:
        pytest.skip(f"no sandbox works here: {ladder.rung.why}")
    yield ladder, ladder.rung
    ladder.close()


def refused_by(ladder):
    """How the ladder refuses to say what holds."""
    with pytest.raises(Unavailable) as refused:
        _ = ladder.rung
    return refused.value


@pytest.mark.threat("T36")
@pytest.mark.parametrize("number", PASSING)
@pytest.mark.parametrize("asked", ["trying.make_folder", "trying.os.mkdir", "helper.Line"])
def test_what_cannot_be_tried_now_is_no_rung_that_does_not_hold(confining, monkeypatch, number, asked):
    """A full disk takes no wall away: nothing is kept, and with room again the same holds as before."""
    ladder, rung = confining
    ladder.failed()

    with monkeypatch.context() as patched:
        patched.setattr(f"agi.sandbox.{asked}", raising(number))
        refused = [refused_by(ladder) for _ in range(2)]

    assert {(one.code, os.strerror(number) in one.message) for one in refused} == {("sandbox_failed", True)}
    assert all("tried again" in one.hint for one in refused)
    assert ladder.rung == rung


@pytest.mark.threat("T36")
@pytest.mark.parametrize("number", PASSING)
def test_a_helper_that_cannot_be_started_now_is_no_rung_that_does_not_hold(confining, monkeypatch, number):
    """It says no more than that it does not answer; it is started when there is room for it."""
    ladder, rung = confining
    ladder.close()
    ladder.failed()

    with monkeypatch.context() as patched:
        patched.setattr("agi.sandbox.helper._start", raising(number))
        refused = refused_by(ladder)

    assert refused.code == "sandbox_failed"
    assert ladder.rung == rung


@pytest.mark.threat("T36")
@pytest.mark.parametrize("rung", CONFINING)
@pytest.mark.parametrize("said", ["sh: 1: cannot create inside: No space left on device", "sh: 1: Cannot fork"])
def test_a_trial_whose_command_met_a_full_disk_was_none(monkeypatch, rung, said):
    """What comes in words is read: also a process that was never asked before does not go on without a sandbox."""
    ladder_on(rung)
    monkeypatch.setattr("agi.sandbox.trying._WRITE_BOTH", f"echo '{said}' >&2; exit 2")
    ladder = Ladder(ENV, tried=[rung])

    assert said in refused_by(ladder).message
    ladder.close()


@pytest.mark.threat("T36")
def test_a_place_for_temporary_files_that_is_full_counts_before_one_that_is_not_there(tmp_path, monkeypatch):
    """There may be room in it later."""
    mkdir = os.mkdir

    def make(path, mode=0o777):
        return raising(errno.ENOSPC)() if str(path).startswith(f"{tmp_path}/agi-") else mkdir(path, mode)

    monkeypatch.setattr("agi.sandbox.scratch._USUAL", (str(tmp_path / "missing"), str(tmp_path)))
    monkeypatch.setattr(os, "mkdir", make)

    assert "No space left" in refused_by(Ladder({**ENV, "TMPDIR": "/missing"})).message


def test_a_bubblewrap_that_cannot_be_asked_now_is_no_other_bubblewrap(tmp_path, monkeypatch):
    """What it can do is not known then."""
    monkeypatch.setattr("agi.sandbox.ladder.find_trusted", lambda *_: "/usr/bin/bwrap")
    monkeypatch.setattr("agi.sandbox.trying.subprocess.run", raising(errno.EAGAIN))

    assert "bubblewrap: " in refused_by(Ladder(ENV, tried=["bubblewrap"])).message


def test_where_nobody_may_make_namespaces_that_does_not_pass(monkeypatch):
    """The kernel says so in the words of a full disk, and the next rung is tried."""
    ladder_on("landlock")
    said = "no process could be made: No space left on device"

    def fail(*_, **__):
        raise OSError(said)

    monkeypatch.setattr("agi.sandbox.namespaces.Namespaces.wrap", fail)
    ladder = Ladder({"PATH": "/nonexistent"})

    assert (ladder.rung.name, ladder.rung.why[0]) == ("landlock", f"namespaces: {said}")
    ladder.close()


@pytest.mark.threat("T36")
def test_where_something_held_commands_nothing_is_no_rung_any_more(confining, no_sandbox):
    """A command may have brought that about; whoever wants to go on without says so in the settings."""
    ladder, rung = confining
    ladder.failed()

    refused = [refused_by(ladder) for _ in range(2)]

    assert {one.code for one in refused} == {"sandbox_changed"}
    assert f"`{rung.name}`" in refused[0].message
    assert "sandbox.mode" in refused[0].hint


@pytest.mark.threat("T36")
def test_a_lower_rung_is_taken_told_and_left_as_soon_as_the_better_one_works(monkeypatch):
    """Each turn asks anew; the commands of one stay where they were judged."""
    ladder_on("landlock")
    ladder = Ladder(ENV, tried=[ladder_on("namespaces").rung.name, "landlock"])
    best = ladder.rung
    ladder.failed()

    with monkeypatch.context() as patched:
        patched.setattr("agi.sandbox.ladder.find_namespaces", lambda *_: None)
        lower = ladder.rung
        assert (lower.name, ladder.rung) == ("landlock", lower)

    assert lower.gaps[0].startswith("Less than before: `namespaces` worked here")
    assert ladder.rung == best
    ladder.close()


@pytest.mark.threat("T36")
def test_a_planted_bubblewrap_is_not_used(tmp_path):
    """Neither in a folder that this user or everyone may write to, nor on a relative part of PATH."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    tmp_path.chmod(0o777)
    (tmp_path / "bwrap").write_text("#!/bin/sh\ntouch /tmp/planted\n")
    (tmp_path / "bwrap").chmod(0o755)

    rung = Ladder({**ENV, "PATH": f"{tmp_path}:.:{ENV['PATH']}"}, tried=["bubblewrap"]).rung

    assert rung == LADDERS["bubblewrap"].rung

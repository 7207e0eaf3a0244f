"""What failed before the first change is said to have failed before."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial

import pytest

from agi.models.scripted import Call, ScriptedModel
from agi.protocol.policies import VerifyPolicy

FREE = '{"approval": {"requireForKinds": []}}'
PYTEST = "tests/test_a.py"


def data(event) -> dict:
    return json.loads(event.raw)


def completed(place) -> list[dict]:
    return [data(event) for event in place.events("verification_completed")]


def said(turn) -> str:
    return json.loads(turn.outcome)["verification"]


def rewrites(place, path: str, content: str):
    """The model looks at a file, and gives it another content."""
    return place.model.calls("read_file", path=path).calls("write_file", path=path, content=content)


@pytest.fixture
def limited(monkeypatch):
    """Settings for which there is no key in a file here."""

    def set_policy(**kept: object) -> None:
        monkeypatch.setattr("agi.config.load.VerifyPolicy", partial(VerifyPolicy, **kept))

    return set_policy


@pytest.fixture
def tested(place):
    """A project whose test program names what fails: one of its tests does, always."""
    place.configure(FREE)
    (place.project / "Makefile").write_text("test:\n\t@sh check.sh\n")
    (place.project / "check.sh").write_text(
        "bad=$(for f in tests/*; do grep -q bad $f && echo FAILED $f; done)\n"
        'test -z "$bad" && exit 0\n'
        'echo "$bad"; echo "$(echo "$bad" | wc -l) failed, 1 passed in 0.01s"; exit 1\n'
    )
    (place.project / "tests").mkdir()
    (place.project / "tests" / "old").write_text("bad")
    (place.project / "tests" / "good").write_text("fine")
    return place


async def test_the_commands_run_before_the_first_change_and_not_before_a_look(place):
    """Visible in the log, and before the file is written."""
    place.configure(FREE)
    (place.project / "Makefile").write_text("test:\n\t@ls *.txt 2>/dev/null; true\n")
    place.model.calls("shell", command="ls").calls("write_file", path="a.txt", content="a").then_says("Done.")

    await place.ask("go")

    first, second = completed(place)
    assert (first["baseline"], second["baseline"]) == (True, False)
    assert "a.txt" not in first["output"]
    assert "a.txt" in second["output"]
    types = place.types()
    assert types.index("verification_started") > types.index("tool_call_completed")
    started = [data(event)["baseline"] for event in place.events("verification_started")]
    assert started == [True, False]


async def test_what_failed_before_is_pre_existing(tested):
    """The model is told once that it may leave it, and the turn says so too."""
    tested.model.calls("write_file", path="a.txt", content="a").then_says("Done.").says("Done, and not mine.")

    turn = await tested.ask("write a.txt")

    before, after = completed(tested)
    assert before["failing"] == after["failing"] == ["tests/old"]
    assert before["new"] == []
    assert (after["status"], after["pre_existing"], after["new"]) == ("failed", True, [])
    told = tested.model.requests[2].messages[-1]
    assert told.origin == "verification"
    assert "Each test that fails now failed before as well:\n- tests/old" in told.parts[0].text
    assert "tests/old" in told.parts[0].text
    assert said(turn) == "pre_existing"


async def test_a_new_failure_beside_an_old_one_is_told_apart(tested):
    """The model is told which one is its own, and which to leave alone."""
    rewrites(tested, "tests/good", "bad").then_says("Done.")
    tested.model.calls("write_file", path="tests/good", content="fine").then_says("Mended.").says("Mended.")

    turn = await tested.ask("break it")

    broken = completed(tested)[1]
    assert (broken["new"], broken["pre_existing"]) == (["tests/good"], False)
    text = tested.model.requests[3].messages[-1].parts[0].text
    mine, others = text.split("failed before as well")
    assert "- tests/good" in mine
    assert "- tests/old" in others
    assert said(turn) == "pre_existing"


async def test_an_old_failure_can_be_mended(tested):
    """Whoever was asked to goes on until it passes."""
    rewrites(tested, "tests/old", "still bad").then_says("Done?")
    tested.model.calls("write_file", path="tests/old", content="fine").then_says("Done!")

    assert said(await tested.ask("mend the test")) == "verified"


async def test_what_one_turn_broke_is_not_the_next_ones_old_failure(tested):
    """Nobody touched the files in between, so what counts is how it was before the session's first change."""
    tested.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1}}')
    rewrites(tested, "tests/good", "bad").then_says("Done.")
    assert said(await tested.ask("one")) == "failing"

    tested.model.calls("write_file", path="a.txt", content="a").then_says("Done.")
    assert said(await tested.ask("two")) == "failing"

    assert [one["baseline"] for one in completed(tested)] == [True, False, False]


async def test_what_was_mended_and_broken_again_is_new(tested):
    """An old failure is one only as long as it lasts."""
    tested.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1}}')
    for content, expected in (("fine", "verified"), ("bad", "failing")):
        rewrites(tested, "tests/old", content).then_says("Done.")
        assert said(await tested.ask("go")) == expected


async def test_after_an_edit_of_the_users_it_is_found_out_anew(tested):
    """What they left is what counts from then on."""
    tested.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1}}')
    tested.model.calls("write_file", path="a.txt", content="a").then_says("Done.")
    await tested.ask("one")
    (tested.project / "tests" / "good").write_text("bad, by hand")

    tested.model.calls("write_file", path="b.txt", content="b").then_says("Done.")
    turn = await tested.ask("two")

    assert [one["baseline"] for one in completed(tested)] == [True, False, True, False]
    assert said(turn) == "pre_existing"


async def test_where_no_test_is_named_the_command_is_judged_as_a_whole(place):
    """The same exit code and the same output is the same failure; another one is not known to be."""
    settings = {"maxAttempts": 1, "commands": ["cat said; exit $(cat code)"]}
    place.configure(json.dumps({"approval": {"requireForKinds": []}, "verify": settings}))
    (place.project / "code").write_text("3")
    (place.project / "said").write_text("one problem\n")
    (place.project / "a.txt").touch()
    for path, content, expected in (
        ("a.txt", "a", "pre_existing"),
        ("said", "one problem\nanother problem\n", "failing"),
        ("said", "one problem\n", "pre_existing"),
        ("code", "4", "failing"),
    ):
        rewrites(place, path, content).then_says("Done.")
        assert said(await place.ask("go")) == expected


UNITTEST = f"{sys.executable} -m unittest"
TESTS = """
import unittest, lib

class A(unittest.TestCase):
    def test_a(self): self.assertEqual(lib.old(), 1)
    def test_b(self): self.assertEqual(lib.good(), 1)
    def test_c(self): pass
"""
LIB = "def old(): return 0\ndef good(): return {}\n"


def suite(place, command: str, attempts: int) -> None:
    """One of three tests fails; outside a sandbox, where this Python can be started."""
    verify = {"commands": [command], "maxAttempts": attempts}
    sandbox = {"mode": "off"}
    place.configure(json.dumps({"sandbox": sandbox, "approval": {"requireForKinds": []}, "verify": verify}))
    (place.project / ".gitignore").write_text("__pycache__\n")
    (place.project / "test_x.py").write_text(TESTS)
    (place.project / "lib.py").write_text(LIB.format(1))


@pytest.mark.parametrize("command", [f"{UNITTEST} -f", f"{sys.executable} -m pytest -q -x -p no:cacheprovider"])
async def test_a_command_that_stops_at_an_old_failure_shows_no_new_one_and_claims_nothing(place, command):
    """What it did not run may be broken by now; the model is told just that."""
    suite(place, command, 2)
    rewrites(place, "lib.py", LIB.format(99)).then_says("All good.").says("Still.")

    turn = await place.ask("go")

    (after,) = [one for one in completed(place) if not one["baseline"]]
    assert (after["pre_existing"], after["failing"], after["new"]) == (False, None, [])
    assert "is not known" in after["reason"]
    told = place.model.requests[3].messages[-1].parts[0].text
    assert after["reason"] in told
    assert "unless you were asked to" in told
    assert said(turn) == "failing"


@pytest.mark.parametrize(("good", "expected"), [(1, "pre_existing"), (99, "failing")])
async def test_a_command_that_runs_everything_tells_old_failures_from_new_ones(place, good, expected):
    """By the tests it names."""
    suite(place, UNITTEST, 1)
    rewrites(place, "lib.py", LIB.format(good) + "\n").then_says("Done.")

    assert said(await place.ask("go")) == expected


async def test_a_file_that_never_could_be_loaded_hides_nothing(place):
    """Nothing ran, before and after; so nothing is claimed."""
    suite(place, f"{sys.executable} -m pytest -q -p no:cacheprovider", 1)
    (place.project / "test_broken.py").write_text("import no_such_module\n")
    rewrites(place, "lib.py", LIB.format(99)).then_says("Done.")

    assert said(await place.ask("go")) == "failing"


async def test_of_an_old_failure_no_more_is_said_than_was_seen(place):
    """Where no test is named, what lies behind it is not known; and that is told."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"commands": ["echo a problem; exit 3"]}}')
    place.model.calls("write_file", path="a.txt", content="a").then_says("Done.").says("Done.")

    assert said(await place.ask("go")) == "pre_existing"

    told = place.model.requests[2].messages[-1].parts[0].text
    assert "no new failure" not in told
    assert "names no tests" in told


async def test_what_a_turn_without_a_baseline_broke_is_not_the_next_ones_old_failure(place):
    """There was no command before that turn made one; its failure is known to be the session's."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1}}')
    place.model.calls("write_file", path="Makefile", content="test:\n\t@false\n").then_says("Made.")
    assert said(await place.ask("make a project")) == "failing"

    place.model.calls("write_file", path="b.txt", content="b").then_says("Done.")
    assert said(await place.ask("go on")) == "failing"


async def test_a_missing_baseline_of_one_command_does_not_renew_the_others(place):
    """What the first command found before the session's first change still counts for it."""
    commands: list[str] = []
    for command, path in (("test ! -f bad", "bad"), ("true", "b.txt")):
        commands.append(command)
        verify = {"maxAttempts": 1, "commands": commands}
        place.configure(json.dumps({"approval": {"requireForKinds": []}, "verify": verify}))
        place.model.calls("write_file", path=path, content="x").then_says("Done.")
        assert said(await place.ask("go")) == "failing"


async def test_failures_in_an_output_too_long_to_be_shown_whole_are_not_counted(place):
    """Some may be missing from what is left of it."""
    told = r"""printf -- '--- FAIL: TestA (0.0s)\nFAIL\nFAIL\tp\t0.1s\n'; %s exit 1"""
    for command, failing in ((told % "", ["p.TestA"]), (told % "seq 20000;", None)):
        await place.start()
        settings = {"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1, "commands": [command]}}
        place.configure(json.dumps(settings))
        place.model.calls("shell", command="rm -f a.txt").calls("write_file", path="a.txt", content=command).then_says(
            "Done."
        )
        await place.ask("go")

        assert [one["failing"] for one in completed(place)] == [failing, failing]


async def test_the_next_command_runs_though_one_fails_as_before(place):
    """An old failure hides no new one behind it."""
    place.configure(
        '{"approval": {"requireForKinds": []}, '
        '"verify": {"maxAttempts": 1, "commands": ["false", "test ! -f bad.txt", "true"]}}'
    )
    place.model.calls("write_file", path="bad.txt", content="x").then_says("Done.")

    turn = await place.ask("go")

    after = [(one["command"], one["status"], one["pre_existing"]) for one in completed(place) if not one["baseline"]]
    assert after == [("false", "failed", True), ("test ! -f bad.txt", "failed", False)]
    assert said(turn) == "failing"


async def test_it_is_not_run_twice_on_the_same_files(tested):
    """Neither in the next turn of another session, nor in another process: the log knows."""
    tested.model.calls("write_file", path="a.txt", content="a").then_says("Done.").says("Done.")
    await tested.ask("one")
    await tested.reopen()
    await tested.start()
    tested.model = ScriptedModel()
    await tested.reopen()
    tested.model.calls("write_file", path="b.txt", content="b").then_says("Done.").says("Done.")

    turn = await tested.ask("two")

    known, after = completed(tested)
    assert (known["baseline"], known["known"], known["failing"]) == (True, True, ["tests/old"])
    assert len(tested.events("verification_started")) == 1
    assert (after["pre_existing"], said(turn)) == (True, "pre_existing")


async def test_two_sessions_at_once_share_what_one_has_found_out(tested):
    """The second one waits for nothing: it reads the first one's result."""
    tested.model.calls("write_file", path="a.txt", content="a").then_says("Done.").says("Done.")
    await tested.ask("one")
    first = tested.session_id
    tested.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1}}')
    for _ in range(2):
        await tested.start()
        tested.model.calls("read_file", path="a.txt").calls("shell", command="touch b.txt").then_says("ok")
        await tested.ask("go")
        assert tested.session_id != first
        assert completed(tested)[0]["known"] is True


async def test_a_command_that_takes_too_long_is_given_up_and_not_tried_again(place, limited):
    """The turn goes on without it and says so; the next turns do not even try."""
    limited(baseline_seconds=0.3)
    place.configure(
        '{"approval": {"requireForKinds": []}, '
        '"verify": {"maxAttempts": 1, "commands": ["test -f a.txt || sleep 60; test ! -f bad.txt"]}}'
    )
    place.model.calls("write_file", path="a.txt", content="a").then_says("Done.")
    turn = await asyncio.wait_for(place.ask("one"), 20)

    slow, after = completed(place)
    assert (slow["status"], slow["baseline"]) == ("not_run", True)
    assert "0.3 s" in slow["reason"]
    assert (after["status"], said(turn)) == ("passed", "verified")


async def test_a_command_known_to_be_slow_is_not_begun(place, limited):
    """Its last run, in whatever session, tells."""
    limited(baseline_seconds=0.3)
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1, "commands": ["sleep 0.5"]}}')
    for n in range(2):
        await place.start()
        (place.project / "mine.txt").write_text(f"{n}")
        place.model.calls("write_file", path="a.txt", content=f"{n}").then_says("Done.")
        await place.ask("go")

    assert [data(event)["baseline"] for event in place.events("verification_started")] == [False]
    assert "0.5" in completed(place)[0]["reason"]


async def test_switched_off_every_failure_counts_as_new(tested, limited):
    """Nobody knows better."""
    limited(baseline=False, max_attempts=1)
    tested.model.calls("write_file", path="a.txt", content="a").then_says("Done.")

    turn = await tested.ask("go")

    assert [one["baseline"] for one in completed(tested)] == [False]
    assert said(turn) == "failing"


async def test_without_trust_nothing_runs_before_a_change(place):
    """A command that must be asked about is asked about once, when it is due."""
    place.trusted = False
    await place.reopen()
    await place.start()
    (place.project / "Makefile").write_text("test:\n\t@touch ran.txt\n")
    place.model.calls("write_file", path="b.txt", content="b").then_says("wrote")
    posted = await place.say("write")
    await place.approve(data(await place.heard("approval_requested"))["tool_call_id"])

    request = data(await place.heard("approval_requested", 2))
    assert (request["name"], request["rule"]) == ("verify", "untrusted_verification")
    assert not (place.project / "ran.txt").exists()
    await place.approve(request["tool_call_id"], "deny")
    turn = await place.ended(posted)

    assert not (place.project / "ran.txt").exists()
    assert (completed(place)[0]["status"], said(turn)) == ("not_run", "not_run")


async def test_a_verification_command_run_first_is_the_baseline(tested):
    """The model ran it before it changed anything; it is not run again for us."""
    tested.model.calls("shell", command="make test").calls("write_file", path="a.txt", content="a")
    tested.model.says("Done.").says("Done.")

    turn = await tested.ask("go")

    by_call, known, after = completed(tested)
    assert by_call["tool_call_id"]
    assert (known["baseline"], known["known"]) == (True, True)
    assert (after["pre_existing"], said(turn)) == (True, "pre_existing")


async def test_a_cancel_during_the_baseline_leaves_the_call_unrun(place):
    """It is told as not run, since it was not."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"commands": ["sleep 300"]}}')
    place.model.plays(Call("write_file", {"path": "a.txt", "content": "a"}))
    posted = await place.say("go")
    await place.heard("verification_started")

    await place.cancel()
    await place.ended(posted)

    call = data(place.events("tool_call_completed")[0])
    assert (call.get("interrupted", False), call["blocked"]) == (False, True)
    assert completed(place)[0]["status"] == "not_run"
    assert not (place.project / "a.txt").exists()

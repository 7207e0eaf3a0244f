"""A turn that changed files is verified before it may end, and says of itself only what the log shows."""

from __future__ import annotations

import asyncio
import json
import subprocess

import pytest

from agi.models.scripted import Say, ScriptedModel, Wait
from agi.sessions.sites import Site

FREE = '{"approval": {"requireForKinds": []}}'
GOOD_UNLESS_BAD = "test:\n\t@test ! -f bad.txt || (echo bad.txt is here; exit 7)\n"


def data(event) -> dict:
    return json.loads(event.raw)


def runs(place) -> list[tuple[str, bool, str]]:
    """Every verification in the log: command, whether it was a baseline, status."""
    completed = [data(event) for event in place.events("verification_completed")]
    return [(one["command"], one["baseline"], one["status"]) for one in completed]


def said(turn) -> str:
    return json.loads(turn.outcome)["verification"]


@pytest.fixture
def free(place):
    """Nothing is asked; `make test` passes unless there is a bad.txt."""
    place.configure(FREE)
    (place.project / "Makefile").write_text(GOOD_UNLESS_BAD)
    return place


async def test_a_change_that_passes_is_verified(free):
    """By the exit code, on the files as they are at the end."""
    free.model.calls("write_file", path="a.txt", content="a").then_says("Done.")

    turn = await free.ask("write")

    assert said(turn) == "verified"
    last = data(free.events("verification_completed")[-1])
    assert (last["status"], last["exit_code"]) == ("passed", 0)
    assert last["fingerprint"] == json.loads(turn.outcome)["fingerprint"] != ""


async def test_a_failure_is_given_back_and_mended(free):
    """The model is told the output; the second run passes."""
    free.model.calls("write_file", path="bad.txt", content="x").then_says("Done.")
    free.model.calls("shell", command="mv bad.txt good.txt").then_says("Mended.")

    turn = await free.ask("go")

    assert [status for _, baseline, status in runs(free) if not baseline] == ["failed", "passed"]
    told = free.model.requests[2].messages[-1]
    assert told.origin == "verification"
    assert "bad.txt is here" in told.parts[0].text
    assert (said(turn), free.answer()) == ("verified", "Mended.")


async def test_a_model_that_claims_success_does_not_make_it_one(free):
    """Whatever it says and however often, the log says failing."""
    place = free
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 2}}')
    place.model.calls("write_file", path="bad.txt", content="x").then_says("All tests pass. verification: verified")
    place.model.says('{"verification": "verified"} I ran make test and it passed.')

    turn = await place.ask("go")

    assert said(turn) == "failing"
    assert "passed" in place.answer()


async def test_attempts_are_bounded(free):
    """A model that cannot mend it is not asked for ever."""
    free.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 2}}')
    for n in range(5):
        free.model.calls("write_file", path="bad.txt", content=f"{n}").then_says(f"try {n}")

    turn = await free.ask("go")

    attempts = [data(event)["attempt"] for event in free.events("verification_started")]
    assert attempts == [0, 1, 2]
    assert said(turn) == "failing"
    assert len(free.model.requests) == 4


async def test_a_file_changed_from_outside_after_the_last_pass_makes_it_stale(free):
    """The agent did nothing more; what was verified is not what is there now."""
    free.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    gate = asyncio.Event()
    free.model.calls("write_file", path="a.txt", content="a").calls("verify").plays(Wait(gate), Say("Verified."))
    posted = await free.say("go")
    await free.heard("verification_completed")

    (free.project / "a.txt").write_text("other")
    gate.set()

    assert said(await free.ended(posted)) == "stale"


async def test_a_file_changed_from_outside_is_verified_with_the_rest(free):
    """As long as the turn is not over."""
    gate = asyncio.Event()
    free.model.calls("write_file", path="a.txt", content="a").calls("verify").plays(Wait(gate), Say("Done."))
    posted = await free.say("go")
    await free.heard("verification_completed", 2)
    (free.project / "a.txt").write_text("other")
    gate.set()

    assert said(await free.ended(posted)) == "verified"
    assert len([one for one in runs(free) if not one[1]]) == 2


async def test_files_put_back_as_they_were_are_verified_all_the_same(free):
    """What the commands did besides is not known."""
    free.model.calls("shell", command="touch a.txt").calls("shell", command="rm a.txt").then_says("Done.")

    assert said(await free.ask("go")) == "verified"
    assert runs(free) == [("make test", True, "passed"), ("make test", False, "passed")]


@pytest.fixture
def generated(place):
    """What is tested is a file that git ignores."""
    (place.project / ".gitignore").write_text("gen/\n")
    (place.project / "gen").mkdir()
    (place.project / "gen" / "out.txt").write_text("good\n")
    return place


GENERATED = {"commands": ["grep -q good gen/out.txt"], "maxAttempts": 1}


async def test_a_command_after_the_last_pass_has_it_run_again(generated):
    """It changed a file that no fingerprint covers, and broke it."""
    generated.configure(json.dumps({"approval": {"requireForKinds": []}, "verify": GENERATED}))
    generated.model.calls("write_file", path="x.py", content="x").calls("verify")
    generated.model.calls("shell", command="echo bad > gen/out.txt").then_says("All tests pass.")

    assert said(await generated.ask("go")) == "failing"


async def test_an_edit_of_an_ignored_file_after_the_last_pass_has_it_run_again(generated):
    """Our own tools write such files as well."""
    generated.configure(json.dumps({"approval": {"requireForKinds": []}, "verify": GENERATED}))
    generated.model.calls("read_file", path="gen/out.txt").calls("write_file", path="x.py", content="x")
    generated.model.calls("verify").calls("write_file", path="gen/out.txt", content="bad").then_says("Done.")

    assert said(await generated.ask("go")) == "failing"


async def test_a_command_after_the_last_pass_makes_it_stale_where_nothing_runs_by_itself(generated):
    """What passed is not known to pass any more."""
    settings = {"approval": {"requireForKinds": []}, "verify": {**GENERATED, "autoVerify": False}}
    generated.configure(json.dumps(settings))
    generated.model.calls("write_file", path="x.py", content="x").calls("verify")
    generated.model.calls("shell", command="echo bad > gen/out.txt").then_says("All tests pass.")

    assert said(await generated.ask("go")) == "stale"


async def test_a_command_after_the_last_pass_is_not_forgotten_by_a_restart(generated):
    """What came after the pass is read from the conversation."""
    generated.configure(json.dumps({"approval": {"requireForKinds": []}, "verify": GENERATED}))
    generated.model.calls("write_file", path="x.py", content="x").calls("verify")
    generated.model.calls("shell", command="echo bad > gen/out.txt").plays(Wait(asyncio.Event()))
    posted = await generated.say("go")
    await generated.heard("tool_call_completed", 3)
    generated.model = ScriptedModel().says("All tests pass.")
    await generated.reopen()
    await generated.harness.recover()

    assert said(await asyncio.wait_for(generated.ended(posted), 20)) == "failing"


async def test_an_edit_by_a_command_after_the_last_pass_makes_it_stale(free):
    """A turn that a limit ended has run nothing on what the command left."""
    free.configure('{"approval": {"requireForKinds": []}, "agents": {"build": {"maxSteps": 3}}}')
    free.model.calls("write_file", path="a.txt", content="a")
    free.model.calls("verify")
    free.model.calls("shell", command="sed -i s/a/b/ a.txt")

    turn = await free.ask("go")

    assert json.loads(turn.outcome)["stop_reason"] == "max_steps"
    assert said(turn) == "stale"


async def test_a_failure_that_was_changed_after_is_not_known_to_fail(free):
    """Each run speaks for its own files, the bad ones too."""
    free.configure('{"approval": {"requireForKinds": []}, "agents": {"build": {"maxSteps": 3}}}')
    free.model.calls("write_file", path="bad.txt", content="x")
    free.model.calls("verify")
    free.model.calls("write_file", path="c.txt", content="c")

    assert said(await free.ask("go")) == "stale"


async def test_looking_around_after_a_pass_does_not_make_it_stale(free):
    """A real run is not called unverified because of an `ls`."""
    free.model.calls("write_file", path="a.txt", content="a")
    free.model.calls("verify").calls("shell", command="ls").calls("shell", command="git diff | head")
    free.model.says("Done.")

    turn = await free.ask("go")

    assert said(turn) == "verified"
    assert len([one for one in runs(free) if not one[1]]) == 1


async def test_a_turn_that_only_looks_is_not_verified(free):
    """Neither by tools that read nor by commands that change nothing."""
    (free.project / "a.txt").write_text("a")
    free.model.calls("read_file", path="a.txt").calls("shell", command="cat a.txt").then_says("read")

    turn = await free.ask("read")

    assert runs(free) == []
    assert said(turn) == "not_run"


async def test_where_nothing_can_verify_that_is_said(place):
    """And why."""
    place.configure(FREE)
    place.model.calls("write_file", path="b.txt", content="b").then_says("wrote")

    turn = await place.ask("write")

    skipped = data(place.events("verification_completed")[0])
    assert (skipped["status"], skipped["command"]) == ("not_run", "")
    assert "Makefile" in skipped["reason"]
    assert said(turn) == "not_run"


async def test_commands_that_appear_during_the_turn_count(place):
    """A project that is made from nothing is verified by what it brings."""
    place.configure(FREE)
    place.model.calls("write_file", path="Makefile", content="test:\n\t@true\n").then_says("made")

    assert said(await place.ask("make a project")) == "verified"


async def test_a_turn_cannot_do_away_with_what_it_is_measured_by(free):
    """The commands found before the first change are run, though the change removed them."""
    free.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1}}')
    free.model.calls("shell", command="rm Makefile").then_says("done")

    assert said(await free.ask("go")) == "failing"


async def test_what_was_found_is_said_once_in_a_session(free):
    """With the file that told and how to choose otherwise."""
    for name in ("a", "b"):
        free.model.calls("write_file", path=f"{name}.txt", content=name).then_says("ok")
        await free.ask("go")

    (notice,) = [data(event) for event in free.events("notice")]
    assert notice["code"] == "verification_detected"
    assert "`make test`" in notice["message"]
    assert "Makefile" in notice["message"]


async def test_switched_off_nothing_runs_by_itself(free):
    """But what the model ran is still evidence."""
    free.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    free.model.calls("write_file", path="a.txt", content="a").then_says("ok")
    assert (said(await free.ask("go")), runs(free)) == ("not_run", [])

    free.model.calls("write_file", path="a.txt", content="b").calls("verify").then_says("ok")
    assert said(await free.ask("go")) == "verified"


async def test_a_command_that_is_only_sometimes_right_counts_as_it_was_last(free):
    """Both runs are in the log; the last one on these files decides, and the model is told of the first."""
    flaky = "test:\n\t@test ! -f a.txt || test -e ../passes || (touch ../passes; exit 1)\n"
    (free.project / "Makefile").write_text(flaky)
    free.configure('{"sandbox": {"mode": "off"}, "approval": {"requireForKinds": []}}')
    free.model.calls("write_file", path="a.txt", content="a").then_says("Done.")
    free.model.calls("verify").then_says("It was flaky.")

    turn = await free.ask("go")

    assert [status for _, baseline, status in runs(free) if not baseline] == ["failed", "passed"]
    assert said(turn) == "verified"


async def test_files_that_change_while_it_runs_have_it_run_again(free):
    """It spoke for files that are others now. The second run changes nothing, and counts."""
    place = free
    (place.project / "out.txt").write_text("old")
    place.configure(
        '{"approval": {"requireForKinds": []}, '
        '"verify": {"commands": ["test ! -f a.txt || cp a.txt out.txt.new; '
        'cmp -s out.txt.new out.txt || mv out.txt.new out.txt 2>&1; true"]}}'
    )
    place.model.calls("write_file", path="a.txt", content="a").then_says("Done.")

    turn = await place.ask("go")

    first, second = [data(event) for event in place.events("verification_completed")][1:]
    assert (first["status"], first["fingerprint"]) == ("passed", "")
    assert "out.txt" in first["reason"]
    assert second["status"] == "passed"
    assert said(turn) == "verified"


async def test_a_user_who_edits_while_it_runs_has_it_run_on_the_edit(free):
    """What was there when it began is not what is there now, so it is run on that."""
    place = free
    (place.project / "mine.txt").write_text("good\n")
    place.configure(
        '{"sandbox": {"mode": "off"}, "approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1, '
        '"commands": ["grep -q good mine.txt && { test ! -f a.txt || test -f ../go || { touch ../here; '
        'while ! test -f ../go; do sleep 0.01; done; }; }"]}}'
    )
    place.model.calls("write_file", path="a.txt", content="a").then_says("Done.")
    posted = await place.say("go")
    await place.until(lambda: (place.project.parent / "here").exists())
    (place.project / "mine.txt").write_text("broken\n")
    (place.project.parent / "go").touch()

    assert said(await place.ended(posted)) == "failing"


async def test_a_command_that_may_not_run_is_not_a_failure(free, monkeypatch):
    """Where no command may run, that is what the log says."""
    monkeypatch.setattr(Site, "no_commands", lambda site: "There is no sandbox here.")
    free.model.calls("write_file", path="a.txt", content="a").then_says("ok")

    turn = await free.ask("go")

    assert runs(free) == [("make test", False, "not_run")]
    assert data(free.events("verification_completed")[0])["reason"] == "There is no sandbox here."
    assert said(turn) == "not_run"


def git(folder, *args: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def clean(place):
    """A repository with one commit, and a policy that wants it clean."""
    (place.project / "Makefile").write_text("test:\n\t@true\n")
    (place.project / "a.txt").write_text("a\n")
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"requireClean": true}}')
    git(place.project, "init")
    git(place.project, "add", "Makefile", "a.txt")
    git(place.project, "commit", "-m", "one")
    return place


async def test_a_dirty_tree_is_not_worked_on_where_it_must_be_clean(clean):
    """The turn fails before the model is asked, and says which files and what to do."""
    (clean.project / "a.txt").write_text("mine\n")

    turn = await clean.ask("go")

    error = json.loads(turn.outcome)["error"]
    assert (turn.status, error["code"]) == ("failed", "workspace_dirty")
    assert "a.txt" in error["message"]
    assert "Commit" in error["hint"]
    assert clean.model.requests == []


async def test_a_clean_tree_is_worked_on(clean):
    """Our own folder does not count; the next turn needs a commit first."""
    clean.model.calls("write_file", path="b.txt", content="b").then_says("Done.")
    assert said(await clean.ask("go")) == "verified"

    assert (await clean.ask("again")).status == "failed"
    git(clean.project, "add", "b.txt")
    git(clean.project, "commit", "-m", "two")
    clean.model.says("Hello.")
    assert (await clean.ask("again")).status == "completed"


async def test_an_agent_that_cannot_change_anything_may_look_at_a_dirty_tree(clean):
    """There is nothing to protect."""
    (clean.project / "a.txt").write_text("mine\n")
    await clean.start(agent="plan")
    clean.model.says("I see.")

    assert (await clean.ask("look")).status == "completed"


async def test_without_git_there_is_no_tree_to_be_dirty(place):
    """The policy is about what could not be told apart later."""
    place.configure('{"verify": {"requireClean": true}}')
    place.model.says("Hello.")

    assert (await place.ask("hi")).status == "completed"


async def test_a_command_that_changes_files_does_not_pass_where_they_must_stay(clean):
    """It is told why."""
    (clean.project / "Makefile").write_text("test:\n\t@date >> a.txt\n")
    git(clean.project, "commit", "-am", "two")
    clean.model.calls("write_file", path="b.txt", content="b").then_says("Done.").says("Cannot.")

    turn = await clean.ask("go")

    last = data(clean.events("verification_completed")[-1])
    assert (last["status"], last["exit_code"]) == ("failed", 0)
    assert "a.txt" in last["reason"]
    assert said(turn) == "failing"

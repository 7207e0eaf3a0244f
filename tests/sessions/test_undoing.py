"""Going back: files, conversation or both; previewed, refused where it would hurt, and itself to be taken back."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from agi.checkpoints import composing, restoring
from agi.checkpoints.opened import store_at
from agi.errors import Conflict, DiskFull, Invalid, NotFound
from agi.eventlog import leases
from agi.models.scripted import ScriptedModel, Wait
from agi.protocol.checkpoints import Reverted
from agi.protocol.commands import Revert
from agi.protocol.parts import plain_text
from agi.sessions.checkpointing import Checkpoints
from agi.sessions.harness import Harness


@pytest.fixture(autouse=True)
def quiet(place) -> None:
    """Nothing is asked, nothing verified."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')


async def run(place, command: str) -> str:
    """One turn with one command; gives its id."""
    place.model.calls("shell", command=command).then_says("done")
    turn = await place.ask(command)
    assert turn.status == "completed"
    return turn.id


async def revert(place, to: str = "start", **fields: object) -> Reverted:
    return await place.harness.revert(place.session_id, Revert(to=to, **fields))


def told(model: ScriptedModel) -> list[str]:
    """What the model was shown in its last request: every text, in order."""
    said = [message for message in model.requests[-1].messages if message.role in ("user", "assistant")]
    return [plain_text(message.parts) for message in said]


async def test_the_files_of_the_last_turn_are_taken_back(place):
    """The turn before it stays; the model is told, so that it does not build on what is gone."""
    (place.project / "a").write_text("0")
    await run(place, "echo 1 > a; echo 1 > b")
    last = await run(place, "echo 2 > a; rm b; echo 2 > c")

    done = await revert(place, last)

    files = {path.name: path.read_text() for path in place.project.iterdir() if path.is_file()}
    assert files == {"a": "1\n", "b": "1\n"}
    assert [(file.path, file.status) for file in done.files] == [("a", "modified"), ("b", "added"), ("c", "deleted")]
    assert place.messages()[-1].origin == "files_reverted"
    assert "a, b, c" in plain_text(place.messages()[-1].parts)


async def test_a_preview_changes_nothing(place):
    """Neither files nor log; it shows what would happen, with diffs."""
    (place.project / "a").write_text("0\n")
    await run(place, "echo 1 > a")
    types = place.types()

    preview = await revert(place, what="both", preview=True)

    assert (place.project / "a").read_text() == "1\n"
    assert place.types() == types
    assert preview.files[0].artifact.patch.endswith("-1\n+0\n")
    assert (preview.preview, preview.messages, preview.redo) == (True, 4, "")


async def test_a_revert_is_what_its_preview_showed_or_nothing(place):
    """The plan of the preview names it."""
    (place.project / "a").write_text("0")
    await run(place, "echo 1 > a")
    preview = await revert(place, preview=True)
    with pytest.raises(Conflict) as caught:
        await revert(place, plan="something else")
    assert caught.value.code == "plan_changed"

    await revert(place, plan=preview.plan)
    assert (place.project / "a").read_text() == "0"


async def test_a_revert_can_be_reverted_and_that_too(place):
    """Each names the checkpoint that takes it back."""
    (place.project / "a").write_text("0")
    await run(place, "echo 1 > a")
    first = await revert(place)
    second = await revert(place, first.redo)
    assert (place.project / "a").read_text() == "1\n"
    await revert(place, second.redo)
    assert (place.project / "a").read_text() == "0"


async def test_the_conversation_goes_on_from_an_earlier_point(place):
    """What was said after it is told to no model; it stays in the log and is marked."""
    place.model.says("first answer")
    await place.ask("first question")
    second = await run(place, "echo 1 > a")
    events = len(place.events())

    done = await revert(place, second, what="conversation")
    place.model.says("third answer")
    await place.ask("third question")

    assert told(place.model) == ["first question", "first answer", "third question"]
    assert (place.project / "a").exists()
    assert [message.reverted for message in place.messages()] == [False, False, True, True, True, True, False, False]
    assert place.types()[events : events + 2] == ["checkpoint_created", "conversation_reverted"]
    assert json.loads(place.events("conversation_reverted")[0].raw) == {
        "to": second,
        "to_seq": place.events("turn_started")[1].seq - 1,
        "messages": 4,
        "last_turn_id": place.events("turn_started")[0].turn_id,
    }
    assert done.messages == 4


async def test_a_conversation_can_be_brought_back(place):
    """To how it stood before the revert, whatever was said since."""
    place.model.says("one")
    await place.ask("first")
    place.model.says("two")
    await place.ask("second")
    done = await revert(place, what="conversation")
    place.model.says("three")
    await place.ask("third")
    assert told(place.model) == ["third"]

    await revert(place, done.redo, what="conversation")
    place.model.says("four")
    await place.ask("fourth")
    assert told(place.model) == ["first", "one", "second", "two", "fourth"]


async def test_both_go_back_together(place):
    """One point, one event after the other, one redo."""
    (place.project / "a").write_text("0")
    first = await run(place, "echo 1 > a")
    done = await revert(place, first, what="both")

    assert (place.project / "a").read_text() == "0"
    assert all(message.reverted for message in place.messages())
    assert place.types()[-3:] == ["checkpoint_created", "checkpoint_created", "conversation_reverted"]

    await revert(place, done.redo, what="both")
    assert (place.project / "a").read_text() == "1\n"
    assert not any(message.reverted for message in place.messages())


async def test_a_checkpoint_in_the_middle_of_a_turn_can_be_gone_back_to(place):
    """Files as they were after that call, and the conversation up to its result."""
    place.model.calls("shell", command="echo 1 > a").then_calls("shell", command="echo 2 > a").then_says("done")
    await place.ask("go")
    point = json.loads(place.events("checkpoint_created")[0].raw)["checkpoint_id"]

    await revert(place, point, what="both")

    assert (place.project / "a").read_text() == "1\n"
    assert [message.reverted for message in place.messages()] == [False, False, False, True, True, True]
    place.model.says("went on")
    await place.ask("and now?")
    roles = [message.role for message in place.model.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "user"]


async def test_what_the_user_changed_since_is_refused_by_name(place):
    """Nothing is touched; the file can be left out, or forced by its own name."""
    for name in ("a", "b"):
        (place.project / name).write_text("0")
    await run(place, "echo 1 > a; echo 1 > b")
    (place.project / "a").write_text("mine")

    with pytest.raises(Conflict, match=r"taken back: a\. Nothing was changed") as caught:
        await revert(place)
    assert caught.value.code == "files_changed"
    assert (place.project / "b").read_text() == "1\n"

    await revert(place, paths=["b"])
    assert ((place.project / "a").read_text(), (place.project / "b").read_text()) == ("mine", "0")
    done = await revert(place, force=["a"])
    assert (place.project / "a").read_text() == "0"
    await revert(place, done.redo)
    assert (place.project / "a").read_text() == "mine"


async def test_forcing_is_by_exact_name(place):
    """A folder forces nothing in it, and a name the session did not change is a mistake."""
    (place.project / "d").mkdir()
    (place.project / "d" / "a").write_text("0")
    await run(place, "echo 1 > d/a")
    (place.project / "d" / "a").write_text("mine")

    for name in ("d", "nothing"):
        with pytest.raises(Invalid) as caught:
            await revert(place, force=[name])
        assert caught.value.code == "path_not_changed"
    assert (place.project / "d" / "a").read_text() == "mine"


async def test_a_folder_chooses_what_is_in_it(place):
    """`paths` takes files and folders."""
    await run(place, "mkdir -p d/e; echo 1 > d/a; echo 1 > d/e/b; echo 1 > c")
    await revert(place, paths=["./d/"])

    assert not (place.project / "d").exists()
    assert (place.project / "c").exists()


async def test_a_running_session_is_not_reverted(place):
    """Cancel it first, or wait."""
    place.model.plays(Wait(asyncio.Event()))
    await place.say("wait")
    with pytest.raises(Conflict) as caught:
        await revert(place)
    assert caught.value.code == "session_running"
    await place.cancel()


async def test_a_message_that_comes_during_a_revert_waits_for_it(place, monkeypatch):
    """It is answered afterwards, on the files as they are then."""
    (place.project / "a").write_text("0")
    await run(place, "echo 1 > a")
    place.model.calls("shell", command="cat a").then_says("read")
    loop = asyncio.get_running_loop()
    posted: list[object] = []
    real = restoring.exchange

    def meanwhile(*args):
        posted.append(asyncio.run_coroutine_threadsafe(place.say("what is in a?"), loop).result(10))
        return real(*args)

    monkeypatch.setattr(restoring, "exchange", meanwhile)
    await revert(place)

    turn = await place.ended(posted[0])
    assert turn.status == "completed"
    assert json.loads(place.events("tool_call_completed")[-1].raw)["tool_result"]["parts"][0]["text"].startswith("0")


async def test_another_process_that_runs_the_session_keeps_it(place):
    """Its lease is not taken."""
    await run(place, "echo 1 > a")
    other = Harness(place.settings(), stand_in=ScriptedModel())
    await place.until(lambda: leases.is_free(other.log.db, place.session_id))
    lease = await other.log.take_lease(place.session_id)
    with pytest.raises(Conflict) as caught:
        await revert(place)
    assert caught.value.code == "session_busy_elsewhere"
    await other.log.release_lease(lease)
    await revert(place)
    await other.close()


async def test_after_a_restart_it_works_the_same(place):
    """Log and store are all that is needed."""
    (place.project / "a").write_text("0")
    turn = await run(place, "echo 1 > a")
    await place.reopen()

    await revert(place, turn, what="both")
    assert (place.project / "a").read_text() == "0"


async def test_a_checkpoint_the_log_never_heard_of_is_taken_back_too(place, monkeypatch):
    """A kill came between the look and the log; the revert tells of it, and where it belongs is known all the same."""
    (place.project / "a").write_text("0")
    await run(place, "echo 1 > a")
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "_tell", lambda self, closed: None)
        second = await run(place, "echo 2 > a")
    await run(place, "echo 3 > a")
    assert len(place.events("checkpoint_created")) == 2
    assert len((await place.harness.diff(place.session_id, turn=second)).files) == 1

    await revert(place, second)
    assert (place.project / "a").read_text() == "1\n"
    causes = [json.loads(event.raw)["cause"] for event in place.events("checkpoint_created")]
    assert causes == ["call", "call", "call", "redo_point", "revert"]


async def test_what_a_killed_command_did_is_refused_until_it_is_named(place, monkeypatch):
    """Nobody looked when it ended: the user may have worked on since. By name it goes back."""
    (place.project / "a").write_text("0")

    async def killed(self, *args) -> None:
        """What a process does not get to do any more."""

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "_end", killed)
        await run(place, "echo 1 > a")
    preview = await revert(place, preview=True)
    assert [(one.path, one.reason) for one in preview.conflicts] == [("a", "interrupted")]

    await revert(place, force=["a"])
    assert (place.project / "a").read_text() == "0"


async def test_writing_tools_copy_only_what_they_change(place):
    """An edit in a large workspace keeps the file it edits, not the workspace; the undo neither."""
    for n in range(200):
        (place.project / f"{n}.txt").write_text(f"{n}\n")
    place.model.calls("read_file", path="7.txt").then_calls("write_file", path="7.txt", content="seven")
    place.model.then_calls("write_file", path="new/8.txt", content="eight").then_says("done")
    await place.ask("go")
    assert [(file.path, file.status) for file in (await place.harness.diff(place.session_id)).files] == [
        ("7.txt", "modified"),
        ("new/8.txt", "added"),
    ]

    await revert(place)
    assert (place.project / "7.txt").read_text() == "7\n"
    assert not (place.project / "new").exists()
    with store_at(place.project / ".agi").reading() as db:
        assert db.execute("SELECT count(*) FROM blobs").fetchone()[0] == 3


async def test_a_checkpoint_that_made_room_is_not_passed_over(place):
    """Without it nobody knows what was there; that is said, and nothing is touched."""
    await run(place, "echo 1 > a")
    with store_at(place.project / ".agi").writing() as db:
        db.execute("DELETE FROM steps")

    for attempt in (revert(place), place.harness.diff(place.session_id)):
        with pytest.raises(Conflict) as caught:
            await attempt
        assert caught.value.code == "checkpoint_gone"
    assert (place.project / "a").read_text() == "1\n"


async def test_a_log_that_cannot_be_written_leaves_the_files_as_they_are(place, monkeypatch):
    """All or nothing: what was put back goes forward again."""
    (place.project / "a").write_text("0")
    await run(place, "echo 1 > a; echo 1 > b")

    async def full(*args, **fields):
        raise DiskFull("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(place.harness.log, "append", full)
        with pytest.raises(DiskFull):
            await revert(place)
    assert (place.project / "a").read_text() == "1\n"
    assert (place.project / "b").read_text() == "1\n"

    await revert(place)
    assert (place.project / "a").read_text() == "0"


async def test_nothing_to_take_back_is_no_event(place):
    """A session that changed nothing, or whose changes are back already."""
    place.model.says("hello")
    await place.ask("hi")
    types = place.types()

    done = await revert(place)
    assert (done.files, done.redo) == ((), "")
    assert place.types() == types
    assert not (place.project / ".agi" / "checkpoints" / "objects.sqlite").exists()


@pytest.mark.parametrize(
    ("to", "kind", "code"),
    [
        ("turn_019a00000000700080000000000000aa", NotFound, "turn_not_found"),
        ("ckpt_019a00000000700080000000000000aa", NotFound, "point_not_found"),
        ("yesterday", NotFound, "point_not_found"),
    ],
)
async def test_a_point_that_is_not_there_is_said_to_be_missing(place, to, kind, code):
    """And nothing happens."""
    with pytest.raises(kind) as caught:
        await revert(place, to)
    assert caught.value.code == code


async def test_a_turn_that_was_taken_back_cannot_be_retried(place):
    """Its message is no part of the conversation any more."""
    place.model.says("one")
    first = await place.ask("first")
    second = await place.ask("second")  # the script is over: it fails
    assert second.status == "failed"
    await revert(place, second.id, what="conversation")

    with pytest.raises(Conflict) as caught:
        await place.harness.retry(place.session_id, second.id)
    assert caught.value.code == "turn_not_last"
    assert place.harness.session(place.session_id).last_turn_id == first.id


async def test_files_are_chosen_only_where_files_go_back(place):
    """`paths` and `force` mean nothing for a conversation."""
    with pytest.raises(Invalid):
        await revert(place, what="conversation", paths=["a"])


async def test_the_whole_a_turn_and_a_stretch_can_be_looked_at(place):
    """As diffs of what the session changed; the user's own edits are not in them."""
    (place.project / "a").write_text("0\n")
    (place.project / "mine").write_text("0\n")
    first = await run(place, "echo 1 > a")
    (place.project / "mine").write_text("changed by the user\n")
    second = await run(place, "echo 2 > a; echo 2 > b")
    diff = place.harness.diff

    async def lines(**fields: str) -> dict[str, list[str]]:
        found = await diff(place.session_id, **fields)
        return {file.path: file.artifact.patch.split("@@\n")[1].split() for file in found.files}

    assert await lines() == {"a": ["-0", "+2"], "b": ["+2"]}
    assert await lines(turn=first) == {"a": ["-0", "+1"]}
    assert await lines(turn=second) == {"a": ["-1", "+2"], "b": ["+2"]}
    assert await lines(start=second) == await lines(turn=second)
    assert await lines(start="start", end=second) == await lines(turn=first)
    with pytest.raises(Invalid):
        await diff(place.session_id, turn=first, start=second)
    await revert(place)
    assert await lines() == {}


async def test_a_diff_says_where_others_had_a_hand_in_it(place):
    """The user's edit between two of the session's is in the whole, and marked."""
    (place.project / "a").write_text("0\n")
    await run(place, "echo 1 >> a")
    (place.project / "a").write_text("0\n1\nmine\n")
    await run(place, "echo 2 >> a")

    [file] = (await place.harness.diff(place.session_id)).files
    assert file.by_others
    assert file.artifact.summary == {"files": 1, "additions": 3, "deletions": 0}


async def test_a_deleted_session_takes_its_checkpoints_along(place):
    """Nothing of it can be brought back, and nothing of it takes room."""
    await run(place, "echo 1 > a")
    await place.harness.delete_session(place.session_id)

    with store_at(place.project / ".agi").reading() as db:
        assert db.execute("SELECT count(*) FROM steps").fetchone()[0] == 0
    with pytest.raises(NotFound):
        await place.harness.diff(place.session_id)


async def test_a_rebuilt_log_knows_what_was_taken_back(place):
    """Everything is in the events."""
    place.model.says("one")
    await place.ask("first")
    await revert(place, what="conversation")
    await place.harness.close()
    for path in (place.project / ".agi").glob("agi.sqlite*"):
        path.unlink()
    await place.open()

    assert [message.reverted for message in place.messages()] == [True, True]


async def test_what_the_user_did_while_a_command_ran_is_in_the_way(place, monkeypatch):
    """Nobody can tell it from what the command did late; what it did at once is its own."""
    monkeypatch.setattr(composing, "LONG_NS", 0)
    (place.project / "mine").write_text("0")
    place.model.calls("shell", command="echo 1 > a; while [ ! -f go ]; do sleep 0.01; done").then_says("done")
    posted = await place.say("build it")
    await place.until(lambda: (place.project / "a").exists())
    await place.until(lambda: time.time_ns() - (place.project / "a").stat().st_ctime_ns > composing.EARLY_NS)
    (place.project / "mine").write_text("hours of work")
    (place.project / "go").touch()
    await place.ended(posted)
    # Under load the command itself may have been late.
    late = {"go", "mine"}
    preview = await revert(place, preview=True)
    assert late <= {one.path for one in preview.conflicts} <= {*late, "a"}
    assert {one.reason for one in preview.conflicts} == {"during_command"}
    with pytest.raises(Conflict, match=r"may, while a command ran, have changed .*mine") as caught:
        await revert(place)
    assert caught.value.code == "files_changed"
    assert (place.project / "mine").read_text() == "hours of work"

    await revert(place, paths=["a"], force=["a"])
    assert not (place.project / "a").exists()
    await revert(place, force=["mine", "go"])
    assert (place.project / "mine").read_text() == "0"


async def test_an_ignored_file_that_a_command_removed_is_named(place):
    """It does not come back, and the preview says so before anything is done."""
    (place.project / ".gitignore").write_text(".env\n")
    (place.project / ".env").write_text("SECRET=1")
    (place.project / "a").write_text("0")
    await run(place, "rm .env; echo 1 > a")

    done = await revert(place)

    assert [file.path for file in done.files] == ["a"]
    assert [(one.path, "ignored" in one.reason) for one in done.unrestored] == [(".env", True)]
    assert (await place.harness.diff(place.session_id)).summary["files"] == 0

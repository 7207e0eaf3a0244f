"""Forking: another session that begins with what was said in one, which goes on as if nothing had happened."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3

import pytest

from agi.checkpoints.opened import store_at
from agi.errors import Conflict, Damaged, DiskFull, Invalid, NotFound
from agi.eventlog.append import Append
from agi.eventlog.repair import rebuild_database
from agi.models.scripted import Call, Say, Wait
from agi.protocol.commands import Approve, ForkSession, PostMessage, Revert, UpdateSession
from agi.protocol.parts import plain_text
from agi.protocol.sessions import Session
from agi.views.tables import Tables

QUIET = '{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}'


async def fork(place, session_id: str = "", **fields: object) -> Session:
    return await place.harness.fork_session(session_id or place.session_id, ForkSession(**fields))


def texts(place, session_id: str) -> list[str]:
    """What was said in a session: every text, in order."""
    found = place.harness.messages(session_id, limit=1000, before=None)[0]
    return [plain_text(message.parts) for message in found if message.role in ("user", "assistant")]


def types(place, session_id: str) -> list[str]:
    return [event.type for event in place.harness.log.read(session_id, 0, 10_000)]


def folder(place, session_id: str = ""):
    return place.harness.session_folder(session_id or place.session_id)


async def talked(place, *says: str) -> list[str]:
    """Turns in which the model answered; gives their ids."""
    ids = []
    for text in says:
        place.model.says(f"{text}!")
        ids.append((await place.ask(text)).id)
    return ids


async def asked(place, session_id: str, text: str) -> None:
    posted = await place.harness.post_message(session_id, PostMessage(content=text))
    await place.harness.wait_turn(session_id, posted.turn_id)


async def test_a_fork_holds_what_was_said_and_goes_on_by_itself(place):
    """The model is told the whole conversation; the source hears nothing of it."""
    await talked(place, "one", "two")
    before = [event.envelope() for event in place.events()]

    made = await fork(place)
    place.model.says("three!")
    await asked(place, made.id, "three")

    assert [plain_text(one.parts) for one in place.model.requests[-1].messages] == [
        *("one", "one!", "two", "two!", "three")
    ]
    assert texts(place, made.id) == ["one", "one!", "two", "two!", "three", "three!"]
    assert [event.envelope() for event in place.events()] == before
    assert (made.status, made.activity, made.title) == ("completed", "idle", "one (fork)")


async def test_the_lineage_is_kept(place):
    """Where it came from stands in the session and in the log, for a fork of a fork up to the first."""
    turns = await talked(place, "one")
    message = place.messages()[1]
    first = await fork(place, message_id=message.id)
    second = await fork(place, first.id, title="again")

    assert first.forked_from.session_id == place.session_id
    assert (first.forked_from.message_id, first.forked_from.ancestors) == (message.id, (place.session_id,))
    assert second.forked_from.ancestors == (first.id, place.session_id)
    assert second.title == "again"
    assert second.last_turn_id not in (None, first.last_turn_id, *turns)
    assert [one.id for one in place.harness.sessions(forked_from=place.session_id)] == [first.id]
    snapshot = json.loads((folder(place, first.id) / "session.json").read_text())
    assert snapshot["forked_from"]["session_id"] == place.session_id


async def test_the_new_log_is_dense_and_alone_is_enough(place):
    """Its tables are made again from its own mirror, with the source gone."""
    place.configure(QUIET)
    place.model.calls("shell", command="echo hello").then_says("done")
    await place.ask("run")
    made = await fork(place)
    shown = place.harness.messages(made.id, limit=100, before=None)
    await place.harness.delete_session(place.session_id)
    await place.harness.close()

    rebuild_database(place.project / ".agi", place.project / ".agi" / "agi.sqlite", Tables())
    await place.open()

    assert place.harness.messages(made.id, limit=100, before=None) == shown
    seqs = [event.seq for event in place.harness.log.read(made.id, 0, 1000)]
    assert seqs == list(range(1, len(seqs) + 1))
    assert place.harness.session(made.id).forked_from == made.forked_from


async def test_a_fork_at_a_message_ends_with_it(place):
    """Whoever said it; a message of the user is there without being answered."""
    await talked(place, "one", "two")
    ids = [message.id for message in place.messages()]

    found = [texts(place, (await fork(place, message_id=id)).id) for id in ids]

    assert found == [["one"], ["one", "one!"], ["one", "one!", "two"], ["one", "one!", "two", "two!"]]
    unanswered = await fork(place, message_id=ids[2])
    assert (unanswered.activity, unanswered.queue) == ("idle", ())


async def test_a_fork_at_an_answer_is_answered(place):
    """The turn that the message completed is completed there too: nothing is left to retry."""
    await talked(place, "one", "two")
    answers = [message.id for message in place.messages() if message.role == "assistant"]

    made = [await fork(place, message_id=id) for id in answers]

    assert [one.status for one in made] == ["completed", "completed"]
    assert [texts(place, one.id)[-1] for one in made] == ["one!", "two!"]


async def test_a_fork_before_a_message_leaves_room_for_another(place):
    """What one does to say it differently."""
    turns = await talked(place, "one", "two")
    ids = [message.id for message in place.messages()]

    found = [texts(place, (await fork(place, message_id=id, before=True)).id) for id in ids]
    turn = await fork(place, turn_id=turns[1], before=True)

    assert found == [[], ["one"], ["one", "one!"], ["one", "one!", "two"]]
    assert texts(place, turn.id) == ["one", "one!"]


async def test_a_fork_at_a_turn_ends_with_it(place):
    """Or at any event."""
    turns = await talked(place, "one", "two")
    by_turn = await fork(place, turn_id=turns[0])
    by_seq = await fork(place, seq=by_turn.forked_from.seq)

    assert texts(place, by_turn.id) == texts(place, by_seq.id) == ["one", "one!"]
    assert by_turn.status == "completed"


@pytest.mark.parametrize(
    ("fields", "kind", "code"),
    [
        ({"message_id": "msg_0"}, NotFound, "message_not_found"),
        ({"turn_id": "turn_0"}, NotFound, "turn_not_found"),
        ({"seq": 10_000}, Invalid, "seq_out_of_range"),
        ({"seq": 1, "turn_id": "turn_0"}, Invalid, "fork_ambiguous"),
        ({"before": True}, Invalid, "fork_ambiguous"),
        ({"agent": "bild"}, Invalid, "unknown_agent"),
        ({"provider": "nobody"}, Invalid, "unknown_provider"),
    ],
)
async def test_a_fork_that_cannot_be_is_refused_and_nothing_is_made(place, fields, kind, code):
    """Said in words, with what to do."""
    await talked(place, "one")
    with pytest.raises(kind) as refused:
        await fork(place, **fields)

    assert refused.value.code == code
    assert refused.value.hint
    assert len(place.harness.sessions()) == 1
    assert len(list(folder(place).parent.iterdir())) == 1


async def test_a_session_that_is_not_there_cannot_be_forked(place):
    """Unknown, or removed."""
    await place.harness.delete_session(place.session_id)
    for session_id in (place.session_id, "sess_" + "0" * 32):
        with pytest.raises(NotFound) as refused:
            await fork(place, session_id)
        assert refused.value.code == "session_not_found"


async def test_a_fork_in_the_middle_of_an_answer_takes_what_was_said_so_far(place):
    """The source goes on undisturbed; in the fork the half answer is closed, and the next one is whole."""
    gate = asyncio.Event()
    place.model.plays(Say("As far as I c"), Wait(gate), Say("an see")).then_says("again")
    posted = await place.say("tell")
    await place.until(lambda: "model_output_delta" in place.types())

    made = await fork(place)
    assert texts(place, made.id) == ["tell", "As far as I c"]
    assert types(place, made.id)[-4:] == [
        *("model_output_completed", "turn_canceled", "session_canceled", "session_forked")
    ]
    assert (made.activity, made.status) == ("idle", "canceled")
    await asked(place, made.id, "go on")

    assert [plain_text(one.parts) for one in place.model.requests[-1].messages] == ["tell", "go on"]
    gate.set()
    assert (await place.ended(posted)).status == "completed"
    assert place.answer() == "As far as I can see"


async def test_a_question_that_waits_there_does_not_wait_here(place):
    """Its call is told as unanswered; answering it in the source lets only the source go on."""
    place.model.plays(Call("shell", {"command": "echo 1 > made"}))
    posted = await place.say("run")
    await place.until(lambda: bool(place.harness.session(place.session_id).pending_approvals))
    call = place.harness.session(place.session_id).pending_approvals[0]

    made = await fork(place)
    assert (made.pending_approvals, made.activity) == ((), "idle")
    with pytest.raises(NotFound):
        await place.harness.approve(made.id, Approve(tool_call_id=call.tool_call_id, action="approve"))
    place.model.says("I see").then_says("done")
    await asked(place, made.id, "what now?")
    results = [one for one in place.model.requests[-1].messages if one.role == "tool"]
    assert "forked" in plain_text(results[0].parts[0].content.parts)

    await place.approve(call.tool_call_id)
    await place.ended(posted)
    assert (place.project / "made").exists()


async def test_what_waits_in_the_queue_stays_there(place):
    """It was not said yet; naming it says so."""
    gate = asyncio.Event()
    place.model.plays(Say("first"), Wait(gate)).then_says("second")
    one = await place.say("one")
    two = await place.say("two")
    await place.until(lambda: "model_output_delta" in place.types())

    made = await fork(place)
    with pytest.raises(Conflict) as refused:
        await fork(place, message_id=two.message_id)
    gate.set()
    await place.ended(two)

    assert texts(place, made.id) == ["one", "first"]
    assert refused.value.code == "message_not_said"
    assert texts(place, (await fork(place, message_id=two.message_id)).id) == ["one", "first", "two"]
    assert texts(place, (await fork(place, turn_id=one.turn_id)).id) == ["one", "first"]


async def test_nothing_that_was_allowed_or_used_up_is_inherited(place):
    """Grants, usage, and what verification showed stay where they were given."""
    place.model.plays(Call("shell", {"command": "echo 1"})).then_says("done")
    posted = await place.say("run")
    await place.until(lambda: bool(place.harness.session(place.session_id).pending_approvals))
    call = place.harness.session(place.session_id).pending_approvals[0]
    await place.approve(call.tool_call_id, remember="session")
    await place.ended(posted)
    source = place.harness.state(place.session_id)
    assert source.grants
    assert source.usage.requests

    state = place.harness.state((await fork(place)).id)

    assert (state.grants, state.usage.requests, state.seconds) == ([], 0, 0.0)
    assert state.ledger == type(state.ledger)()


async def test_files_are_shared_not_copied_and_outlive_the_source(place):
    """An attachment is one file with two names; removing the source takes one of them."""
    added = await place.harness.add_attachment(place.session_id, "a.txt", "text/plain", b"x" * 1000)
    place.model.says("seen")
    await place.ask("look")

    made = await fork(place)
    name = added.ref.partition("/")[2]
    mine, theirs = (place.harness.fetch_file(one, "attachments", name).path for one in (made.id, place.session_id))
    assert mine.stat().st_ino == theirs.stat().st_ino
    await place.harness.delete_session(place.session_id)
    await place.harness.log.mirrored()

    assert not theirs.exists()
    assert mine.read_bytes() == b"x" * 1000
    assert [one.ref for one in place.harness.attachments(made.id)] == [added.ref]


async def test_artifacts_are_found_under_the_refs_the_conversation_names(place):
    """A long output is a file; what was said about it holds in the fork as well."""
    place.configure(QUIET)
    place.model.calls("shell", command="seq 1 200000").then_says("done")
    await place.ask("count")
    made = await fork(place)

    completed = [one for one in place.harness.log.read(made.id, 0, 100) if one.type == "tool_call_completed"]
    ref = json.loads(completed[0].raw)["tool_result"]["artifacts"][0]
    assert place.harness.fetch_file(made.id, *ref.split("/")).size > 1_000_000


async def test_where_files_cannot_be_linked_they_are_copied(place, monkeypatch):
    """Not every disk knows links."""
    added = await place.harness.add_attachment(place.session_id, "a.txt", "text/plain", b"x")

    def refused(*args: object, **fields: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.link", refused)
    made = await fork(place)

    path = place.harness.fetch_file(made.id, "attachments", added.ref.partition("/")[2]).path
    assert (path.read_bytes(), path.stat().st_nlink, path.stat().st_mode & 0o777) == (b"x", 1, 0o600)


async def test_a_fork_of_what_was_taken_back_begins_there(place):
    """The conversation as it stood then; and what was taken back since is not in a fork of now."""
    turns = await talked(place, "one", "two")
    gone = place.messages()[3].id
    await place.harness.revert(place.session_id, Revert(to=turns[1], what="conversation"))
    await talked(place, "three")

    assert texts(place, (await fork(place)).id) == ["one", "one!", "three", "three!"]
    assert texts(place, (await fork(place, message_id=gone)).id) == ["one", "one!", "two", "two!"]


async def test_the_settings_are_those_of_that_moment(place):
    """A model that was chosen later did not answer there."""
    turns = await talked(place, "one")
    await place.harness.update_session(place.session_id, UpdateSession(agent="plan"))
    assert (await fork(place, turn_id=turns[0])).agent == "build"
    assert (await fork(place)).agent == "plan"
    assert (await fork(place, agent="general")).agent == "general"


async def test_a_turn_that_was_cut_off_can_be_retried_in_the_fork(place):
    """Forking in the middle of work and having it gone on with there."""
    place.configure(QUIET)
    place.model.plays(Call("shell", {"command": "echo 1"}), Call("shell", {"command": "echo 2"})).then_says("done")
    await place.ask("run")
    calls = place.messages()[1]

    made = await fork(place, message_id=calls.id)
    place.model.says("looked again")
    posted = await place.harness.retry(made.id, made.last_turn_id)
    await place.harness.wait_turn(made.id, posted.turn_id)

    assert texts(place, made.id)[-1] == "looked again"
    assert [one.role for one in place.model.requests[-1].messages] == ["user", "assistant", "tool", "tool"]


async def test_a_source_that_is_removed_meanwhile_leaves_no_half_fork(place, monkeypatch):
    """What the fork would have been made of may be gone, so it is not made."""
    await talked(place, "one")
    write = Append._write

    def removed(self, db):
        db.execute("DELETE FROM sessions WHERE id=?", (place.session_id,))
        return write(self, db)

    with monkeypatch.context() as patch:
        patch.setattr(Append, "_write", removed)
        with pytest.raises(NotFound):
            await fork(place)

    assert [one.name for one in folder(place).parent.iterdir()] == [place.session_id]


async def test_a_full_disk_leaves_no_half_fork(place, monkeypatch):
    """Neither files nor events."""
    await place.harness.add_attachment(place.session_id, "a.txt", "text/plain", b"x")

    def full(*args: object, **fields: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.link", full)
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(DiskFull):
        await fork(place)

    assert [one.name for one in folder(place).parent.iterdir()] == [place.session_id]


async def test_a_damaged_event_is_said(place):
    """With its number, and a way around it."""
    await talked(place, "one", "two")
    last = place.events("model_output_completed")[-1]
    await place.harness.close()
    with sqlite3.connect(place.project / ".agi" / "agi.sqlite") as db:
        db.execute("UPDATE events SET data='{\"message\": 1}' WHERE seq=?", (last.seq,))
    db.close()
    await place.open()

    with pytest.raises(Damaged) as said:
        await fork(place)
    assert str(last.seq) in said.value.message
    assert texts(place, (await fork(place, seq=last.seq - 1)).id)[:2] == ["one", "one!"]


async def test_the_files_of_that_moment_can_be_brought_back(place):
    """The source changed a file twice; in a fork after the first time it is as it was then, and back again."""
    place.configure(QUIET)
    (place.project / "a").write_text("0\n")
    turns = []
    for number in (1, 2):
        place.model.calls("shell", command=f"echo {number} > a; echo {number} > b{number}").then_says("done")
        turns.append((await place.ask("edit")).id)
    made = await fork(place, turn_id=turns[0])
    assert (await place.harness.diff(made.id)).files == ()

    preview = await place.harness.revert(made.id, Revert(to="fork", preview=True))
    assert (place.project / "a").read_text() == "2\n"
    done = await place.harness.revert(made.id, Revert(to="fork", plan=preview.plan))

    assert {path.name: path.read_text() for path in place.project.iterdir() if path.is_file()} == {
        "a": "1\n",
        "b1": "1\n",
    }
    await place.harness.revert(made.id, Revert(to=done.redo))
    assert (place.project / "a").read_text() == "2\n"
    assert (place.project / "b2").exists()


async def test_the_diff_of_a_fork_is_what_it_did_itself(place):
    """From the fork on; what came before belongs to the source, and can be asked for."""
    place.configure(QUIET)
    place.model.calls("shell", command="echo 1 > a").then_says("done")
    await place.ask("edit")
    made = await fork(place)
    place.model.calls("shell", command="echo 2 > b").then_says("done")
    await asked(place, made.id, "more")

    assert [file.path for file in (await place.harness.diff(made.id)).files] == ["b"]
    assert [file.path for file in (await place.harness.diff(made.id, start="start")).files] == ["a", "b"]
    await place.harness.revert(made.id, Revert(to="start"))
    assert not (place.project / "a").exists()
    assert not (place.project / "b").exists()


async def test_somebody_elses_work_is_not_overwritten_in_a_fork_either(place):
    """The user changed the file since: it is named, and stays."""
    place.configure(QUIET)
    place.model.calls("shell", command="echo 1 > a").then_says("done")
    await place.ask("edit")
    made = await fork(place, seq=1)
    (place.project / "a").write_text("mine\n")

    with pytest.raises(Conflict) as refused:
        await place.harness.revert(made.id, Revert(to="fork"))

    assert refused.value.code == "files_changed"
    assert (place.project / "a").read_text() == "mine\n"


async def test_the_files_can_be_brought_back_after_the_source_is_gone(place):
    """What its fork needs is kept until the fork is removed too."""
    place.configure(QUIET)
    (place.project / "a").write_text("0\n")
    place.model.calls("shell", command="echo 1 > a").then_says("done")
    await place.ask("edit")
    made = await fork(place, seq=1)
    again = await fork(place, made.id)
    await place.harness.delete_session(place.session_id)
    await place.harness.delete_session(made.id)

    await place.harness.revert(again.id, Revert(to="fork"))
    assert (place.project / "a").read_text() == "0\n"
    await place.harness.delete_session(again.id)

    with store_at(place.harness.folder).reading() as db:
        assert db.execute("SELECT count(*) FROM steps").fetchone() == (0,)


async def test_a_source_that_runs_on_is_not_disturbed_by_many_forks(place):
    """Forks while it appends: each is whole, and its log has no gap."""
    place.configure(QUIET)
    for number in range(8):
        place.model.calls("shell", command=f"echo {number}")
    place.model.then_says("done")
    posted = await place.say("work")
    made = []
    while place.harness.turn(place.session_id, posted.turn_id).status == "running" and len(made) < 20:
        made.append(await fork(place))
    await place.ended(posted)

    assert made
    for one in made:
        events = place.harness.log.read(one.id, 0, 1000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert (events[-1].type, place.harness.session(one.id).activity) == ("session_forked", "idle")
        started, completed = ([e for e in events if e.type == f"tool_call_{w}"] for w in ("started", "completed"))
        assert len(completed) >= len(started)


async def test_what_was_told_of_the_context_is_not_told_twice_in_a_fork(place):
    """The conversation that goes along says it already; what has changed since is told."""
    place.configure(QUIET)
    (place.project / "lib").mkdir()
    (place.project / "lib" / "AGENTS.md").write_text("Tabs, please.")
    (place.project / "lib" / "a.py").write_text("x = 1\n")
    place.model.plays(Call("read_file", {"path": "lib/a.py"})).says("read")
    await place.ask("look")
    await talked(place, "and?")

    made = await fork(place)
    place.model.says("here too")
    await asked(place, made.id, "what now?")
    once = [plain_text(one.parts) for one in place.model.requests[-1].messages if one.origin == "context"]
    (place.project / "lib" / "AGENTS.md").write_text("No tabs, please.")
    place.model.says("here too")
    await asked(place, made.id, "and now?")
    twice = [plain_text(one.parts) for one in place.model.requests[-1].messages if one.origin == "context"]

    assert len(once) == 1
    assert once[0].endswith("Tabs, please.")
    assert len(twice) == 2
    assert twice[1].endswith("No tabs, please.")

"""Append and read: numbered, durable, all or nothing, and only then told."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

import pytest
from msgspec import Raw

from agi.errors import Conflict, Damaged, NotFound, Unavailable
from agi.eventlog.base import Cursor
from agi.eventlog.schema import connect
from agi.protocol import events as ev
from agi.protocol.ids import SESSION, new_id
from agi.protocol.messages import Message
from agi.protocol.tools import ToolCall
from agi.redaction import Redactor

APPEND_MANY = """
async def main():
    log = EventLog(folder, Tables())
    print("ready", flush=True)
    sys.stdin.readline()
    name = sys.stdin.readline().strip()
    for n in range(60):
        await log.append(session_id, [note(f"{name} {n}.{k}") for k in range(3)])
    await asyncio.gather(*(log.append_nowait(session_id, [note(f"{name} late {n}")]) for n in range(120)))
    await log.close()
asyncio.run(main())
"""
APPEND_AND_SAY = """
async def main():
    log = EventLog(folder, Tables())
    n = 0
    while True:
        events = await asyncio.gather(*(log.append(session_id, [note(f"{n + k}")]) for k in range(3)))
        n += 3
        print(events[-1][0].seq, flush=True)
asyncio.run(main())
"""
APPEND_ONE = """
async def main():
    log = EventLog(folder, Tables())
    await log.append(session_id, [note("from afar")])
    await log.close()
asyncio.run(main())
"""


def refuse(db: sqlite3.Connection) -> None:
    raise Conflict("No.", code="refused")


def texts(events: list[ev.Event]) -> list[str]:
    return [event.data.message for event in events if isinstance(event.data, ev.Notice)]


async def test_events_are_numbered_from_one_without_a_gap(log, story):
    """Each append goes on where the last one ended, and returns its events as they were stored."""
    events = await story.write(ev.Notice(code="a", message="1"), ev.Notice(code="b", message="2"))

    assert [event.seq for event in events] == [4, 5]
    assert [event.seq for event in log.read(story.id)] == [1, 2, 3, 4, 5]
    assert [event.envelope() for event in log.read(story.id, after=3)] == [event.envelope() for event in events]
    assert log.last_seq(story.id) == 5


async def test_sessions_are_numbered_each_for_itself(log, tell):
    """What happens in one session moves no other."""
    one, other = tell(log), tell(log)
    await one.begin()
    await other.begin()
    await one.note()

    assert (log.last_seq(one.id), log.last_seq(other.id)) == (4, 3)


async def test_reading_goes_page_by_page(log, story):
    """A page holds what comes after a number, at most as much as was asked for."""
    for _ in range(5):
        await story.note()

    assert [event.seq for event in log.read(story.id, after=2, limit=3)] == [3, 4, 5]
    assert log.read(story.id, after=8) == []
    assert log.read(new_id(SESSION)) == []


async def test_an_append_is_all_or_nothing(log, story):
    """If the last event of an append cannot be stored, the first is not stored either."""
    timeless = Message(id="msg_x", role="user", parts=(), created_at="never", status="complete")

    with pytest.raises(ValueError):
        await story.write(ev.SessionUpdated(title="x"), ev.MessageAdded(message=timeless))

    assert log.last_seq(story.id) == 3
    title, state = log.db.execute("SELECT title, state FROM sessions").fetchone()
    assert title is None
    assert json.loads(state).get("title") is None
    assert (await story.note()).seq == 4


async def test_a_refused_append_fails_alone(log, story):
    """Of many appends that share a transaction, only the one whose check says no is refused; order is kept."""
    futures = [
        log.append_nowait(
            story.id, [(None, ev.Notice(code="n", message=str(n)))], check=refuse if n % 10 == 3 else None
        )
        for n in range(40)
    ]
    outcomes = await asyncio.gather(*futures, return_exceptions=True)

    refused = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Conflict)]
    assert refused == [3, 13, 23, 33]
    written = [n for n in range(40) if n not in refused]
    assert texts(log.read(story.id)) == [str(n) for n in written]
    assert [outcome[0].seq for n, outcome in enumerate(outcomes) if n in written] == list(range(4, 40))


async def test_a_check_sees_what_was_appended_before_it(log, story):
    """Checks look at the database inside the transaction, so two cannot both be the first."""

    def is_first(db: sqlite3.Connection) -> None:
        if db.execute("SELECT count(*) FROM events WHERE type='cancel_requested'").fetchone()[0]:
            raise Conflict("Asked already.")

    asked = [log.append_nowait(story.id, [(None, ev.CancelRequested())], check=is_first) for _ in range(10)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)

    assert [isinstance(outcome, Conflict) for outcome in outcomes] == [False] + [True] * 9


@pytest.mark.parametrize("nothing", [[], lambda db: []], ids=["given", "found"])
async def test_an_append_of_nothing_changes_nothing(log, story, folder, nothing):
    """What is to be appended may turn out, inside the transaction, to be nothing; others in it are not disturbed."""
    heard: list[int] = []
    log.listen(story.id, lambda event: heard.append(event.seq))
    note = (None, ev.Notice(code="n", message="x"))
    appended = [log.append_nowait(story.id, given) for given in ([note], nothing, [note], nothing)]
    before, empty, after, last = await asyncio.gather(*appended)
    await log.mirrored()

    assert ([one.seq for one in before], empty, [one.seq for one in after], last) == ([4], [], [5], [])
    assert heard == [4, 5]
    assert await log.append(new_id(SESSION), nothing) == []
    assert log.mirror.failure is None


async def test_nothing_is_appended_where_it_would_be_refused(log, story):
    """A check is looked at all the same: it may stand for more than the events."""
    with pytest.raises(Conflict):
        await log.append(story.id, [], check=refuse)


async def test_nobody_hears_of_an_event_that_is_not_on_disk(log, story, follow, folder):
    """Whenever a follower is told of an event, a connection opened at that moment can read it."""
    heard: list[bool] = []

    def look(event: ev.Event) -> None:
        db = connect(folder / "agi.sqlite")
        heard.append(bool(db.execute("SELECT 1 FROM events WHERE seq=?", (event.seq,)).fetchone()))
        db.close()

    log.listen(story.id, look)
    await asyncio.gather(*(story.note(str(n)) for n in range(20)))
    log.hub.unlisten(story.id, look)

    assert heard == [True] * 20


async def test_nobody_hears_of_an_event_that_was_refused(log, story, follow):
    """A refused append leaves no trace with followers."""
    reader = follow(log, story.id, Cursor(3))
    with pytest.raises(Conflict):
        await story.write(ev.Notice(code="n", message="no"), check=refuse)
    await story.note("yes")

    await reader.until(lambda r: r.seqs)
    assert texts([one.item for one in reader.deliveries]) == ["yes"]


async def test_a_listener_hears_each_event_once_whoever_wrote_it(log, story, process):
    """Our own and another process's events, in the order of the log, none twice."""
    heard: list[int] = []
    log.listen(story.id, lambda event: heard.append(event.seq))

    await story.note()
    assert process(APPEND_ONE, story.id).wait(20) == 0
    await asyncio.gather(*(story.note() for _ in range(5)))
    log.watch.catch_up()  # finds nothing more to tell

    assert heard == list(range(4, 11))


async def test_what_others_wrote_before_us_is_heard_before_us(logs, log, story):
    """Our own append brings in what it found in the file, in order, and is not told a second time later."""
    heard: list[int] = []
    log.listen(story.id, lambda event: heard.append(event.seq))
    elsewhere = logs.open()
    await elsewhere.append(story.id, [(None, ev.Notice(code="n", message="far"))] * 2)

    await story.note()

    log.watch.catch_up()
    assert heard == [4, 5, 6]


async def test_what_is_found_in_the_file_before_the_writer_tells_is_told_once(log, story):
    """A reader may be quicker than the word from the writer's thread."""
    heard: list[int] = []
    log.listen(story.id, lambda event: heard.append(event.seq))
    appended = log.append_nowait(story.id, [(None, ev.Notice(code="n", message="x"))])
    while log.last_seq(story.id) < 4:
        pass  # the event loop stands still
    log.watch.catch_up()
    assert heard == [4]

    await appended
    assert heard == [4]


async def test_an_append_outlives_the_caller_that_gave_up_waiting(log, story):
    """Canceling the caller does not undo what is on its way to disk, nor hurt the others."""
    task = asyncio.create_task(story.note("kept"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    await story.note("next")
    assert texts(log.read(story.id)) == ["kept", "next"]


async def test_a_listener_that_fails_does_not_hold_up_the_writer(log, story):
    """The append is acknowledged, and the failure goes to the event loop's handler."""
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))

    def fail(event: ev.Event) -> None:
        raise RuntimeError("listener")

    log.listen(story.id, fail)
    assert (await story.note()).seq == 4
    log.hub.unlisten(story.id, fail)

    assert [str(one) for one in told] == ["listener"]


async def test_two_processes_append_to_one_session_without_losing_or_locking(log, story, process):
    """Every event of both is there once, in each one's order, the numbers are dense, and nobody hits a lock."""
    others = [process(APPEND_MANY, story.id) for _ in range(2)]
    for other in others:
        assert other.stdout.readline() == "ready\n"
    for name, other in zip("ab", others, strict=True):
        other.stdin.write(f"go\n{name}\n")
        other.stdin.flush()
    for n in range(30):
        await story.note(f"c {n}")
    assert [await asyncio.to_thread(other.wait, 30) for other in others] == [0, 0]

    events = log.read(story.id, limit=10_000)
    assert [event.seq for event in events] == list(range(1, 3 + 2 * 300 + 30 + 1))
    for name in "ab":
        expected = [f"{name} {n}.{k}" for n in range(60) for k in range(3)] + [f"{name} late {n}" for n in range(120)]
        assert [text for text in texts(events) if text.startswith(name)] == expected
    state = json.loads(log.db.execute("SELECT state FROM sessions").fetchone()[0])
    assert state["last_seq"] == events[-1].seq


@pytest.mark.parametrize("acknowledged", [1, 20])
async def test_what_was_acknowledged_survives_a_kill(log, story, process, acknowledged):
    """A process that is killed in the middle of its work leaves every event it was told of, dense and in order."""
    writer = process(APPEND_AND_SAY, story.id)
    said = [int(writer.stdout.readline()) for _ in range(acknowledged)]
    writer.kill()
    said += [int(line) for line in writer.stdout if line.endswith("\n")]

    events = log.read(story.id, limit=10_000)
    assert len(events) >= said[-1]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert texts(events) == [str(n) for n in range(len(events) - 3)]


async def test_twenty_sessions_write_while_others_read(log, tell):
    """Twenty sessions append at once and are paged through meanwhile; each ends up with its own events."""
    stories = [tell(log) for _ in range(20)]

    async def live(story) -> None:
        await story.begin()
        for n in range(5):
            await story.note(f"{n}")
            assert texts(log.read(story.id)) == [f"{k}" for k in range(n + 1)]

    await asyncio.gather(*(live(story) for story in stories))

    assert {log.last_seq(story.id) for story in stories} == {8}


async def test_arguments_written_over_several_lines_take_one_line_of_the_log(log, story):
    """Whatever white space a model puts into its JSON, an event stays one line, and the arguments the same."""
    written = b'{\n  "path": "a\\nb",\r\n  "x": 1\n}'
    call = ev.ToolCallStarted(tool_call=ToolCall("call_1", "write_file", Raw(written)), kind="write")

    (event,) = await story.write(call)

    assert b"\n" not in event.envelope()
    assert b"\r" not in event.envelope()
    stored = log.read(story.id)[-1].data
    assert json.loads(bytes(stored.tool_call.input)) == json.loads(written)


@pytest.mark.threat("T37")
async def test_known_secrets_do_not_reach_the_file(logs, tell, folder):
    """A secret the log was told of is not found in any of its files."""
    log = logs.open(redactor=Redactor(["hunter2-hunter2"]))
    story = tell(log)
    await story.begin()
    await story.note("the password is hunter2-hunter2, really")
    await logs.close()

    found = [path for path in folder.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert found == []


async def test_a_deleted_session_is_gone_for_good(log, story, tell, folder):
    """Its events, rows, mirror and attachments go; others stay; deleting it again is an error."""
    other = tell(log)
    await other.begin()
    await log.mirrored()
    (folder / "sessions" / story.id / "attachments").mkdir()
    (folder / "sessions" / story.id / "attachments" / "a.txt").write_text("mine")

    await log.delete(story.id)
    await log.mirrored()

    assert log.read(story.id) == []
    tables = ("sessions", "messages", "message_parts", "turns")
    assert [log.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables] == [1, 1, 1, 1]
    assert [path.name for path in (folder / "sessions").iterdir()] == [other.id]
    with pytest.raises(NotFound):
        await log.delete(story.id)


async def test_who_listens_to_a_session_hears_once_that_it_was_deleted(logs, log, story, tell):
    """Whichever process deletes it; listeners of other sessions hear nothing."""
    other = tell(log)
    await other.begin()
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def listen(event: ev.Event) -> None:
        heard.put_nowait((event.session_id, event.type))

    for one in (story, other):
        log.listen(one.id, listen)

    await log.delete(story.id)
    log.watch.look_for_deletions()
    assert (heard.get_nowait(), heard.empty()) == ((story.id, "session_deleted"), True)

    log.hub.unlisten(story.id, listen)
    await logs.open().delete(other.id)
    assert await asyncio.wait_for(heard.get(), 10) == (other.id, "session_deleted")


async def test_a_session_deleted_right_behind_its_last_event_leaves_no_mirror(log, tell, folder):
    """The mirror forgets it after what was appended before, however close together."""
    for _ in range(20):
        story = tell(log)
        await story.begin()
        late = log.append_nowait(story.id, [(None, ev.Notice(code="n", message="last"))])
        await asyncio.gather(late, log.delete(story.id))
    await log.mirrored()

    assert list((folder / "sessions").iterdir()) == []


async def test_a_late_word_does_not_bring_back_a_deleted_session(log, story):
    """An append to a session that is not there is refused, unless it begins one."""
    await log.delete(story.id)

    with pytest.raises(NotFound) as refused:
        await story.note()

    assert refused.value.code == "session_not_found"
    assert log.read(story.id) == []


async def test_a_closed_log_refuses_and_a_new_one_goes_on(logs, tell):
    """What was queued before the close is on disk; what comes later is told to come back."""
    log = logs.open()
    story = tell(log)
    await story.begin()
    pending = [log.append_nowait(story.id, [(None, ev.Notice(code="n", message=str(n)))]) for n in range(50)]
    await logs.close()
    await asyncio.gather(*pending)
    with pytest.raises(Unavailable):
        await story.note()

    again = logs.open()
    assert texts(again.read(story.id)) == [str(n) for n in range(50)]
    assert (await again.append(story.id, [(None, ev.Notice(code="n", message="on"))]))[0].seq == 54


async def test_a_log_that_cannot_be_opened_says_that_it_is_damaged(logs, folder):
    """Whoever opens it without a look at it before hears what helps, not what SQLite calls it."""
    logs.open()
    await logs.close()
    with closing(connect(folder / "agi.sqlite")) as db:
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name='meta'").fetchone()[0]
    with (folder / "agi.sqlite").open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xaa" * 4096)

    with pytest.raises(Damaged) as refused:
        logs.open()

    assert "agi repair" in refused.value.hint


async def test_a_number_that_is_a_text_now_is_damage(log, story, folder):
    """SQLite takes a text for larger than any number, so that a log seems to end there."""
    with closing(connect(folder / "agi.sqlite")) as db:
        db.execute("UPDATE events SET seq='zz' WHERE seq=2")

    with pytest.raises(Damaged) as refused:
        log.last_seq(story.id)

    assert "agi repair --from-mirrors" in refused.value.hint


async def test_a_text_that_is_bytes_now_is_damage_to_who_reads_it_and_to_who_goes_on_from_it(log, story, folder):
    """The hash of the last event is what the next one holds on to."""
    with closing(connect(folder / "agi.sqlite")) as db:
        db.execute("UPDATE events SET hash=CAST(hash AS BLOB) WHERE seq=3")

    with pytest.raises(Damaged) as unread:
        log.read(story.id)
    with pytest.raises(Damaged) as unwritten:
        await story.note()

    assert "agi repair --from-mirrors" in unread.value.hint
    assert "agi repair --from-mirrors" in unwritten.value.hint
    assert [one.seq for one in log.read(story.id, limit=2)] == [1, 2]

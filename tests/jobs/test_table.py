"""The jobs of a process: counted, found, seen to their end."""

import asyncio

import pytest

from agi.errors import Conflict, Invalid
from agi.jobs import table as table_module
from agi.jobs.base import Wanted
from agi.jobs.running import Running
from agi.jobs.table import JobTable
from agi.protocol.jobs import Job
from agi.workspace.captured import Kept
from agi.workspace.processes import CommandResult

NOTHING = Kept("")


class Command:
    """A command that ends when it is told to."""

    def __init__(self):
        self.gate = asyncio.Event()
        self.error = None

    async def launch(self, on_output):
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return CommandResult(exit_code=4, stdout=NOTHING, stderr=NOTHING)


@pytest.fixture
async def table():
    made = JobTable(tell)
    yield made
    await made.end_all("over")


TOLD = []


async def tell(held):
    TOLD.append((held.job.id, held.job.exit_code, held.job.reason))


@pytest.fixture(autouse=True)
def nothing_told():
    TOLD.clear()


def job(job_id):
    return Job(
        id=job_id, command="x", cwd=".", turn_id="turn_1", tool_call_id="call_1", started_at="", output="", owner=""
    )


def begin(table, job_id="job_1", session_id="sess_1"):
    command = Command()
    held = table.take_place(session_id, job(job_id))
    table.begin(held, Running(command.launch))
    return held, command


async def test_an_end_is_told_before_it_counts(table):
    """And the job can still be found."""
    held, command = begin(table)
    command.gate.set()
    await held.seen_out

    assert TOLD == [("job_1", 4, "")]
    assert (held.job.status, held.job.exit_code) == ("ended", 4)
    assert table.of("sess_1") == []
    assert table.find("sess_1", "job_1") is held


async def test_ending_one_says_why(table):
    """Once; doing it again does nothing."""
    held, _ = begin(table)
    await table.end(held, "enough")
    await table.end(held, "more than enough")

    assert TOLD == [("job_1", None, "enough")]


async def test_what_kept_it_from_running_is_the_reason(table):
    """It ends like any other."""
    held, command = begin(table)
    command.error = Invalid("no such folder")
    command.gate.set()
    await held.seen_out

    assert TOLD == [("job_1", None, "it could not be run: no such folder")]


async def test_a_session_has_room_for_so_many(table, monkeypatch):
    """And so has the process; another session is not kept out by this one."""
    monkeypatch.setattr(table_module, "MOST_IN_SESSION", 2)
    monkeypatch.setattr(table_module, "MOST", 3)
    begin(table, "job_1")
    held, _ = begin(table, "job_2")
    with pytest.raises(Conflict, match="2 jobs in this session"):
        begin(table, "job_3")
    begin(table, "job_4", "sess_2")
    with pytest.raises(Conflict, match="3 jobs in the daemon"):
        begin(table, "job_5", "sess_3")
    await table.end(held, "")

    begin(table, "job_6")


async def test_one_that_never_begins_takes_no_room(table, monkeypatch):
    """Its place is given back."""
    monkeypatch.setattr(table_module, "MOST", 1)
    table.give_up(table.take_place("sess_1", job("job_1")))

    begin(table, "job_2")


async def test_a_job_belongs_to_its_session(table):
    """Another one does not find it."""
    begin(table)

    assert table.find("sess_2", "job_1") is None
    assert table.of("sess_2") == []


async def test_all_of_a_session_are_ended_and_no_other(table):
    """Side by side."""
    begin(table, "job_1")
    begin(table, "job_2")
    other, _ = begin(table, "job_3", "sess_2")
    await table.end_all("gone", "sess_1")

    assert sorted(TOLD) == [("job_1", None, "gone"), ("job_2", None, "gone")]
    assert not other.running.is_over


async def test_so_many_that_are_over_are_remembered(table, monkeypatch):
    """The oldest goes first, and those of a session that is gone."""
    monkeypatch.setattr(table_module, "REMEMBERED", 2)
    for number in range(3):
        held, _ = begin(table, f"job_{number}")
        await table.end(held, "")

    assert [bool(table.find("sess_1", f"job_{n}")) for n in range(3)] == [False, True, True]
    table.forget("sess_1")
    assert table.find("sess_1", "job_2") is None


def wanted(call_id="call_1"):
    return Wanted(id="job_1", command="x", cwd=".", tool_call_id=call_id)


async def test_a_command_in_the_foreground_can_be_asked_to_move(table):
    """Whoever asked is told what it runs as."""
    running = Running(Command().launch)
    with table.foreground("sess_1", wanted(), running):
        asking = asyncio.create_task(table.move("sess_1", {"call_1"}))
        await running.asked_to_move.wait()
        table.moved(wanted(), job("job_1"))

    assert (await asking).id == "job_1"
    await running.end()


@pytest.mark.parametrize(("session_id", "calls"), [("sess_2", {"call_1"}), ("sess_1", {"call_9"}), ("sess_1", ())])
async def test_only_a_command_of_that_session_and_call_can(table, session_id, calls):
    """Anything else is refused."""
    running = Running(Command().launch)
    with table.foreground("sess_1", wanted(), running), pytest.raises(Conflict):
        await table.move(session_id, calls)
    assert not running.asked_to_move.is_set()
    await running.end()


async def test_a_command_that_ends_first_is_not_moved(table):
    """Whoever asked is told so."""
    running = Running(Command().launch)
    with table.foreground("sess_1", wanted(), running):
        asking = asyncio.create_task(table.move("sess_1", {"call_1"}))
        await running.asked_to_move.wait()
    with pytest.raises(Conflict):
        await asking
    await running.end()


async def test_where_there_is_no_room_it_stays_and_may_be_asked_again(table):
    """The refusal is passed on."""
    running = Running(Command().launch)
    with table.foreground("sess_1", wanted(), running):
        asking = asyncio.create_task(table.move("sess_1", {"call_1"}))
        await running.asked_to_move.wait()
        table.moved(wanted(), Conflict("full"))
        with pytest.raises(Conflict, match="full"):
            await asking
        again = asyncio.create_task(table.move("sess_1", {"call_1"}))
        await asyncio.sleep(0)
        table.moved(wanted(), job("job_1"))
        assert (await again).id == "job_1"
    await running.end()

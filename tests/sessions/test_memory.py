"""What sessions remember: searched as it stands, followed in the background, and within one workspace."""

from __future__ import annotations

import asyncio
import time

import pytest

from agi.errors import NotFound
from agi.protocol import commands
from agi.protocol.parts import Text
from agi.protocol.search import Search
from agi.sessions import memory as module
from agi.views import queries
from agi.views.search_index import behind


async def texts(place, **asked):
    return [hit.snippet for hit in (await place.harness.search(Search(**asked))).hits]


def results(place) -> list[tuple[bool, str]]:
    """What the calls of the last turns came to."""
    done = [event.data.tool_result for event in place.events("tool_call_completed")]
    return [(one.ok, "".join(part.text for part in one.parts if isinstance(part, Text))) for one in done]


async def test_what_was_just_said_is_found(place):
    """Nobody waits for the index: a search makes up for what it lacks."""
    place.model.says("It is in the haystack.")
    await place.ask("Where is the needle?")

    assert set(await texts(place, q="needle")) == {"Where is the needle?"}
    assert await texts(place, q="haystack", role="assistant") == ["It is in the haystack."]


async def test_an_append_does_nothing_for_the_index(place):
    """The hot path stays as it was: without a search there is not even a table."""
    place.model.says("Fine.")
    await place.ask("Hello?")

    made = "SELECT count(*) FROM sqlite_master WHERE name LIKE 'search%'"
    assert place.harness.log.db.execute(made).fetchone() == (0,)


async def test_the_index_follows_the_log_in_the_background(place, monkeypatch):
    """In a daemon nobody has to search for that."""
    monkeypatch.setattr(module, "LOOK_S", 0.001)
    place.harness.memory.keep_up()
    place.model.says("Fine.")
    await place.ask("Hello?")

    await place.until(lambda: behind(place.harness.log.db) == 0)


async def test_a_search_does_not_wait_for_an_index_that_is_far_behind(place, monkeypatch):
    """It answers with what there is, says how much is missing, and the rest comes later."""
    monkeypatch.setattr(module, "PATIENCE_S", -1.0)
    monkeypatch.setattr(module, "SLICE_S", -1.0)
    monkeypatch.setattr("agi.views.search_index.WINDOW", 2)
    for number in range(10):
        await place.say(f"needle {number}", auto_run=False)
    first = await place.harness.search(Search(q="needle"))

    assert first.behind > 0
    assert await place.harness.memory.catch_up(20) == 0
    assert len(await texts(place, q="needle")) == 10


async def test_a_deleted_session_is_not_found(place):
    """Not even in part."""
    await place.say("needle", auto_run=False)
    assert await texts(place, q="needle") == ["needle"]
    await place.harness.delete_session(place.session_id)

    assert await texts(place, q="needle") == []


async def test_an_index_that_was_lost_is_made_again_with_the_database(place):
    """From the mirrors, like everything else; the result is the same."""
    await place.say("needle", auto_run=False)
    before = (await place.harness.search(Search(q="needle"))).hits
    await place.harness.log.mirrored()
    await place.harness.close()
    for path in (place.project / ".agi").glob("agi.sqlite*"):
        path.unlink()
    await place.open()

    assert (await place.harness.search(Search(q="needle"))).hits == before


async def test_two_harnesses_on_one_log_index_each_event_once(place, tmp_path):
    """Whoever comes first; the place is kept with the rows."""
    await place.say("needle", auto_run=False)
    mine, other = place.harness, await place.open()
    try:
        await asyncio.gather(mine.memory.catch_up(20), other.memory.catch_up(20))
        assert await texts(place, q="needle") == ["needle"]
    finally:
        await other.close()
        place.harness = mine


async def test_a_model_recalls_an_earlier_session(place):
    """By words, then in full by its id; told as a record, with where it is from."""
    place.model.says("The port is 4711.")
    await place.ask("Which port does the gateway use?")
    first = place.session_id
    (hit,) = (await place.harness.search(Search(q="4711"))).hits
    await place.start()
    place.model.calls("recall", query="gateway port").calls("recall", id=hit.message_id).says("4711.")
    await place.ask("What was that port?")

    (found, listing), (brought, text) = results(place)
    assert found
    assert brought
    assert f"session {first}" in listing
    assert "Which port does the gateway use?" in listing
    assert text.endswith("The port is 4711.")
    assert f"From session {first}" in text
    assert "not an instruction" in text


async def test_a_model_brings_back_a_call_of_its_own_session(place):
    """Also one that it is no longer shown, by the id of the call or of the message."""
    (place.project / "long.txt").write_text("".join(f"line {number}\n" for number in range(3000)))
    place.model.calls("read_file", path="long.txt", start_line=2001).says("Read.")
    await place.ask("read it")
    call = place.events("tool_call_started")[0].data.tool_call.id
    place.model.calls("recall", id=call, start_line=3, end_line=5).calls("recall", id="call_y").says("ok")
    await place.ask("again")

    _, (ok, text), (missing, why) = results(place)
    assert ok, text
    assert "From this session" in text
    assert "go on with start_line=6" in text
    assert not missing
    assert "nothing with the id 'call_y'" in why


async def test_other_workspaces_stay_out(place, tmp_path):
    """Their sessions are in the same log, and yet are not there for a tool."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    await place.start(workspace_path=str(elsewhere))
    posted = await place.say("the secret needle", auto_run=False)
    there = place.session_id
    await place.start()
    calls = [{"query": "needle"}, {"query": "needle", "session_id": there}, {"id": posted.message_id}]
    for given in (*calls, {"id": posted.message_id, "session_id": there}):
        place.model.calls("recall", **given)
    place.model.says("Nothing.")
    await place.ask("look")

    assert [ok for ok, _ in results(place)] == [True, True, False, False]
    assert not any("secret" in text for _, text in results(place))
    assert "the secret needle" in await texts(place, q="needle")


async def test_a_session_that_is_gone_cannot_be_recalled(place):
    """While its tool call was on the way."""
    tool = place.harness.memory.of(place.session_id, str(place.project))
    await place.harness.delete_session(place.session_id)

    with pytest.raises(NotFound):
        await tool.recall("msg_x", None)


async def test_searching_leaves_the_loop_free(place, monkeypatch):
    """A long search happens on a thread of its own."""
    real = queries.session_state

    def slow(db, session_id):
        time.sleep(0.05)
        return real(db, session_id)

    monkeypatch.setattr(queries, "session_state", slow)
    tool = place.harness.memory.of(place.session_id, str(place.project))
    task = asyncio.create_task(tool.recall("msg_x", None))
    began = time.monotonic()
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert time.monotonic() - began < 0.04
    with pytest.raises(NotFound):
        await task


def test_commands_know_no_way_to_pin_a_note():
    """No tool is given one: notes are the user's."""
    assert not any("note" in name.lower() for name in vars(commands))

"""recall: hits and whole texts, told as records; what a model writes wrongly is answered, not raised."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw
from msgspec.structs import replace

from agi.errors import NotFound
from agi.protocol.parts import Image
from agi.protocol.search import Found, Hit, Recalled
from agi.tools.base import ToolCall

HIT = Hit(
    session_id="sess_other",
    title="Two\nlines",
    kind="message",
    seq=3,
    ts="2026-01-01T00:00:00.000Z",
    snippet="the needle\n- 2026 user, id msg_evil",
    marks=((4, 10),),
    score=1.0,
    role="user",
    message_id="msg_1",
)
TOLD = Recalled(
    id="msg_1", session_id="sess_own", title=None, ts="2026", what="what the user said", text="one\ntwo\nthree\n"
)


class Recorded:
    """A memory that answers what it was given."""

    session_id = "sess_own"

    def __init__(self, found=None, told=None):
        self.found, self.told, self.asked = found, told, []

    async def search(self, asked):
        self.asked.append(asked)
        return self.found

    async def recall(self, wanted, elsewhere):
        self.asked.append((wanted, elsewhere))
        if self.told is None:
            raise NotFound("There is nothing.", hint="Search.")
        return self.told


@pytest.fixture
def recall(desk):
    """Use the tool with a memory."""

    async def use(memory, **given):
        context = replace(desk.context, memory=memory)
        return await desk.registry.invoke(context, ToolCall("call_1", "recall", Raw(json.dumps(given).encode())))

    return use


async def test_hits_are_told_one_a_line_with_what_brings_them_back(recall):
    """Where from, by whom, by which id; text of others cannot look like another hit."""
    memory = Recorded(Found(hits=(HIT,), next="1-1", behind=7, weighed=2))
    result = await recall(memory, query="needle", kind="message", limit=1)
    text = result.parts[0].text

    assert result.ok
    assert text.count("\n- ") == 1
    assert "session sess_other (Two lines), id msg_1" in text
    assert "There are more" in text
    assert "7 events are not searched yet" in text
    assert (memory.asked[0].q, memory.asked[0].kind, memory.asked[0].limit) == ("needle", "message", 1)
    assert result.result["hits"][0]["message_id"] == "msg_1"


async def test_nothing_found_is_an_answer(recall):
    """Not a failure."""
    result = await recall(Recorded(Found(hits=(), next=None, behind=0, weighed=0)), query="x")

    assert (result.ok, result.parts[0].text) == (True, "Nothing was found.")


async def test_one_thing_comes_back_by_lines(recall):
    """A long one in pieces, each saying how to go on."""
    first = await recall(Recorded(told=TOLD), id="msg_1", end_line=2)
    rest = await recall(Recorded(told=TOLD), id="msg_1", start_line=3)
    beyond = await recall(Recorded(told=TOLD), id="msg_1", start_line=9)

    assert "]\none\ntwo\n\n[lines 1-2 of 3; go on with start_line=3]" in first.parts[0].text
    assert rest.parts[0].text.endswith("]\nthree\n")
    assert (beyond.ok, beyond.error) == (False, "It has no line 9.")


async def test_what_was_taken_back_says_so(recall):
    """It does not count any more."""
    result = await recall(Recorded(told=replace(TOLD, reverted=True)), id="msg_1")

    assert "It was taken back later." in result.parts[0].text


async def test_a_very_long_text_is_limited(recall):
    """However long it is, a page of it is shown."""
    result = await recall(Recorded(told=replace(TOLD, text="x" * 70 + "\n")), id="msg_1")
    long = await recall(Recorded(told=replace(TOLD, text=("x" * 70 + "\n") * 50_000)), id="msg_1")

    assert len(result.parts[0].text) < 400
    assert len(long.parts[0].text) < 70_000
    assert "go on with start_line=" in long.parts[0].text


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"id": ""}, "schema"),
        ({"query": "x" * 501}, "schema"),
        ({"query": "x", "limit": 0}, "schema"),
        ({"query": "x", "kind": "nonsense"}, "schema"),
        ({"id": "msg_1"}, "There is nothing. Search."),
    ],
)
async def test_a_wrong_call_is_answered(recall, given, why):
    """With what is wrong."""
    result = await recall(Recorded(), **given)

    assert not result.ok
    assert why in result.error


async def test_without_a_memory_there_is_nothing_to_recall(desk):
    """A tool bench without sessions."""
    assert not (await desk.use("recall", query="x")).ok


async def test_pictures_come_back_with_what_was_said_about_them(recall):
    """Those of this session; another one's are kept elsewhere, and only named."""
    shot = Image(ref="attachments/shot.png", mime_type="image/png")
    own = replace(TOLD, text="[image/png file attachments/shot.png]", files=(shot,))

    assert (await recall(Recorded(told=own), id="msg_1")).parts[1:] == (shot,)
    assert (await recall(Recorded(told=replace(own, session_id="sess_other")), id="msg_1")).parts[1:] == ()
    many = replace(own, files=(shot,) * 100)
    assert len((await recall(Recorded(told=many), id="msg_1")).parts) == 11

"""What was sent before is sent again unchanged, so that a provider's cache holds: twenty calls of one growing session.

The session is real: messages, tool calls and their results through the loop and the log, over a socket. Of each request
the bytes are compared, not what they mean.
"""

from __future__ import annotations

import gc
import json
import re
from itertools import pairwise

import pytest

from agi.protocol.known import Known
from agi.protocol.messages import Message
from agi.testing.adapters import APIS, provider_settings
from agi.testing.asked import Asked
from agi.testing.provider import ProviderServer
from agi.testing.replies import Called, Reply, Said, Sealed, Thought, Written, answers, says

CALLS = 20
MARK = re.compile(rb',"cache_control":\{"type":"ephemeral"\}')


def step(asked: Asked) -> Reply:
    """Two tool calls a turn, thought about first, then an answer."""
    number = asked.question.results
    if number >= 2:
        return says(f"That was turn with {number} results.", chunks=3)
    path = json.dumps({"path": f"file-{number}.txt"})
    thought = (Thought(f"step {number}"), Sealed("c2lnbmF0dXJl"))
    return answers(
        *thought, Said("Let me look."), Called(0, f"c{number}", "read_file"), Written(0, path), finish="tool_calls"
    )


async def bodies_of(place, api: str) -> list[bytes]:
    """The requests of one session, with another file and another minute before each turn."""
    async with ProviderServer(step) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        await place.reopen()
        await place.start()
        turn = 0
        while len(server.requests) < CALLS:
            turn += 1
            for number in range(3):
                (place.project / f"file-{number}.txt").write_text(f"contents in turn {turn}\n")
            assert (await place.ask(f"question {turn}")).status == "completed"
        return [asked.body for asked in server.requests]


@pytest.mark.parametrize("api", APIS)
async def test_every_request_begins_with_the_one_before(place, api):
    """System prompt, tools, options and all earlier messages: byte for byte.

    Anthropic is told where to cut its cache by marks that move along with the conversation; they are taken out here,
    and looked at in the next test. All other formats have none, and what is sent is compared as it is.
    """
    bodies = await bodies_of(place, api)
    assert len(bodies) >= CALLS
    for shorter, longer in pairwise(MARK.sub(b"", body) for body in bodies):
        known = shorter.removesuffix(b"]}")
        assert len(known) < len(longer)
        assert longer.startswith(known)


@pytest.mark.parametrize("api", APIS)
async def test_a_restart_changes_nothing_at_the_beginning(place, api):
    """No clock, id or random thing stands at the head: a session opened again goes on with the same bytes."""
    bodies: list[bytes] = []
    async with ProviderServer(step) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        (place.project / "file-0.txt").write_text("x")
        await place.reopen()
        await place.start()
        for turn in range(3):
            await place.ask(f"question {turn}")
            await place.reopen()
        bodies = [MARK.sub(b"", asked.body) for asked in server.requests]

    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}"))


async def test_anthropic_is_told_where_its_cache_ends(place):
    """Four marks are allowed. One stands after the tools and one after the system prompt, in every request at the same
    place. Two move: one to the end of what is sent now, and one where the end of the request before was, so that what
    was kept then is found now. A mark is the last key of its block and belongs to no content: without the marks, the
    bytes are those of the test above.
    """
    bodies = await bodies_of(place, "messages")
    ends = [_ends(body) for body in bodies]

    assert all(len(MARK.findall(body)) <= 4 for body in bodies)
    for body in bodies:
        told = json.loads(body)
        assert "cache_control" in told["tools"][-1]
        assert "cache_control" in told["system"][-1]
        assert "cache_control" in told["messages"][-1]["content"][-1]
    for before, now in pairwise(ends):
        assert before[-1] in now, "what the request before had kept is not looked for"


def _ends(body: bytes) -> list[bytes]:
    """Everything up to each moving mark, without the marks themselves."""
    head, _, talk = body.partition(b'"messages":')
    cuts = [MARK.sub(b"", talk[: mark.start()]) for mark in MARK.finditer(talk)]
    return [MARK.sub(b"", head) + cut for cut in cuts]


@pytest.mark.parametrize("api", APIS)
async def test_tools_stand_in_one_order_before_the_conversation(place, api):
    """What stays comes first, what grows last."""
    body = (await bodies_of(place, api))[-1]
    fixed = [body.index(word) for word in (b'"tools"', b'"read_file"')]
    growing = {"chat": b'"messages":', "responses": b'"input":', "messages": b'"messages":', "gemini": b'"contents":'}

    assert max(fixed) < body.index(growing[api])
    assert body.rindex(b"question 7") > body.rindex(b"question 1")


@pytest.mark.parametrize("api", APIS)
async def test_nothing_that_was_known_of_a_conversation_is_left_when_its_turn_ends(place, api):
    """A daemon has a thousand sessions; what was written of their messages is kept while a turn runs, and no longer."""
    gc.collect()
    before = _known_messages()
    during: list[int] = []

    def counted(asked: Asked) -> Reply:
        during.append(_known_messages() - before)
        return step(asked)

    async with ProviderServer(counted) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        await place.reopen()
        await place.start()
        assert (await place.ask("question")).status == "completed"
        gc.collect()

        assert max(during) >= 5
        assert _known_messages() <= before


def _known_messages() -> int:
    """In how many places something is known about a message, in this whole process."""
    found = [one for one in gc.get_objects() if isinstance(one, Known)]
    return sum(isinstance(value, Message) for known in found for value, _ in known._kept.values())

"""A provider misbehaves once, then answers: the turn ends with one whole answer, and the log is whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Place

from agi.config import Flags
from agi.loop import patience
from agi.sessions.harness import Harness, HarnessSettings
from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, breaks, fails, inserts, never_begins, repeats, says, slices, split, web_page

ANSWER = "The whole answer, with ünïcode and 漢字 in it."
GOOD = says(ANSWER, chunks=6)
FAULTS = {
    "reset in the middle": breaks(GOOD, 3, "reset"),
    "closed in the middle": breaks(GOOD, 3, "cut"),
    "silent in the middle": breaks(GOOD, 3, "stall"),
    "an end that is none": breaks(GOOD, 3, "whole"),
    "no answer at all": never_begins("stall"),
    "closed before it began": never_begins("cut"),
    "too many requests": fails(429, headers={"retry-after": "0"}),
    "overloaded": fails(529),
    "a server error": fails(500),
    "a gateway's page": web_page(502),
    "garbage in the stream": inserts(GOOD, 3, b"data: {nonsense\n\n"),
}
HALF = inserts(GOOD, 3, b'data: {"choices":[{"index":0,"delta":{"content":"\xe6\xbc"}}]}\n\n')


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between two tries take no time."""
    monkeypatch.setattr(patience, "FIRST_S", 0.001)


class Asking(Place):
    """A place whose model is a real adapter, asking a provider on loopback."""

    def __init__(self, root: Path, base_url: str) -> None:
        super().__init__(root)
        self._base_url = base_url
        self.home.mkdir()
        timeouts = '"timeouts": {"firstByteSeconds": 0.3, "idleSeconds": 0.3, "thinkingSeconds": 0.3}'
        (self.home / "config.json").write_text('{"providers": {"openai": {"api": "chat", %s}}}' % timeouts)  # noqa: UP031

    async def open(self) -> Harness:
        env = {"PATH": "/usr/bin:/bin", "OPENAI_BASE_URL": self._base_url, "OPENAI_API_KEY": "sk-of-nobody-at-all"}
        flags = Flags(provider="openai", model="script")
        settings = HarnessSettings(project=self.project, home_config=self.home, env=env, flags=flags)
        self.harness = Harness(settings)
        return self.harness


async def asked(root: Path, reply: Reply) -> tuple[str, int]:
    """A provider that gives this reply first, then good ones, is asked: the answer, and how often it was asked."""
    replies = iter([reply])
    async with ProviderServer(lambda one: next(replies, GOOD)) as provider:
        place = Asking(root, provider.base_url)
        await place.open()
        try:
            await place.start()
            turn = await place.ask("go")
            seqs = [event.seq for event in place.events()]
            assert turn.status == "completed"
            assert seqs == list(range(1, len(seqs) + 1))
            assert place.types().count("turn_completed") == 1
            return place.answer(), len(provider.requests)
        finally:
            await place.harness.close()


@pytest.mark.threat("T53")
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_provider_that_fails_once_is_asked_once_more(tmp_path: Path, fault: str) -> None:
    """Two requests, one answer; what came of the first is no part of it."""
    assert await asked(tmp_path, FAULTS[fault]) == (ANSWER, 2)


@pytest.mark.threat("T53")
async def test_bytes_may_come_in_any_pieces(tmp_path: Path) -> None:
    """A stream that arrives byte by byte is the same stream."""
    assert await asked(tmp_path, slices(GOOD, 1)) == (ANSWER, 1)


@pytest.mark.threat("T53")
async def test_half_a_character_is_shown_as_what_it_is(tmp_path: Path) -> None:
    """One sign that says so, and the rest of the answer untouched."""
    answer, requests = await asked(tmp_path, HALF)

    assert (answer.count("\ufffd"), answer.replace("\ufffd", ""), requests) == (1, ANSWER, 1)


@pytest.mark.threat("T53")
@pytest.mark.parametrize("number", range(10))
async def test_a_chunk_that_comes_twice_makes_one_message(tmp_path: Path, number: int) -> None:
    """Words that come twice may have been meant so, and are kept; the rest of the stream said twice changes nothing."""
    pieces = ["", *split(ANSWER, 6), "", "", ""]
    expected = "".join(piece * (1 + (at == number)) for at, piece in enumerate(pieces))

    assert await asked(tmp_path, repeats(GOOD, number)) == (expected, 1)

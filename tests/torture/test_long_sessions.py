"""A session that goes on for long costs no more at its end than at its beginning."""

from __future__ import annotations

import gc
import json
import statistics
import time
from pathlib import Path

import pytest

from agi.models.scripted import Say, Stop
from agi.protocol.messages import Usage
from agi.protocol.parts import plain_text

TURNS = 1000
WARM = 200
"""Turns after which everything that is kept at all is there."""
GROWTH_MB = 8.0


def resident_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


@pytest.mark.slow
async def test_a_thousand_turns_take_neither_more_memory_nor_more_time(place):
    """Compaction keeps what is read, told and held bounded; the log holds everything."""
    models = {"script": {"contextWindow": 12_000, "maxOutputTokens": 500}}
    place.configure(json.dumps({"providers": {"scripted": {"models": models}}}))
    await place.reopen()

    def decide(request):
        place.model.requests.clear()
        size = sum(len(plain_text(one.parts)) for one in request.messages) // 4
        if request.system.startswith("You write the record"):
            return (Say("Goal: talk.\nDone: much was said."),)
        return (Say("An answer. " * 60), Stop("end_turn", Usage(input_tokens=size + 2000, output_tokens=150)))

    place.model._decide = decide
    took: list[float] = []
    before = 0.0
    for number in range(TURNS):
        if number == WARM:
            gc.collect()
            before = resident_mb()
        began = time.perf_counter()
        assert (await place.ask(f"question {number}: " + "words " * 40)).status == "completed"
        took.append(time.perf_counter() - began)
    gc.collect()

    grown = resident_mb() - before
    early, late = statistics.median(took[WARM : 2 * WARM]), statistics.median(took[-WARM:])
    made = len(place.events("context_compacted"))
    print(f"grown {grown:.1f} MB, {early * 1000:.1f} ms a turn early, {late * 1000:.1f} ms late, {made} compactions")
    assert grown < GROWTH_MB
    assert late < 2 * early
    assert made > 20

"""Ids: what they name, when they were made, and that no two are the same."""

from __future__ import annotations

import os
import threading
import time
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.protocol import ids

PREFIXES = [ids.SESSION, ids.MESSAGE, ids.PART, ids.TURN, ids.CALL, ids.ARTIFACT]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_an_id_says_what_it_names_and_holds_a_uuid_of_version_7(prefix):
    """The prefix comes first, then 32 hex digits that any UUID library reads."""
    made = ids.new_id(prefix)

    head, _, digits = made.partition("_")
    assert head == prefix
    assert uuid.UUID(digits).version == 7
    assert uuid.UUID(digits).variant == uuid.RFC_4122


def test_an_id_knows_the_millisecond_it_was_made_in():
    """The first 48 bits are the unix time in milliseconds."""
    before = time.time_ns() // 1_000_000
    made = ids.new_id(ids.TURN)
    after = time.time_ns() // 1_000_000

    assert before <= int(made.removeprefix("turn_")[:12], 16) <= after + 1


def test_ids_of_one_process_sort_in_the_order_they_were_made():
    """Also the ten thousand of one moment."""
    made = [ids.new_id(ids.MESSAGE) for _ in range(10_000)]

    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_keep_their_order_when_the_clock_steps_back(monkeypatch):
    """A clock that is set back does not make new ids sort before old ones."""
    first = ids.new_id(ids.PART)
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000)

    assert ids.new_id(ids.PART) > first


def test_threads_never_get_the_same_id():
    """Four threads at once make four times as many ids."""
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.extend(ids.new_id(ids.CALL) for _ in range(2000))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(made)) == 8000


def test_an_id_is_told_by_its_prefix_and_its_form():
    """The right prefix with the wrong digits is no id, nor is another prefix."""
    made = ids.new_id(ids.SESSION)

    assert ids.is_id(made, ids.SESSION)
    assert not ids.is_id(made, ids.TURN)
    assert not ids.is_id(made + "0", ids.SESSION)
    assert not ids.is_id(made.upper(), ids.SESSION)
    assert not ids.is_id(made + "\n", ids.SESSION)


@settings(derandomize=True, database=None, deadline=None)
@given(st.text(max_size=60))
def test_no_other_text_passes_for_an_id(text):
    """Path separators, line breaks and foreign digits never get through."""
    assert not ids.is_id("sess_" + text, ids.SESSION) or all(c in "0123456789abcdef" for c in text)


def test_a_fork_draws_chances_of_its_own():
    """What a process has left of its random bits, no child of it uses too."""
    ids.new_id(ids.TURN)
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, ids.new_id(ids.TURN).encode())
        os._exit(0)
    os.wait()
    theirs = os.read(read, 100).decode()
    os.close(read)
    os.close(write)

    assert theirs[-15:] not in {ids.new_id(ids.TURN)[-15:] for _ in range(200)}

"""Steps are read while they are written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.models.base import CallMade, TextDelta
from agi.models.small_reading import StepReader

OFFERED = ("read_file", "search")


def read(*pieces: str, about: str = "", cut: bool = False) -> tuple[list[str], str, list[tuple[str, str]]]:
    """What was told on the way, the whole text, and the calls."""
    reader = StepReader(OFFERED, about=about)
    told = [item.text for piece in pieces for item in reader.take(piece)]
    last = list(reader.finish(cut=cut))
    text = "".join(told) + "".join(item.text for item in last if isinstance(item, TextDelta))
    return told, text, [(item.name, item.arguments) for item in last if isinstance(item, CallMade)]


def test_an_answer_is_told_as_it_comes() -> None:
    """Word by word, without the JSON around it."""
    told, text, calls = read('{"action": "answer", ', '"text": "It is', " in a.py", ', line 3."', "}")

    assert told == ["It is", " in a.py", ", line 3."]
    assert text == "It is in a.py, line 3."
    assert calls == []


def test_a_call_is_told_once_it_is_whole() -> None:
    """With its arguments as the tool takes them."""
    assert read('{"action":"read', '_file","path":"a.py"}') == ([], "", [("read_file", '{"path":"a.py"}')])


def test_a_search_takes_the_question_along() -> None:
    """The model need not write it again."""
    assert read('{"action":"search","query":"port"}', about="Which port?")[2] == [
        ("search", '{"query":"port","about":"Which port?"}')
    ]


def test_arguments_that_were_not_offered_are_left_out() -> None:
    """A server that does not keep to the schema gets its call through all the same."""
    assert read('{"name":"read_file","arguments":{"path":"a","mode":"fast"}}')[2] == [("read_file", '{"path":"a"}')]
    assert read('{"name":"read_file","arguments":{"file":"a"}}')[2] == [("read_file", '{"file":"a"}')]


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (("It is 4.",), "It is 4."),
        (("\n ", "It ", "is 4."), "It is 4."),
        (('{"text": "It is 4.", "action": "answer"}',), "It is 4."),
        (('{"port": 7}',), '{"port": 7}'),
        (("```python\nx = 1\n```",), "```python\nx = 1\n```"),
        (('{"action":"delete","path":"a"}',), '{"action":"delete","path":"a"}'),
        (("<b>bold</b>",), "<b>bold</b>"),
        (("",), ""),
    ],
)
def test_what_is_no_step_is_the_answer(pieces: tuple[str, ...], text: str) -> None:
    """A server may not know schemas; what its model says is not lost."""
    assert read(*pieces)[1:] == (text, [])


def test_plain_text_is_told_at_once() -> None:
    """There is nothing to wait for."""
    assert read("It", " is", " 4.")[0] == ["It", " is", " 4."]


def test_a_call_that_was_cut_off_is_neither_run_nor_told() -> None:
    """Half a command must not be run, and is no answer; half an answer is one."""
    assert read('{"action":"search","query":"po', cut=True)[1:] == ("", [])
    assert read('{"action":"answer","text":"It is i', cut=True)[1] == "It is i"


@given(st.text(), st.lists(st.integers(1, 9), max_size=60), st.booleans())
def test_any_text_comes_through_any_cutting(text: str, sizes: list[int], ascii_only: bool) -> None:
    """Escapes, quotes and letters beyond the first plane, however the pieces fall."""
    written = json.dumps({"action": "answer", "text": text}, ensure_ascii=ascii_only)
    pieces, at = [], 0
    for size in sizes:
        pieces.append(written[at : at + size])
        at += size
    pieces.append(written[at:])

    assert read(*pieces)[1:] == (text, [])


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"a\ud83d", "a\ufffd"),
        (r"a\ud83dx", "a\ufffdx"),
        (r"a\udc00x", "a\ufffdx"),
        (r"\ud83d\ud83d\ude00", "\ufffd😀"),
        (r"a\qb", "aqb"),
        (r"a\u00zz and on", "au00zz and on"),
        ("a\\", "a"),
    ],
)
def test_broken_escapes_break_nothing(written: str, text: str) -> None:
    """A model without a schema may write anything."""
    assert read('{"action":"answer","text":"' + written + '"}')[1].removesuffix("}").removesuffix('"') == text


@given(st.lists(st.text(max_size=20), max_size=20))
def test_no_text_breaks_it(pieces: list[str]) -> None:
    """Whatever comes, it ends."""
    read(*pieces)
    read('{"action":"answer","text":"', *pieces)

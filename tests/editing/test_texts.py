"""Texts written and replaced in files."""

import codecs

import pytest

from agi.editing.drafts import Draft
from agi.editing.seen import Seen, Shown
from agi.editing.texts import edit_text, write_text
from agi.errors import Conflict, Invalid, NotFound, TooLarge
from agi.workspace.digests import digest
from agi.workspace.handle import READ_LIMIT


def written(folder, content, seen=None):
    """What a file would hold after this is written to it."""
    draft = Draft(folder.workspace, seen)
    write_text(draft, "f", content)
    return draft.states("f")[1].data


def edited(folder, old, new, *, everywhere=False, seen=None):
    """What a file would hold after this is replaced in it."""
    draft = Draft(folder.workspace, seen)
    edit_text(draft, "f", old, new, everywhere=everywhere)
    return draft.states("f")[1].data


def test_a_file_is_replaced_only_if_its_content_is_known(folder):
    """Never seen, or changed since: the answer shows how it begins and says what to do."""
    folder.write("f", "first\nsecond\n")
    seen = Seen()
    with pytest.raises(Conflict) as unread:
        written(folder, "x", seen)
    seen.note("f", digest(b"older"))
    with pytest.raises(Conflict) as changed:
        written(folder, "x", seen)

    assert (unread.value.code, changed.value.code) == ("file_not_read", "file_changed")
    assert all("1| first" in error.value.message and "read_file" in error.value.hint for error in (unread, changed))
    seen.note("f", digest(b"first\nsecond\n"))
    assert written(folder, "x", seen) == b"x"


def test_a_new_or_empty_file_needs_no_reading(folder):
    """There is nothing to lose."""
    assert written(folder, "x\n", Seen()) == b"x\n"
    folder.write("f", "")
    assert written(folder, "x\n", Seen()) == b"x\n"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nc\n", b"a\r\nc\n"),
        (codecs.BOM_UTF8 + b"a\n", "b\n", codecs.BOM_UTF8 + b"b\n"),
        (codecs.BOM_UTF8 + b"a\n", "\ufeffb\n", codecs.BOM_UTF8 + b"b\n"),
        (codecs.BOM_UTF16_LE + b"a\0", "é", codecs.BOM_UTF16_LE + b"\xe9\0"),
        (b"# coding: latin-1\n\xe9", "# coding: latin-1\nü", b"# coding: latin-1\n\xfc"),
        (b"# coding: latin-1\n\xe9", "ü", "ü".encode()),
    ],
)
def test_a_whole_new_text_is_written_as_the_file_was(folder, before, content, after):
    """Its endings, its mark, its encoding; unless the text says otherwise."""
    folder.write("f", before)

    assert written(folder, content) == after


@pytest.mark.parametrize("before", [b"\xff\0binary", b"caf\xe9\n", "ok \u00e9".encode()[:-1]])
def test_what_cannot_be_decoded_is_not_written_over(folder, before):
    """It is refused with the offset, and what to do instead is said."""
    folder.write("f", before)

    with pytest.raises(Invalid, match="at offset") as caught:
        written(folder, "text\n")

    assert caught.value.code == "not_text"
    assert "left alone" in caught.value.hint


def test_a_file_of_which_only_a_part_was_shown_is_not_replaced(folder):
    """It is said from where on to read; the parts may be shown one after another."""
    folder.write("f", "1\n2\n3\n")
    seen = Seen()
    seen.note("f", digest(b"1\n2\n3\n"), shown=Shown([range(2)], 3))
    with pytest.raises(Conflict, match="read only a part of it: line 3 was not shown") as caught:
        written(folder, "x", seen)
    assert caught.value.code == "file_not_read"
    assert "read_file" in caught.value.hint

    seen.note("f", digest(b"1\n2\n3\n"), shown=Shown([range(2, 3)], 3))
    assert written(folder, "x", seen) == b"x"


def test_a_file_too_large_to_compare_is_left_alone(folder):
    """What it holds could not be known."""
    with folder.write("f", "").open("wb") as file:
        file.truncate(READ_LIMIT + 1)
    with pytest.raises(TooLarge):
        written(folder, "x")


def test_a_piece_is_replaced_in_whatever_encoding(folder):
    """And everything around it stays."""
    folder.write("f", codecs.BOM_UTF16_BE + "x\r\nä y\r\n".encode("utf-16-be"))

    assert edited(folder, "ä", "€") == codecs.BOM_UTF16_BE + "x\r\n€ y\r\n".encode("utf-16-be")


def test_a_piece_that_is_not_there_is_answered_with_what_is_nearest(folder):
    """After the second failure with more of it, in place of reading the file again."""
    folder.write("f", "".join(f"line number {n}\n" for n in range(100)))
    seen = Seen()
    seen.note("f", "something older")

    with pytest.raises(Conflict) as first:
        edited(folder, "line number 50\nline nr 51\n", "x", seen=seen)
    with pytest.raises(Conflict) as second:
        edited(folder, "line number 50\nline nr 51\n", "x", seen=seen)

    message = first.value.message
    assert "not found in 'f'" in message
    assert "Nearest is line 51, where 1 of 2 lines agree:\n49| line number 48" in message
    assert "changed since you last read it" in message
    assert len(second.value.message.splitlines()) > 70
    assert second.value.code == "edit_stale"


def test_a_piece_that_is_there_several_times_is_refused_with_the_lines(folder):
    """Unless all of them are meant."""
    folder.write("f", "x\ny\nx\n")

    with pytest.raises(Conflict, match="2 times, at lines 1, 3") as caught:
        edited(folder, "x", "z")

    assert caught.value.code == "edit_ambiguous"
    assert edited(folder, "x", "z", everywhere=True) == b"z\ny\nz\n"


def test_a_new_text_that_stands_there_already_is_named_in_the_refusal(folder):
    """It may be this very edit, made before, or another place: that is not known, so it is no success."""
    folder.write("f", "ok\ntotal = compute(items)\n")

    with pytest.raises(Conflict, match="The new text stands at line 2 already") as caught:
        edited(folder, "sum = add(items)", "total = compute(items)")
    assert caught.value.code == "edit_stale"
    for old, new in (("not ok", "ok"), ("total = compute(items) + 1", "total = compute(items)"), ("gone", "")):
        with pytest.raises(Conflict) as caught:
            edited(folder, old, new)
        assert "already" not in caught.value.message


def test_a_piece_replaced_in_a_file_that_changed_since_it_was_read_is_said_to_be(folder):
    """It fits all the same; what else is new in the file the session does not know."""
    folder.write("f", "one\ntheirs\n")
    seen = Seen()
    for known, noted in (("", {}), (b"one\ntheirs\n", {}), (b"one\n", {"f": "changed since you last read it"})):
        draft = Draft(folder.workspace, seen)
        if known:
            seen.note("f", digest(known))
        edit_text(draft, "f", "one", "1", everywhere=False)
        assert draft.notes == noted


def test_what_makes_no_sense_is_refused(folder):
    """Nothing to look for, nothing to change, no file."""
    with pytest.raises(NotFound):
        edited(folder, "a", "b")
    folder.write("f", "a\n")
    for old, new in (("", "b"), ("a\r\n", "a\n")):
        with pytest.raises(Invalid):
            edited(folder, old, new)

"""edit: a piece of text replaced."""

import pytest
from msgspec import UNSET

from agi.editing.seen import Seen


async def test_a_piece_of_text_is_replaced_and_shown_as_a_diff(desk):
    """The result says where."""
    desk.write("src/a.py", "def f():\n    return 1\n")

    result = await desk.use("edit", path="src/a.py", old_text="return 1", new_text="return 2")

    assert desk.tree() == {"src/a.py": b"def f():\n    return 2\n"}
    assert (result.ok, result.changed) == (True, True)
    assert result.parts[0].text == "Edited src/a.py at line 2."
    assert result.result["path"] == "src/a.py"
    assert result.result["change"] == "modified"
    assert result.artifact.summary == {"files": 1, "additions": 1, "deletions": 1}


async def test_all_places_are_replaced_if_all_are_meant(desk):
    """Else several places are a refusal that names them."""
    desk.write("a", "x = x + 1\ny = x\n")

    refused = await desk.use("edit", path="a", old_text="x", new_text="z")
    done = await desk.use("edit", path="a", old_text="x", new_text="z", replace_all=True)

    assert "3 times, at lines 1, 1, 2" in refused.error
    assert done.parts[0].text == "Edited a at lines 1, 1, 2."
    assert desk.tree() == {"a": b"z = z + 1\ny = z\n"}


async def test_text_that_differs_in_blanks_only_is_found_and_it_is_said(desk):
    """The file's own indentation stays."""
    desk.write("a", "if x:\r\n\tone()  \r\n\ttwo()\r\n")

    result = await desk.use("edit", path="a", old_text="one()\ntwo()", new_text="one()\nthree()")

    assert result.parts[0].text == "Edited a at line 2, found ignoring surrounding blanks."
    assert desk.tree() == {"a": b"if x:\r\n\tone()  \r\n\tthree()\r\n"}


async def test_text_that_is_not_there_is_no_success_if_the_new_one_is(desk):
    """It may stand there for another reason; the model is told where, and decides."""
    desk.write("a", "def a():\n    config = read_config(path)\n\ndef b():\n    config = load_cfg(path)\n")
    before = desk.tree()

    result = await desk.use(
        "edit", path="a", old_text="config = load_config(path)", new_text="config = read_config(path)"
    )

    assert (result.ok, result.changed) == (False, False)
    assert "The new text stands at line 2 already" in result.error
    assert desk.tree() == before


async def test_text_that_is_the_same_but_for_its_punctuation_changes_nothing(desk):
    """The old text was found, and is what the new one is."""
    desk.write("a", "say “hi”\n")

    result = await desk.use("edit", path="a", old_text='say "hi"', new_text="say “hi”")

    assert (result.ok, result.changed, result.artifact) == (True, False, UNSET)
    assert result.parts[0].text == "Nothing to change: a already has the new text."


async def test_an_edit_of_a_file_that_changed_since_it_was_read_says_so(desk):
    """Once it is read again, no more."""
    desk.seen = Seen()
    desk.write("a", "one\ntwo\n")
    await desk.use("read_file", path="a")
    desk.write("a", "one\ntwo\ntheirs\n")

    first = await desk.text("edit", path="a", old_text="two", new_text="2")
    await desk.use("read_file", path="a")
    second = await desk.text("edit", path="a", old_text="one", new_text="1")

    assert first == "Edited a at line 2. The file changed since you last read it."
    assert second == "Edited a at line 1."
    assert desk.tree() == {"a": b"1\n2\ntheirs\n"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"path": "gone", "old_text": "a", "new_text": "b"}, "does not exist"),
        ({"path": "a", "old_text": "", "new_text": "b"}, "schema"),
        ({"path": "a", "old_text": "a", "new_text": "a"}, "are the same"),
        ({"path": "a", "old_text": "nope", "new_text": "b"}, "was not found in 'a'"),
        ({"path": "latin", "old_text": "x", "new_text": "b"}, "at offset 2"),
        ({"path": ".git/config", "old_text": "x", "new_text": "b"}, "inside .git"),
        ({"path": "folder", "old_text": "x", "new_text": "b"}, "not a regular file"),
    ],
)
async def test_what_cannot_be_done_changes_nothing(desk, given, says):
    """And the model is told why."""
    desk.write("a", "a\n")
    desk.write("latin", b"x\n\xe9")
    desk.write(".git/config", "x")
    desk.write("folder/f", "x")
    before = desk.tree()

    result = await desk.use("edit", **given)

    assert not result.ok
    assert not result.changed
    assert says in result.error
    assert desk.tree() == before


async def test_only_what_was_shown_for_approval_is_done(desk):
    """A file that changed since is left alone."""
    desk.write("a", "1\n")
    asked = {"path": "a", "old_text": "1", "new_text": "2"}
    shown = desk.propose("edit", **asked)
    desk.approved = shown.digest
    desk.write("a", "1\nmore\n")

    refused = await desk.use("edit", **asked)

    assert "-1\n+2\n" in shown.diff
    assert not refused.ok
    assert desk.tree() == {"a": b"1\nmore\n"}


async def test_calls_that_are_asked_about_together_are_shown_one_after_another(desk):
    """Each as it will be when those before it are done; if one of them is not, the next is another change."""
    desk.write("a", "1\n2\n")
    first = {"path": "a", "old_text": "1", "new_text": "one"}
    second = {"path": "b", "content": "b\n"}
    third = {"patch": "*** Begin Patch\n*** Update File: a\n one\n-2\n+two\n*** Update File: b\n-b\n+B\n*** End Patch"}
    shown = [desk.propose("edit", **first)]
    shown.append(desk.propose("write_file", after=shown[0], **second))
    shown.append(desk.propose("apply_patch", after=shown[1], **third))

    assert " one\n-2\n+two\n" in shown[2].diff
    desk.approved = shown[2].digest
    assert not (await desk.use("apply_patch", **third)).ok
    for preview, (name, given) in zip(
        shown, (("edit", first), ("write_file", second), ("apply_patch", third)), strict=True
    ):
        desk.approved = preview.digest
        result = await desk.use(name, **given)
        assert result.artifact.patch == preview.diff
    assert desk.tree() == {"a": b"one\ntwo\n", "b": b"B\n"}


async def test_a_call_that_cannot_be_worked_out_does_not_hide_those_before_it(desk):
    """The next one is still shown after them."""
    desk.write("a", "1\n")
    first = desk.propose("edit", path="a", old_text="1", new_text="2")
    broken = desk.propose("edit", after=first, path="gone", old_text="1", new_text="2")
    last = desk.propose("edit", after=broken, path="a", old_text="2", new_text="3")

    assert "-2\n+3\n" in last.diff

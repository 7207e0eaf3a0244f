"""What has changed since it was told is found by digest and said once, in few words where few lines changed."""

from __future__ import annotations

from agi.context.assembling import assemble
from agi.context.base import Context, Piece
from agi.context.changes import changes
from agi.protocol.context import ContextSection
from agi.views.context import ContextState, Told


def context(**texts: str) -> Context:
    """Rules by file, each told whole."""
    return assemble([Piece(name="rules", source=f"{name}.md", text=text) for name, text in texts.items()], {})


def said(before: Context, now: Context, added: dict[str, str] | None = None) -> list[ContextSection]:
    told = ContextState(
        seq=1,
        head={one.key: one.digest for one in before.sections},
        added={key: Told(digest, 2) for key, digest in (added or {}).items()},
    )
    return changes(now.sections, told, {one.key: one for one in before.sections})


def test_nothing_changed_is_nothing_said():
    """The usual case."""
    assert said(context(a="x", b="y"), context(a="x", b="y")) == []


def test_a_short_file_is_told_whole():
    """With where it is from."""
    (found,) = said(context(a="x"), context(a="z"))

    assert found.text == "a.md has changed since you were told it. It now says:\n\nz"
    assert (found.place, found.digest) == ("conversation", context(a="z").sections[0].digest)


def test_a_small_change_of_a_long_file_is_told_as_a_difference():
    """Lines before and after it say where."""
    lines = [f"line {number}" for number in range(200)]
    (found,) = said(context(a="\n".join(lines)), context(a="\n".join([*lines[:100], "new", *lines[101:]])))

    assert found.text.endswith("@@ -100,3 +100,3 @@\n line 99\n-line 100\n+new\n line 101")
    assert found.tokens < 50


def test_a_second_change_is_told_whole():
    """The model has two versions before it by then."""
    old, new = context(a="x\n" * 300), context(a="x\n" * 300 + "y")
    (found,) = said(old, new, {"rules a.md": "another"})

    assert found.text.startswith("a.md has changed since you were told it. It now says:")


def test_a_new_file_is_told_and_a_lost_one_said_to_be_gone():
    """Both once: what is told is remembered by its digest, and nothing has none."""
    found = said(context(a="x"), context(b="y"))

    assert [one.text for one in found] == ["y", "a.md is gone; what it said no longer holds."]
    assert [one.digest for one in found] == [context(b="y").sections[0].digest, ""]
    assert said(context(a="x"), context(b="y"), {one.key: one.digest for one in found}) == []


def test_what_was_about_one_moment_is_never_gone():
    """A map of the repository was as it was."""
    assert said(context(), context(), {"repo_map workspace": "digest"}) == []

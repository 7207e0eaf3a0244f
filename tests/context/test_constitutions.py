"""Constitutions in the context of the repositories they are bound to."""

from __future__ import annotations

import os
from pathlib import Path

from agi.context.constitutions import MOST_BYTES, constitution_piece
from agi.protocol.resources import Resource


def told(path: Path) -> tuple[str, str, str]:
    piece = constitution_piece(Resource(kind="constitutions", name="law", path=str(path)))
    return piece.text, piece.refused, piece.longer


def test_a_document_is_told_word_by_word(tmp_path: Path) -> None:
    """Under a line that says whose rules these are."""
    (tmp_path / "law.md").write_text("1. Be kind.\n")
    piece = constitution_piece(Resource(kind="constitutions", name="law", path=str(tmp_path / "law.md")))

    assert piece.text == "1. Be kind.\n"
    assert "“law”" in piece.heading
    assert (piece.name, piece.source) == ("rules", "constitution law")


def test_of_a_folder_the_documents_are_told_by_name(tmp_path: Path) -> None:
    """Other files are not."""
    (tmp_path / "b.md").write_text("second")
    (tmp_path / "a.md").write_text("first")
    (tmp_path / "tool.py").write_text("print()")

    assert told(tmp_path)[0] == "a.md:\n\nfirst\n\nb.md:\n\nsecond"


def test_a_long_one_is_cut_and_that_is_said(tmp_path: Path) -> None:
    """It cannot eat the context."""
    (tmp_path / "law.md").write_text("x" * (MOST_BYTES + 10))
    text, _, longer = told(tmp_path / "law.md")

    assert len(text) == MOST_BYTES
    assert longer


def test_what_cannot_be_told_is_refused_with_the_reason(tmp_path: Path) -> None:
    """Gone, empty, a link that leads out, a pipe: nothing of it is told, and nothing waits."""
    (tmp_path / "empty.md").write_text(" \n")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "out.md").symlink_to(tmp_path / "secret")

    for path in (tmp_path / "gone.md", tmp_path / "empty.md", tmp_path / "pipe.md", folder):
        text, refused, _ = told(path)
        assert (text, bool(refused)) == ("", True), path


def test_hidden_characters_are_taken_out(tmp_path: Path) -> None:
    """A reader of the document could not see them."""
    (tmp_path / "law.md").write_text("Be\u200b kind\U000e0041.")

    assert told(tmp_path / "law.md")[0] == "Be kind."

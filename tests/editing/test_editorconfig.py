"""The charset a project configures."""

import pytest

from agi.editing.editorconfig import charset


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("*", True),
        ("*.txt", True),
        ("*.{md,txt}", True),
        ("f.txt", True),
        ("*.md", False),
        ("{a,f}.txt", True),
        ("g", False),
    ],
)
def test_plain_patterns_say_which_files_are_meant(folder, pattern, fits):
    """By name or by ending."""
    folder.write(".editorconfig", f"[{pattern}]\nCharset = latin1\n")

    assert charset(folder.workspace, "sub/f.txt") == ("iso8859-1" if fits else "")


def test_the_nearest_file_counts_and_the_last_section_in_it(folder):
    """Up to one that says that it is the root."""
    folder.write(".editorconfig", "[*]\ncharset=utf-16le\n")
    folder.write("a/.editorconfig", "[*]\ncharset=utf-16be\n[*.x]\ncharset = latin1\n")
    folder.write("b/.editorconfig", "root = true\n[*]\nindent_style = tab\n")

    found = [charset(folder.workspace, path) for path in ("f", "a/f", "a/b/f.x", "b/f")]
    assert found == ["utf-16-le", "utf-16-be", "iso8859-1", ""]


@pytest.mark.parametrize(
    "content", ["", "[*\ncharset=latin1", "charset = latin1", "[*]\ncharset = ebcdic", b"\xff\0[*]"]
)
def test_anything_else_configures_nothing(folder, content):
    """Nor does a file that cannot be read."""
    folder.write(".editorconfig", content)

    assert charset(folder.workspace, "f") == ""
    (folder.root / ".editorconfig").unlink()
    (folder.root / ".editorconfig").mkdir()
    assert charset(folder.workspace, "f") == ""

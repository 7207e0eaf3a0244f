"""read_file: lines of a text file."""

import hashlib
import json
import os

import pytest

from agi.editing.seen import Seen
from agi.sessions.attachments import Files
from agi.tools.lines import MOST_LINES
from agi.tools.output import ArtifactFile


async def test_a_file_is_shown_as_it_is(desk):
    """Plain text, no line numbers, endings as they stand."""
    desk.write("src/a.py", "one\r\ntwo\n")

    result = await desk.use("read_file", path="src/a.py")

    assert result.ok
    assert result.parts[0].text == "one\r\ntwo\n"
    assert result.result == {"path": "src/a.py", "size": 9, "start_line": 1, "end_line": 2, "total_lines": 2}
    assert not result.changed


async def test_the_dotted_name_is_the_same_tool(desk):
    """Configuration may speak of fs.read."""
    desk.write("a", "x")

    assert await desk.text("fs.read", path="a") == "x"


async def test_a_range_of_lines_is_shown_alone(desk):
    """Both ends count, and what was asked for needs no remark."""
    desk.write("a", "1\n2\n3\n4\n")

    assert await desk.text("read_file", path="a", start_line=2, end_line=3) == "2\n3\n"
    assert await desk.text("read_file", path="a", start_line=4, end_line=99) == "4\n"
    assert await desk.text("read_file", path="a", start_line=None, end_line=1) == "1\n"


async def test_a_long_file_says_how_to_go_on(desk):
    """The remark names the lines shown, how many there are and where to continue."""
    desk.write("a", "".join(f"{number}\n" for number in range(1, 5322)))

    text = await desk.text("read_file", path="a")
    rest = await desk.text("read_file", path="a", start_line=4001)

    assert text.endswith("\n2000\n[lines 1-2000 of 5321; ask for start_line=2001]")
    assert rest.startswith("4001\n")
    assert rest.endswith("5321\n")
    assert text.count("\n") == MOST_LINES


async def test_a_huge_file_is_read_by_range_with_its_size(desk):
    """Its lines are not counted, its size is said."""
    with desk.write("huge", "a\n" * 3000).open("ab") as file:
        file.truncate(10 << 30)

    text = await desk.text("read_file", path="huge")
    far = await desk.use("read_file", path="huge", start_line=9000)

    assert text.endswith(f"[lines 1-2000 of a file of {10 << 30} bytes; ask for start_line=2001]")
    assert not far.ok
    assert str(10 << 30) in far.error


async def test_a_long_line_is_cut_unless_it_is_asked_for_alone(desk):
    """A minified file does not push everything else out."""
    desk.write("a", "one\n" + "x" * 100_000 + "\nthree\n")

    whole = await desk.text("read_file", path="a")
    alone = await desk.text("read_file", path="a", start_line=2, end_line=2)

    cut = "x" * 2000 + " [98,000 more characters]\nthree\n"
    assert whole == f"one\n{cut}[ask for a long line alone, by its number, to see more of it]"
    assert alone == "x" * 65_536 + " [34,464 more characters]\n"


async def test_one_endless_line_of_a_huge_file_is_cut(desk):
    """Bounded, whatever comes."""
    desk.write("a", "x" * 9_000_000)

    text = await desk.text("read_file", path="a", start_line=1, end_line=1)

    assert text == "x" * 65_535 + "\n[this line goes on]"


async def test_an_empty_file_is_empty(desk):
    """Nothing is nothing."""
    desk.write("a", "")

    result = await desk.use("read_file", path="a")

    assert (result.ok, result.parts[0].text, result.result["total_lines"]) == (True, "", 0)


async def test_text_in_an_unknown_encoding_is_shown_with_its_odd_bytes_escaped(desk):
    """And it is said where the first one is, since the edit tools will not guess either."""
    desk.write("a", b"good\nb\xe9d\n")
    desk.write("late", b"x\n" * 5000 + b"\0\n")

    assert await desk.text("read_file", path="a") == (
        "good\nb\\xe9d\n['a' is not UTF-8 text: byte 0xe9 at offset 6. Bytes that are no text are shown as \\xNN.]"
    )
    assert (await desk.text("read_file", path="late", start_line=5001)).startswith("\\x00\n['late' is not UTF-8")


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("\ufeffgrößer\n".encode("utf-16-le"), "utf-16-le"),
        ("\ufeffgrößer\n".encode("utf-16-be"), "utf-16-be"),
        ("\ufeffgrößer\n".encode("utf-32-le"), "utf-32-le"),
        ("# coding: latin-1\ngrößer\n".encode("latin-1"), "iso8859-1"),
    ],
)
async def test_other_encodings_are_read_as_the_edit_tools_read_them(desk, data, encoding):
    """By their mark, or by what the file says of itself."""
    desk.write("a", data)

    result = await desk.use("read_file", path="a")

    assert result.parts[0].text.endswith("größer\n")
    assert result.result["encoding"] == encoding


async def test_an_encoding_that_is_configured_counts(desk):
    """Where the file itself says nothing."""
    desk.write(".editorconfig", "[*.txt]\ncharset = latin1\n")
    desk.write("a.txt", "größer\n".encode("latin-1"))

    assert await desk.text("read_file", path="a.txt") == "größer\n"


async def test_lines_are_those_that_other_programs_count(desk):
    """A newline ends a line; a carriage return does so only where there is no newline at all."""
    desk.write("bar", "10%\r20%\rdone\nnext\n")
    desk.write("old", "one\rtwo\rthree")

    assert await desk.text("read_file", path="bar", start_line=2) == "next\n"
    assert await desk.text("read_file", path="old", start_line=2, end_line=2) == "two\r"


PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000280000001e00806000000") + b"\0" * 20


@pytest.mark.parametrize(
    ("data", "mime", "told"),
    [
        (PIXEL, "image/png", "PNG picture, 640 × 480 pixels, 49 bytes."),
        (b"GIF89a\x05\0\x07\0" + b"\0" * 9, "image/gif", "GIF picture, 5 × 7 pixels, 19 bytes."),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x08\x08\0\x07\0\x05", "image/jpeg", "JPEG picture, 5 × 7 pixels, "),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x04\0\0\x06\0\0", "image/webp", "WEBP picture, 5 × 7 pixels, "),
        (b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + b"\x04\x80\x01\0", "image/webp", "WEBP picture, 5 × 7 pixels, "),
        (b"\xff\xd8\xff", "image/jpeg", "JPEG picture, 3 bytes."),
    ],
)
async def test_a_picture_is_given_to_the_model(desk, data, mime, told):
    """By what it is, not by its name; a copy is kept, so that the conversation can be shown again later."""
    desk.write("notes.txt", data)

    result = await desk.use("read_file", path="notes.txt")
    text, image = result.parts

    assert text.text.startswith(f"notes.txt: {told}")
    assert (image.mime_type, image.ref) == (mime, result.artifact.path)
    assert Files(desk.session).read(image.ref) == data


@pytest.mark.parametrize("data", [PIXEL[:16] + b"\0\0\xff\xff" * 2 + b"\0" * 9, PIXEL + b"\0" * 9_000_000])
async def test_a_picture_that_is_too_large_is_described(desk, data):
    """In pixels or in bytes."""
    desk.write("a.png", data)

    result = await desk.use("read_file", path="a.png")

    assert [type(part).__name__ for part in result.parts] == ["Text"]
    assert result.parts[0].text.endswith("It is too large to be shown.")


async def test_what_is_no_text_is_named_and_its_beginning_shown(desk):
    """Not as garbage."""
    desk.write("a", b"\x7fELF\x02\x01\x01" + b"\0" * 300)
    desk.write("zero", b"")
    with (desk.root / "zero").open("ab") as file:
        file.truncate(10 << 30)

    text = await desk.text("read_file", path="a")

    assert text.startswith("a: ELF program or library, 307 bytes. It is no text; it begins:\n")
    assert text.split("\n")[1] == "00000000  7f 45 4c 46 02 01 01 00 00 00 00 00 00 00 00 00  .ELF............"
    assert text.count("\n") == 16
    assert (await desk.text("read_file", path="zero")).startswith("zero: binary data, 10,737,418,240 bytes.")


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": "1 / 0",
            "outputs": [
                {"output_type": "stream", "text": ["out\n"]},
                {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mboom\x1b[0m"]},
            ],
        },
    ]
}


async def test_a_notebook_is_shown_as_text(desk):
    """Cells and what they put out; by line number the file itself."""
    desk.write("a.ipynb", json.dumps(NOTEBOOK))
    desk.write("b.ipynb", "{}")

    assert await desk.text("read_file", path="a.ipynb") == "\n".join(
        [
            "[this notebook as text; its raw lines are shown if asked for by number]",
            "[cell 1: markdown]",
            "# Title",
            "text",
            "[cell 2: code]",
            "1 / 0",
            "[output]",
            "out",
            "[output]",
            "<Figure>",
            "[image/png, not shown]",
            "[output]",
            "boom",
        ]
    )
    assert (await desk.text("read_file", path="a.ipynb", start_line=1)).startswith('{"cells"')
    assert await desk.text("read_file", path="b.ipynb") == "{}"


async def test_what_was_read_is_remembered_for_edits(desk):
    """By its content, under the place it really is; an artifact is nobody's to edit."""
    desk.seen = Seen()
    desk.write("dir/a", "1\n2\n")
    (desk.root / "link").symlink_to("dir/a")

    await desk.use("read_file", path="link", start_line=2)

    assert desk.seen.digest("dir/a") == hashlib.sha256(b"1\n2\n").hexdigest()


async def test_only_what_was_shown_counts_as_read(desk):
    """Pages add up; a line that was cut counts once it is shown whole."""
    desk.seen = Seen()
    desk.write("a", "1\n" + "x" * 3_000 + "\n3\n")

    await desk.use("read_file", path="a")
    cut = desk.seen.unshown("a")
    await desk.use("read_file", path="a", start_line=2, end_line=2)

    assert (cut, desk.seen.unshown("a")) == (range(1, 2), None)


async def test_a_notebook_shown_as_text_was_not_read_as_it_is(desk):
    """Its file holds more than is shown; nor was a picture or a program read by what is told of it."""
    desk.seen = Seen()
    desk.write("a.ipynb", json.dumps(NOTEBOOK))
    desk.write("b", b"\x7fELF\0\0")
    desk.write("empty", "")
    for path in ("a.ipynb", "b", "empty"):
        await desk.use("read_file", path=path)
    told = [desk.seen.unshown(path) for path in ("a.ipynb", "b", "empty")]
    await desk.use("read_file", path="a.ipynb", start_line=1)

    assert told == [range(0), range(0), None]
    assert desk.seen.unshown("a.ipynb") is None


async def test_a_mark_at_the_beginning_is_not_shown(desk):
    """The byte order mark is kept out of the text."""
    desk.write("a", b"\xef\xbb\xbfhello\n")

    assert await desk.text("read_file", path="a") == "hello\n"


async def test_bad_requests_are_told(desk):
    """A missing file, a pipe, a line that is not there, a range the wrong way round."""
    desk.write("a", "1\n")
    os.mkfifo(desk.root / "pipe")

    assert "does not exist" in (await desk.use("read_file", path="b")).error
    assert "not a regular file" in (await desk.use("read_file", path="pipe")).error
    assert "has no line 9; it has 1 line." in (await desk.use("read_file", path="a", start_line=9)).error
    assert "lies before" in (await desk.use("read_file", path="a", start_line=2, end_line=1)).error
    assert "schema" in (await desk.use("read_file", path="a", start_line=0)).error


async def test_an_artifact_is_read_by_its_ref(desk):
    """The whole of a long output can be read by range like any file."""
    file = ArtifactFile(desk.context, "stdout.log")
    file.write(b"1\n2\n3\n")
    file.close()

    assert await desk.text("read_file", path=file.ref, start_line=2, end_line=2) == "2\n"
    assert not (await desk.use("read_file", path=f"{desk.context.artifact_ref}/../../x")).ok
    assert not (await desk.use("read_file", path=f"{desk.context.artifact_ref}/..")).ok

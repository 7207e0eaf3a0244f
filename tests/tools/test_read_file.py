"""read_file: lines of a text file."""

import os

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


async def test_one_endless_line_is_cut(desk):
    """A hundred kilobytes without a newline are shown in part."""
    desk.write("a", "x" * 100_000)

    assert "[line 1 is cut after 65535 bytes; the file has 100000 bytes]" in await desk.text("read_file", path="a")


async def test_an_empty_file_is_empty(desk):
    """Nothing is nothing."""
    desk.write("a", "")

    result = await desk.use("read_file", path="a")

    assert (result.ok, result.parts[0].text, result.result["total_lines"]) == (True, "", 0)


async def test_what_is_not_text_is_refused_with_the_offset(desk):
    """Also when it lies in a later range."""
    desk.write("a", b"good\n" * 10 + b"b\xe9d\n")

    whole = await desk.use("read_file", path="a")
    part = await desk.use("read_file", path="a", start_line=1, end_line=10)

    assert not whole.ok
    assert "byte 0xe9 at offset 51" in whole.error
    assert part.ok


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
    assert "has no line 9" in (await desk.use("read_file", path="a", start_line=9)).error
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

"""What a command says, kept by offsets."""

from pathlib import Path

import pytest

from agi.jobs.output import Output


class File:
    """A file that takes so many bytes and no more, as an artifact does."""

    def __init__(self, path: Path, room: int = 1 << 30) -> None:
        self.path = path
        self.room = room
        self.file = path.open("wb", buffering=0)

    def write(self, data: bytes) -> None:
        self.file.write(data[: self.room])
        self.room = max(0, self.room - len(data))

    def close(self) -> None:
        self.file.close()


@pytest.fixture
def file(tmp_path):
    return File(tmp_path / "out")


def test_reading_goes_on_where_it_ended():
    """Each piece says where the next one begins, which is a line if one fits."""
    output = Output()
    output.add("one\ntwo\n")
    first = output.read(0, 6)
    second = output.read(first.next, 100)
    output.add("three\n")
    third = output.read(second.next, 100)

    assert (first.text, first.start, first.next, first.total) == ("one\n", 0, 4, 8)
    assert second.text == "two\n"
    assert (third.text, third.next, third.total) == ("three\n", 14, 14)
    assert output.read(third.next, 100).text == ""


def test_an_offset_beyond_the_end_is_the_end():
    """Nothing is there yet."""
    output = Output()
    output.add("x")

    assert (output.read(99, 10).text, output.read(99, 10).next) == ("", 1)
    assert output.read(-5, 10).text == "x"


def test_the_last_words_begin_with_a_line():
    """Half a line says little."""
    output = Output()
    output.add("".join(f"line {n}\n" for n in range(100)))

    assert output.read(None, 20).text == "line 98\nline 99\n"
    assert output.read(None, 20).next == output.total


def test_a_line_that_is_very_long_is_shown_by_its_end():
    """There is no beginning near."""
    output = Output()
    output.add("x" * 5000 + "\nend")

    assert output.read(None, 3000).text.endswith("x\nend")
    assert len(output.read(None, 3000).text) == 3000


def test_memory_stays_bounded_and_says_what_is_gone():
    """What was dropped is counted exactly."""
    output = Output(limit=1000)
    for n in range(1000):
        output.add(f"{n:09d}\n")

    found = output.read(0, 10_000)

    assert len(found.text) <= 2000
    assert found.left_out == found.start == 10_000 - len(found.text)
    assert found.text.endswith("000000999\n")


def test_a_file_keeps_all_of_it(file):
    """What is no longer in memory is read from there."""
    output = Output(limit=1000)
    output.keep_in(file, file.path)
    for n in range(1000):
        output.add(f"{n:09d}\n")

    seen, at = "", 0
    while (piece := output.read(at, 700)).text:
        seen, at = seen + piece.text, piece.next

    assert seen == "".join(f"{n:09d}\n" for n in range(1000))
    output.finish()
    assert output.read(0, 10).text == "000000000\n"
    assert output.read(None, 25).text == "000000998\n000000999\n"


def test_a_file_that_is_full_leaves_a_hole_and_not_the_end(tmp_path):
    """The beginning is in the file, the end in memory."""
    file = File(tmp_path / "out", room=3000)
    output = Output(limit=1000)
    output.keep_in(file, file.path)
    for n in range(1000):
        output.add(f"{n:09d}\n")
    output.finish()

    beginning = output.read(0, 5000)
    behind = output.read(beginning.next, 5000)

    assert (beginning.start, beginning.next) == (0, 3000)
    assert behind.left_out == behind.start - 3000 > 0
    assert behind.text.endswith("000000999\n")
    assert behind.next == output.total == 10_000


def test_a_file_that_comes_later_begins_with_what_is_in_memory(file):
    """Offsets count from there."""
    output = Output(limit=10)
    output.add("a" * 100)
    output.add("b" * 15)
    output.keep_in(file, file.path)
    output.add("c")

    kept = output.read(0, 1000).text

    output.finish()

    assert kept == "b" * 10 + "c"
    assert output.total == len(kept) == file.path.stat().st_size


def test_characters_are_not_torn():
    """An offset in the middle of one moves on, and what does not fit whole is left for later."""
    output = Output()
    output.add("aéé")

    assert output.read(0, 2).text == "a"
    assert output.read(1, 3).text == "é"
    assert (output.read(2, 10).text, output.read(2, 10).start) == ("é", 3)


def test_all_since_an_offset_comes_piece_by_piece(file):
    """What is no longer in memory is in the file; each piece can be gone on from."""
    output = Output(limit=100)
    output.keep_in(file, file.path)
    for n in range(100):
        output.add(f"{n:09d}\n")
    whole = "".join(f"{n:09d}\n" for n in range(100))
    before = list(output.pieces(0))
    output.finish()

    assert "".join(text for text, _ in before) == whole
    assert "".join(text for text, _ in output.pieces(0)) == whole
    assert max(len(text) for text, _ in before) <= 200
    assert list(output.pieces(990)) == [("000000099\n", 1000)]
    assert "".join(text for text, _ in output.pieces(before[0][1])) == whole[before[0][1] :]


def test_what_neither_memory_nor_the_file_has_is_passed_over(tmp_path):
    """The file took only so much, and was lost in the end."""
    small = File(tmp_path / "out", room=50)
    output = Output(limit=100)
    output.keep_in(small, small.path)
    for n in range(100):
        output.add(f"{n:09d}\n")

    text = "".join(text for text, _ in output.pieces(0))
    assert text.startswith("000000000\n")
    assert text.endswith("000000099\n")
    small.path.unlink()
    assert list(output.pieces(0))[-1][1] == 1000
    small.close()


def test_listeners_hear_each_piece_until_they_leave():
    """In order, as it comes."""
    output, heard = Output(), []
    leave = output.listen(heard.append)
    output.add("one")
    leave()
    output.add("two")

    assert heard == ["one"]


def test_a_file_that_is_gone_leaves_what_is_in_memory(file):
    """Somebody removed it; nothing breaks."""
    output = Output(limit=100)
    output.keep_in(file, file.path)
    output.add("x" * 500)
    output.add("end")
    file.path.unlink()
    output.finish()

    assert output.read(0, 1000).left_out > 0
    assert output.read(None, 1000).text.endswith("end")

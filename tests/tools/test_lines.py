"""Finding lines by number in files of any size."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agi.tools.lines import MOST_BYTES, MOST_LINES, find_lines


def look(path, first, last=1 << 62):
    with path.open("rb") as file:
        return find_lines(file, first, last)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.sampled_from([b"", b"a", b"b\r", b"long " * 9, "é€".encode()]), max_size=12),
    ends=st.booleans(),
    first=st.integers(1, 14),
    count=st.integers(1, 14),
)
def test_lines_are_found_as_if_the_file_were_split(tmp_path, lines, ends, first, count):
    """The window holds exactly the bytes of those lines, and knows where they begin."""
    data = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    (tmp_path / "f").write_bytes(data)
    whole = data.split(b"\n")
    expected = [line + b"\n" for line in whole[:-1]] + ([whole[-1]] if whole[-1] else [])

    window = look(tmp_path / "f", first, first + count - 1)

    if first > max(len(expected), 1):
        assert window is None
    else:
        shown = expected[first - 1 : first - 1 + count]
        assert window.data == b"".join(shown)
        assert (window.last, window.total) == (first + len(shown) - 1, len(expected))
        assert data[window.offset :].startswith(window.data)


def test_no_more_than_a_screenful_is_shown(tmp_path):
    """Lines and bytes are both bounded; what is shown ends with a whole line."""
    (tmp_path / "many").write_bytes(b"x\n" * 5_000)
    (tmp_path / "wide").write_bytes((b"y" * 999 + b"\n") * 100)

    many, wide = look(tmp_path / "many", 11), look(tmp_path / "wide", 1)

    assert (many.first, many.last, many.total) == (11, 10 + MOST_LINES, 5_000)
    assert (wide.last, len(wide.data)) == (65, 65_000)
    assert len(wide.data) <= MOST_BYTES


@pytest.mark.parametrize("letter", ["x", "é", "€", "😀"])
def test_a_line_too_long_to_show_is_cut_between_characters(tmp_path, letter):
    """Half a character is not shown."""
    (tmp_path / "f").write_text("." + letter * 100_000)

    window = look(tmp_path / "f", 1)

    assert window.cut
    assert set(window.data.decode()) == {".", letter}
    assert MOST_BYTES - 8 < len(window.data) <= MOST_BYTES


def test_a_huge_file_is_read_at_its_beginning_and_not_counted(tmp_path):
    """Ten gigabytes take no longer than one screenful."""
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"first\nsecond\n")
        file.truncate(10 << 30)

    window = look(tmp_path / "huge", 2, 2)

    assert (window.data, window.total, window.size) == (b"second\n", None, 10 << 30)
    assert look(tmp_path / "huge", 1000) is None

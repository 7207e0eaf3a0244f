"""What a session has been shown."""

from agi.editing.seen import Seen, Shown


def test_what_was_shown_last_counts():
    """Until the file is gone."""
    seen = Seen()
    assert seen.digest("a") is None
    seen.note("a", "1")
    seen.note("a", "2")
    assert seen.digest("a") == "2"
    seen.forget("a")
    assert seen.digest("a") is None


def test_a_file_is_known_whole_once_all_its_lines_were_shown():
    """In several pieces, in any order, also overlapping; as long as it stays the same."""
    seen = Seen()
    assert seen.unshown("a") is None
    seen.note("a", "1", shown=Shown([range(40, 100)], 100))
    assert (seen.digest("a"), seen.unshown("a")) == ("1", range(40))
    seen.note("a", "1", shown=Shown([range(10), range(20, 30)], 100))
    assert seen.unshown("a") == range(10, 20)
    seen.note("a", "1", shown=Shown([range(5, 45)], 100))
    assert seen.unshown("a") is None
    seen.note("a", "1", shown=Shown([range(1)], 100))
    assert seen.unshown("a") is None


def test_what_was_shown_of_another_content_does_not_count():
    """The lines are others."""
    seen = Seen()
    seen.note("a", "1", shown=Shown([range(50)], 100))
    seen.note("a", "2", shown=Shown([range(50, 100)], 100))
    assert seen.unshown("a") == range(50)
    seen.note("a", "2")
    assert seen.unshown("a") is None
    seen.note("a", "3", shown=Shown([range(1, 2), range(1)], 2))
    assert seen.unshown("a") is None
    seen.note("a", "4", shown=Shown())
    assert seen.unshown("a") == range(0)
    seen.note("a", "4", shown=Shown([], 1))
    assert seen.unshown("a") == range(1)


def test_pieces_without_end_are_not_kept():
    """Who reads every second line of a large file has not read it."""
    seen = Seen()
    for number in range(0, 10_000, 2):
        seen.note("a", "1", shown=Shown([range(number, number + 1)], 10_000))

    assert seen.unshown("a") is not None


def test_failures_are_counted_until_the_file_is_shown_again():
    """Each file by itself."""
    seen = Seen()

    assert [seen.failed("a"), seen.failed("a"), seen.failed("b")] == [1, 2, 1]
    seen.note("a", "1")
    assert seen.failed("a") == 1


def test_it_does_not_grow_without_end():
    """What was seen longest ago is forgotten first."""
    seen = Seen()
    for number in range(10_050):
        seen.note(f"{number}", "x")
        seen.failed(f"failed {number}")

    assert seen.digest("0") is None
    assert seen.digest("10049") == "x"


def test_it_names_what_it_knows_the_last_at_the_end():
    """What was shown again is the latest; what is gone is not named."""
    seen = Seen()
    for place in ("a", "b", "c", "a"):
        seen.note(place, "1")
    seen.forget("b")

    assert seen.places() == ("c", "a")

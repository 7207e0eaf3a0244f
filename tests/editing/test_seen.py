"""What a session has been shown."""

from agi.editing.seen import Seen


def test_what_was_shown_last_counts():
    """Until the file is gone."""
    seen = Seen()
    assert seen.digest("a") is None
    seen.note("a", "1")
    seen.note("a", "2")
    assert seen.digest("a") == "2"
    seen.forget("a")
    assert seen.digest("a") is None


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

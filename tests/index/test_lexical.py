"""BM25 over chunks."""

from array import array

from agi.index.lexical import Tables, fits
from agi.index.postings import Indexed


def indexed(path, first, *lengths):
    return Indexed(path, "", first, lengths)


def row(*chunks):
    return array("I", [chunk << 8 | count for chunk, count in chunks])


TABLES = Tables([indexed("a", 0, 50, 50), indexed("b", 2, 50), indexed("c", 3, 50), indexed("d", 4, 500)])


def test_a_rare_term_is_worth_more_than_a_common_one():
    """The fewer chunks have it, the more it says."""
    found = fits(TABLES, {"rare": 1.0, "common": 1.0}, [("rare", row((0, 1))), ("common", row((2, 1), (3, 1), (4, 1)))])
    assert found[0].score > found[1].score


def test_a_short_chunk_is_worth_more_than_a_long_one_with_as_many_hits():
    """A long text has every word somewhere."""
    found = fits(TABLES, {"x": 1.0}, [("x", row((3, 1), (4, 1)))])
    assert found[2].score > found[3].score


def test_the_best_chunks_of_a_file_are_told_the_best_first():
    """They are where to look."""
    found = fits(TABLES, {"x": 1.0}, [("x", row((0, 1), (1, 9)))])
    assert found[0].chunks == (1, 0)


def test_several_fitting_chunks_are_worth_more_than_one():
    """But far less than the best one twice."""
    one = fits(TABLES, {"x": 1.0}, [("x", row((0, 1), (2, 1)))])
    two = fits(TABLES, {"x": 1.0}, [("x", row((0, 1), (1, 1)))])
    assert one[0].score < two[0].score < 1.5 * one[0].score


def test_dead_chunks_and_those_that_came_later_count_for_nobody():
    """Tables are of one moment, postings may be of another."""
    tables = Tables([indexed("a", 2, 10)])
    found = fits(tables, {"x": 1.0}, [("x", row((0, 1), (2, 1), (7, 1)))])
    assert set(found) == {0}
    assert found[0].chunks == (0,)


def test_nothing_indexed_is_nothing_found():
    """The empty project has no hits."""
    assert fits(Tables([]), {"x": 1.0}, []) == {}

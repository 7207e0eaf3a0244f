"""The index follows the log: it never runs ahead, can be lost at any time, and forgets what is deleted."""

from __future__ import annotations

import pytest

from agi.errors import Unavailable
from agi.protocol import events as ev
from agi.protocol.search import Search
from agi.views import search_index
from agi.views.search import search
from agi.views.search_index import advance, behind, forget


def whole(db):
    return advance(db, lambda: False)


def hits(db, words):
    return [hit.session_id for hit in search(db, Search(q=words)).hits]


def words_left(db) -> int:
    """How many different words the index holds."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, search_words, row)")
    return db.execute("SELECT count(*) FROM temp.vocabulary").fetchone()[0]


def test_nothing_is_found_before_it_is_indexed_and_that_is_said(db, book):
    """An old database has no index at first; how much is missing is told."""
    book.begin("the needle")
    empty = search(db, Search(q="needle"))

    assert (empty.hits, empty.behind) == ((), 3)
    assert whole(db) == 0
    assert hits(db, "needle") == [book.id]
    assert search(db, Search(q="needle")).behind == 0


def test_it_goes_on_where_it_stopped(db, book, monkeypatch):
    """A slice at a time, each event once."""
    monkeypatch.setattr(search_index, "WINDOW", 2)
    for number in range(5):
        book.tell(None, ev.MessageAdded(message=book.message(f"needle {number}"), run=False))
    left = []
    while not left or left[-1]:
        left.append(advance(db, lambda: True))

    assert left == [4, 2, 0]
    assert len(hits(db, "needle")) == 5
    assert advance(db, lambda: True) == 0


def test_a_transaction_that_fails_takes_its_place_along(db, book):
    """Rows and place are written together: what was rolled back is indexed next time, and once."""
    book.begin("the needle")
    db.execute("BEGIN")
    whole(db)
    db.execute("ROLLBACK")
    assert behind(db) == 3

    whole(db)
    assert hits(db, "needle") == [book.id]


def test_a_deleted_session_leaves_no_word_behind(db, book, new_book, tables):
    """Neither found nor kept, in any language."""
    book.begin("the needle 数据库 parseEnvelope")
    kept = new_book()
    kept.begin("hay")
    whole(db)
    tables.forget(db, book.id)
    db.execute("DELETE FROM events WHERE session_id=?", (book.id,))

    assert hits(db, "needle") == []
    assert hits(db, "hay") == [kept.id]
    assert words_left(db) == 1
    assert db.execute("SELECT count(*) FROM search_entries").fetchone() == (1,)
    db.execute("INSERT INTO search_words (search_words) VALUES ('integrity-check')")


def test_a_session_that_was_never_indexed_can_be_deleted(db, book):
    """With no index at all, or with one that has not come to it."""
    forget(db, book.id)
    whole(db)
    book.begin("later")
    forget(db, book.id)

    assert behind(db) == 2


def test_only_the_newest_title_is_found(db, book):
    """A title that was changed is history."""
    book.tell(None, ev.SessionUpdated(title="old name"))
    whole(db)
    book.tell(None, ev.SessionUpdated(title="new name"))
    whole(db)

    assert hits(db, "old") == []
    assert hits(db, "name") == [book.id]


def test_an_index_of_another_version_is_made_anew(db, book, monkeypatch):
    """Also when the first thing that happens is a deletion."""
    book.begin("the needle")
    whole(db)
    monkeypatch.setattr(search_index, "VERSION", "next")
    assert behind(db) == 3
    assert search(db, Search(q="needle")).hits == ()

    forget(db, book.id)
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'search%'").fetchone() == (0,)
    whole(db)
    assert hits(db, "needle") == [book.id]


def test_a_one_shots_session_is_not_in_it(db, book, new_book):
    """What is not listed is not found either."""
    book.begin("the needle")
    db.execute("UPDATE sessions SET listed=0 WHERE id=?", (book.id,))
    whole(db)

    assert hits(db, "needle") == []


def test_pieces_of_open_text_cost_nothing(db, book):
    """Only whole answers are indexed."""
    turn = book.begin()
    piece = ev.ModelOutputDelta(message_id="msg_1", part_id="part_1", kind="text", delta="needle", offset=0)
    book.tell(turn, piece)
    whole(db)

    assert hits(db, "needle") == []
    assert behind(db) == 0


def test_without_full_text_search_that_is_said(db, book, monkeypatch):
    """A Python whose SQLite lacks it still runs sessions."""
    made = tuple(statement.replace("fts5", "fts5_missing") for statement in search_index._MADE)
    monkeypatch.setattr(search_index, "_MADE", made)

    with pytest.raises(Unavailable) as refused:
        whole(db)
    assert refused.value.code == "search_unavailable"
    forget(db, book.id)

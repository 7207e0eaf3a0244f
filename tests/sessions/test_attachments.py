"""Files of a session: stored under names of ours, fetched only from its own folder."""

from __future__ import annotations

import hashlib
import os

import pytest

from agi.errors import AgiError, Invalid, NotFound, TooLarge
from agi.protocol.commands import PostMessage
from agi.protocol.parts import Image
from agi.sessions import attachments
from agi.sessions.attachments import fetch, store


def test_a_stored_file_is_found_by_its_ref_and_nobody_else_can_read_it(tmp_path):
    """Size and hash are told; the mode is the owner's."""
    added = store(tmp_path, "shot one.png", "image/png", b"bytes")

    assert added.ref.startswith("attachments/")
    assert added.ref.endswith("shot_one.png")
    assert (added.size, added.sha256) == (5, hashlib.sha256(b"bytes").hexdigest())
    found = fetch(tmp_path, *added.ref.split("/"))
    assert found.path.read_bytes() == b"bytes"
    assert found.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.threat("T42")
@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..\\..\\x", "/etc/passwd", "....", "a\0b", "\u202egnp.exe", "x" * 250, ".."]
)
def test_a_hostile_name_never_leaves_the_folder(tmp_path, name):
    """The name on disk is ours, whatever was sent."""
    added = store(tmp_path, name, "text/plain", b"x")

    assert os.listdir(tmp_path / "attachments") == [added.ref.partition("/")[2]]
    assert added.ref.isascii()
    assert ".." not in added.ref


@pytest.mark.threat("T18")
@pytest.mark.parametrize("name", ["..", ".", "", "../session.json", "a/b", "x\0", "nothing-here"])
def test_only_plain_files_right_there_are_fetched(tmp_path, name):
    """Anything else is not found."""
    (tmp_path / "session.json").write_text("{}")
    (tmp_path / "attachments").mkdir()
    with pytest.raises(NotFound):
        fetch(tmp_path, "attachments", name)


def test_a_link_or_a_pipe_in_the_folder_is_not_fetched(tmp_path):
    """Somebody else's file behind a link stays where it is."""
    place = tmp_path / "attachments"
    place.mkdir()
    (tmp_path / "secret").write_text("s")
    (place / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(place / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(NotFound):
            fetch(tmp_path, "attachments", name)


def test_empty_huge_and_mislabeled_files_are_refused(tmp_path, monkeypatch):
    """Each with its own reason, and nothing is written."""
    with pytest.raises(Invalid):
        store(tmp_path, "a", "text/plain", b"")
    with pytest.raises(Invalid):
        store(tmp_path, "a", "text/plain\r\nX: y", b"x")
    monkeypatch.setattr(attachments, "LIMIT", 3)
    with pytest.raises(TooLarge):
        store(tmp_path, "a", "text/plain", b"1234")
    assert not (tmp_path / "attachments").exists() or not os.listdir(tmp_path / "attachments")


@pytest.mark.threat("T18")
async def test_a_message_may_refer_to_its_own_sessions_files_only(place):
    """A ref to anything else is refused before anything is written."""
    added = await place.harness.add_attachment(place.session_id, "p.png", "image/png", b"png")
    before = len(place.events())
    for ref in ("attachments/nope.png", "../session.json", "artifacts/x", "/etc/passwd"):
        with pytest.raises(AgiError):
            await place.harness.post_message(
                place.session_id, PostMessage(parts=[Image(ref=ref, mime_type="image/png")])
            )
    assert len(place.events()) == before

    place.model.says("nice picture")
    posted = await place.harness.post_message(
        place.session_id, PostMessage(parts=[Image(ref=added.ref, mime_type="image/png")])
    )
    assert (await place.ended(posted)).status == "completed"
    assert [one.ref for one in place.harness.attachments(place.session_id)] == [added.ref]

"""Files of a session: uploaded as JSON or as a form, sent back to be saved and never to be run."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from agi.testing.box import Daemon, Reply
from agi.testing.files import bomb, broken_png, pdf

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def form(*parts: tuple[str, bytes], boundary: bytes = b"xx") -> tuple[bytes, dict[str, str]]:
    body = b"".join(b"--%b\r\n%b\r\n\r\n%b\r\n" % (boundary, head.encode(), data) for head, data in parts)
    kind = {"content-type": f"multipart/form-data; boundary={boundary.decode()}"}
    return body + b"--%b--\r\n" % boundary, kind


FILE = 'Content-Disposition: form-data; name="file"; filename="a b.png"\r\nContent-Type: image/png'


async def upload(daemon: Daemon, session_id: str, body: object, headers: dict[str, str] | None = None) -> Reply:
    return await daemon.post(f"/v1/sessions/{session_id}/attachments", body, headers or {})


async def test_json_and_form_store_the_same(daemon: Daemon) -> None:
    """Both answer 201 with a ref, the type, the name, the size and the hash."""
    session_id = await daemon.begin()
    as_json = {"filename": "a b.png", "mime_type": "image/png", "data": base64.b64encode(PNG).decode()}

    first = await upload(daemon, session_id, as_json)
    second = await upload(daemon, session_id, *form((FILE, PNG)))

    assert (first.status, second.status) == (201, 201)
    stored = [reply.json() for reply in (first, second)]
    refs = [one.pop("ref") for one in stored]
    assert stored[0] == stored[1]
    assert stored[0] == {
        "filename": "a b.png",
        "mime_type": "image/png",
        "size": len(PNG),
        "sha256": hashlib.sha256(PNG).hexdigest(),
    }
    assert all(ref.startswith("attachments/") for ref in refs)
    listed = (await daemon.get(f"/v1/sessions/{session_id}/attachments")).json()["attachments"]
    assert [one["ref"] for one in listed] == sorted(refs)


@pytest.mark.threat("T42")
async def test_a_file_comes_back_as_it_was_to_be_saved(daemon: Daemon) -> None:
    """The bytes, `Content-Disposition: attachment` with the name it came with, and no sniffing."""
    session_id = await daemon.begin()
    data = PNG + bytes(range(256)) * 4000
    head = FILE.replace("a b.png", 'résumé \\"x\\".png')
    ref = (await upload(daemon, session_id, *form((head, data)))).json()["ref"]

    reply = await daemon.get(f"/v1/sessions/{session_id}/{ref}")

    assert reply.body == data
    assert reply.headers["content-type"] == "image/png"
    assert reply.headers["content-disposition"] == "attachment; filename*=UTF-8''r%C3%A9sum%C3%A9%20%22x%22.png"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-length"] == str(len(data))
    head_reply = await daemon.call("HEAD", f"/v1/sessions/{session_id}/{ref}")
    assert (head_reply.body, head_reply.headers["content-length"]) == (b"", str(len(data)))


@pytest.mark.threat("T38", "T42")
@pytest.mark.parametrize("mime_type", ["text/html", "image/svg+xml", "application/xhtml+xml", "text/javascript"])
async def test_what_a_browser_would_run_is_only_bytes(daemon: Daemon, mime_type: str) -> None:
    """A type that could run something is not told."""
    session_id = await daemon.begin()
    ref = (await upload(daemon, session_id, {"filename": "x", "mime_type": mime_type, "data": "PGI+"})).json()["ref"]
    reply = await daemon.get(f"/v1/sessions/{session_id}/{ref}")
    assert reply.headers["content-type"] == "application/octet-stream"


BAD_FILES = {
    "a damaged picture": ("image/png", broken_png(), "image_damaged"),
    "a bomb": ("image/png", bomb(), "image_too_large"),
    "noise": ("image/png", b"\0\1\2", "attachment_damaged"),
    "a locked pdf": ("application/pdf", pdf(locked=True), "pdf_encrypted"),
    "a heic": ("image/heic", b"\0\0\0\x18ftypheic" + b"\0" * 40, "image_unsupported"),
    "nothing": ("image/png", b"", "attachment_empty"),
}


@pytest.mark.threat("T42")
@pytest.mark.parametrize(("mime_type", "data", "code"), BAD_FILES.values(), ids=BAD_FILES)
async def test_a_file_nobody_could_use_is_refused_at_the_door(
    daemon: Daemon, mime_type: str, data: bytes, code: str
) -> None:
    """As JSON and as a form alike, with what to do; nothing is stored."""
    session_id = await daemon.begin()
    as_json = {"filename": "x", "mime_type": mime_type, "data": base64.b64encode(data).decode()}
    as_form = form((FILE.replace("image/png", mime_type), data))

    replies = [await upload(daemon, session_id, as_json), await upload(daemon, session_id, *as_form)]

    assert [(one.status, one.code) for one in replies] == [(422, code)] * 2
    assert (await daemon.get(f"/v1/sessions/{session_id}/attachments")).json() == {"attachments": []}


def sizes(folder: Path) -> list[int]:
    """How large the attachments are that are kept anywhere below."""
    return [path.stat().st_size for path in folder.rglob("attachments/*") if path.is_file() and path.suffix != ".json"]


def zip_bomb() -> bytes:
    """Ten megabytes of nothing in ten kilobytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../zeros", bytes(10 << 20))
    return made.getvalue()


@pytest.mark.threat("T42")
@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("bomb.zip", zip_bomb(), "application/octet-stream"),
        ("page.png", PNG + b"<script>alert(1)</script>", "image/png"),
        ("script.html.png", b"<!doctype html><script>alert(1)</script>", "application/octet-stream"),
        ("picture.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "application/octet-stream"),
    ],
)
async def test_what_is_two_things_at_once_is_kept_as_it_is_and_only_to_be_saved(
    daemon: Daemon, tmp_path: Path, name: str, data: bytes, kind: str
) -> None:
    """Nothing is unpacked, nothing is run: the bytes come back as they came, as a download that nobody may guess at."""
    session_id = await daemon.begin()
    body = {"filename": name, "mime_type": "image/png", "data": base64.b64encode(data).decode()}
    stored = (await upload(daemon, session_id, body)).json()
    reply = await daemon.get(f"/v1/sessions/{session_id}/{stored['ref']}")

    assert (reply.body, reply.headers["content-type"]) == (data, kind)
    assert reply.headers["content-disposition"].startswith("attachment; ")
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert sizes(tmp_path) == [len(data)]


@pytest.mark.threat("T42")
async def test_a_file_that_is_not_what_it_is_said_to_be_is_kept_as_what_it_is(daemon: Daemon) -> None:
    """The answer and the log say so; two files of one name are two files."""
    session_id = await daemon.begin()
    body = {"filename": "a.pdf", "mime_type": "application/pdf", "data": base64.b64encode(b"<html>").decode()}

    first, second = [(await upload(daemon, session_id, body)).json() for _ in range(2)]

    assert first["mime_type"] == "text/html"
    assert "said to be application/pdf" in first["note"]
    assert first["ref"] != second["ref"]
    events = daemon.harness.log.read(session_id, 0, 100)
    assert [event.data.note for event in events if event.type == "attachment_added"] == [first["note"]] * 2


BAD_FORMS = {
    "no file": (form(('Content-Disposition: form-data; name="file"', b"text")), 422),
    "another field": (form((FILE.replace('"file"', '"data"'), PNG)), 422),
    "two files": (form((FILE, PNG), (FILE, PNG)), 400),
    "a field beside it": (form((FILE, PNG), ('Content-Disposition: form-data; name="x"', b"y")), 422),
    "an empty file": (form((FILE, b"")), 422),
    "a long name": (form((FILE.replace("a b", "x" * 300), PNG)), 422),
    "no boundary": ((b"--xx\r\n", {"content-type": "multipart/form-data; charset=utf-8"}), 400),
    "cut off": ((b"--xx\r\nContent-Disposition: form-data", {"content-type": "multipart/form-data; boundary=xx"}), 422),
    "garbage": ((b"\0\1\2\3" * 100, {"content-type": "multipart/form-data; boundary=xx"}), 400),
}


@pytest.mark.parametrize(("sent", "status"), BAD_FORMS.values(), ids=BAD_FORMS.keys())
async def test_a_bad_form_is_refused(daemon: Daemon, sent: tuple[bytes, dict[str, str]], status: int) -> None:
    """In the one shape, and nothing is stored."""
    session_id = await daemon.begin()
    reply = await upload(daemon, session_id, *sent)
    assert reply.status == status
    assert reply.code
    assert (await daemon.get(f"/v1/sessions/{session_id}/attachments")).json() == {"attachments": []}


async def test_artifacts_of_a_turn_are_sent_too(daemon: Daemon) -> None:
    """A file that a tool left behind, by the turn it belongs to."""
    session_id = await daemon.begin()
    turn_id = "turn_" + "0" * 32
    folder = daemon.harness.session_folder(session_id) / "artifacts" / turn_id
    folder.mkdir(parents=True)
    (folder / "out.log").write_text("line\n")
    (folder / "page.html").write_text("<script>")

    log = await daemon.get(f"/v1/sessions/{session_id}/artifacts/{turn_id}/out.log")
    page = await daemon.get(f"/v1/sessions/{session_id}/artifacts/{turn_id}/page.html")

    assert (log.body, log.headers["content-type"]) == (b"line\n", "text/plain; charset=utf-8")
    assert page.headers["content-type"] == "application/octet-stream"


@pytest.mark.threat("T18")
async def test_only_files_of_the_session_are_sent(daemon: Daemon) -> None:
    """No link, no folder, no way up."""
    session_id = await daemon.begin()
    folder = daemon.harness.session_folder(session_id) / "attachments"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "inner").mkdir()
    (folder / "empty").write_bytes(b"")
    for name in ("link", "inner", "missing", "..", ".", "%2e%2e%2fsession.json", "..%2fsession.json", "a%00b"):
        reply = await daemon.get(f"/v1/sessions/{session_id}/attachments/{name}")
        assert (name, reply.status) == (name, 404)
    assert (await daemon.get(f"/v1/sessions/{session_id}/attachments/empty")).body == b""

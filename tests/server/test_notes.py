"""Notes over HTTP: the user's own, by workspace."""

from __future__ import annotations

import pytest

from agi.testing.box import Daemon


async def test_notes_are_pinned_listed_and_unpinned(daemon: Daemon) -> None:
    """For the project, unless another workspace is named; never in the project's own folder."""
    made = await daemon.post("/v1/notes", {"text": "Use tabs."})
    other = await daemon.post("/v1/notes", {"text": "Elsewhere.", "workspace_path": "/srv/other"})
    note = made.json()

    assert (made.status, other.status) == (201, 201)
    assert (note["text"], note["workspace_path"]) == ("Use tabs.", str(daemon.workspace.path))
    assert (await daemon.get("/v1/notes")).json() == {"notes": [note]}
    assert (await daemon.get("/v1/notes?workspace_path=/srv/other")).json() == {"notes": [other.json()]}
    assert not daemon.workspace.was_touched()
    assert (await daemon.call("DELETE", f"/v1/notes/{note['id']}")).status == 204
    assert (await daemon.get("/v1/notes")).json() == {"notes": []}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid"),
        ({"text": ""}, "invalid"),
        ({"text": "  "}, "note_invalid"),
        ({"text": "x" * 1001}, "invalid"),
        ({"text": "x", "workspace_path": "relative"}, "path_invalid"),
        ({"text": "x", "nonsense": 1}, "invalid"),
    ],
)
async def test_what_is_no_note_is_refused(daemon: Daemon, body: dict[str, object], code: str) -> None:
    """And changes nothing."""
    refused = await daemon.post("/v1/notes", body)

    assert (refused.status, refused.code) == (422, code)
    assert (await daemon.get("/v1/notes")).json() == {"notes": []}


async def test_a_note_that_is_not_there_cannot_be_removed(daemon: Daemon) -> None:
    """By an id of nobody's, or by no id at all."""
    gone = await daemon.call("DELETE", "/v1/notes/note_" + "0" * 32)

    assert (gone.status, gone.code) == (404, "note_not_found")
    assert (await daemon.call("DELETE", "/v1/notes/..%2Fx")).status == 404
    assert (await daemon.get("/v1/notes?workspace_path=relative")).status == 422

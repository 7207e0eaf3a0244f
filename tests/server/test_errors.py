"""Every error of ours has its status, and all of them one shape."""

from __future__ import annotations

import sqlite3

import msgspec
import pytest

from agi import errors
from agi.protocol.sessions import ErrorInfo
from agi.server.errors import STATUSES, error_answer, failed_turn, no_such_path, status_of, wrong_method
from agi.testing.box import Daemon

EXPECTED = {
    "AgiError": 500,
    "BadRequest": 400,
    "Invalid": 422,
    "NotAllowed": 403,
    "NotFound": 404,
    "Conflict": 409,
    "TooLarge": 413,
    "TooMany": 429,
    "ConfigError": 422,
    "WorkspaceError": 422,
    "ModelError": 502,
    "StorageError": 500,
    "DiskFull": 507,
    "Damaged": 500,
    "LeaseLost": 500,
    "Unavailable": 503,
}
FAMILY = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.AgiError)]


@pytest.mark.parametrize("kind", FAMILY, ids=lambda kind: kind.__name__)
def test_every_kind_of_error_has_its_status(kind: type[errors.AgiError]) -> None:
    """A new kind must be thought of here."""
    assert status_of(kind("x")) == EXPECTED[kind.__name__]


def test_a_missing_credential_is_401_and_a_wrong_one_403() -> None:
    """The code tells them apart."""
    assert status_of(errors.NotAllowed("x", code="unauthorized")) == 401
    assert status_of(errors.NotAllowed("x")) == 403


def test_an_error_is_told_in_one_shape() -> None:
    """Code, message and hint; the turn where there is one."""
    answer = error_answer(errors.NotFound("no", hint="look", code="session_not_found"))
    assert answer.status == 404
    assert msgspec.json.decode(answer.body) == {"error": {"code": "session_not_found", "message": "no", "hint": "look"}}
    with_turn = error_answer(errors.Unavailable("bye"), turn_id="turn_1")
    assert msgspec.json.decode(with_turn.body)["error"]["turn_id"] == "turn_1"
    for plain in (no_such_path("/x"), wrong_method("PUT", "GET")):
        assert set(msgspec.json.decode(plain.body)["error"]) == {"code", "message", "hint"}


@pytest.mark.parametrize(
    ("code", "status"),
    [("provider_failed", 502), ("anything_else", 502), ("internal_error", 500), ("disk_full", 507), ("invalid", 422)],
)
def test_a_failed_turn_is_the_providers_fault_unless_its_code_says_otherwise(code: str, status: int) -> None:
    """Whoever waited for it is told whose fault it was."""
    answer = failed_turn(ErrorInfo(code=code, message="m"), "turn_1")
    assert answer.status == status
    assert msgspec.json.decode(answer.body)["error"]["turn_id"] == "turn_1"


def test_only_kinds_of_ours_have_a_status() -> None:
    """Anything else is a mistake of ours, and the guard's to answer."""
    assert set(STATUSES) <= set(FAMILY)


async def test_damage_that_a_request_comes_upon_is_told(daemon: Daemon) -> None:
    """The client hears what it is and what to do, not only that something failed."""
    daemon.model.says("hi")
    turn = await daemon.ask("hello")
    await turn.answer()
    db = sqlite3.connect(daemon.harness.log.path)
    db.execute("UPDATE sessions SET state=CAST(x'7bff7d' AS TEXT)")
    db.commit()
    db.close()

    answer = await daemon.get(f"/v1/sessions/{turn.session_id}")

    assert (answer.status, answer.json()["error"]["code"]) == (500, "damaged")
    assert "agi repair --from-mirrors" in answer.json()["error"]["hint"]

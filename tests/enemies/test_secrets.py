"""Keys that try to get out: by commands, by what tools, providers and servers say, and into every file that is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agi.errors import ModelError
from agi.models.scripted import ScriptedModel
from agi.testing.box import daemon_in_a_box, eventually
from agi.testing.provider import ProviderServer, calls, fails, says

from .conftest import FREE, Served, holders, needs_a_sandbox, shown_of

KEYS = [
    "sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz-0123456789_AA",
    "AIzaSyA-0123456789abcdefghijklmnopqrstuv",
    "gsk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL",
    "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "xoxb-012345678901-0123456789012-abcdefghijklmnopqrstuvwx",
    "AKIAIOSFODNN7EXAMPLE/wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY=",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJlLW9mLXRoaXM",
    "hf_abcdefghijklmnopqrstuvwxyz012345",
    "3f2504e0-4f89-41d3-9a0c-0305e82c3301-planted",
    "0123456789abcdef0123456789abcdef01234567",
    'quo"ted\\and/slashed+key==',
]
"""Of twelve makers and forms; all are configured, since only such keys are known."""


LONG = 'yes "$(cat notes.txt)" | head -n 24000; echo the end'
"""Says so much that it is kept as a file; each of the keys is cut somewhere on its way there."""

SLOW = "echo now; sleep 0.3; head -n 1 notes.txt | head -c 20; sleep 0.3; head -n 1 notes.txt | tail -c +21; sleep 0.3"
"""Says a key in two halves that are told one after the other."""


def providers() -> dict[str, object]:
    return {f"p{number}": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": key} for number, key in enumerate(KEYS)}


@pytest.mark.threat("T37")
async def test_keys_of_twelve_forms_reach_no_file_and_no_stream(tmp_path: Path) -> None:
    """In a prompt, a call, an output that is short or kept as a file, a file that is read, an answer, an error: stars.

    All of the daemon's own folder is looked through. What checkpoints keep of the workspace's files is theirs to the
    letter, or undoing would change them: the one file that was changed while it held a key is the only way in there.
    """
    model = ScriptedModel()
    config = {**FREE, "defaultProvider": "scripted", "providers": providers()}
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "notes.txt").write_text("\n".join(KEYS))
    (tmp_path / "project" / "b.txt").write_text(KEYS[4])
    async with daemon_in_a_box(tmp_path, model=model, trusted=True, config=config, auth="token") as daemon:
        model.calls("read_file", path="notes.txt").then_calls(
            "shell", command="cat notes.txt; cat notes.txt >&2; exit 3"
        )
        model.then_calls("shell", command=SLOW).then_calls("shell", command=LONG).then_calls(
            "shell", command=LONG, background=True
        )
        model.then_calls("search", query=KEYS[0]).then_calls("read_file", path="b.txt")
        model.then_calls("write_file", path="b.txt", content=KEYS[5])
        model.then_calls("read_file", path=f"no/{KEYS[1]}").then_says(" and ".join(KEYS), size=7)
        session_id = await daemon.begin(title=f"about {KEYS[2]}", system_prompt=f"The key is {KEYS[3]}.")
        turn = await daemon.ask("Use " + ", ".join(KEYS), session_id=session_id)
        ended, history = await turn.ended(), await daemon.history(session_id)
        said = json.dumps([ended, history])
        for number, key in enumerate(KEYS):
            model.fails(ModelError(f"401: {key} is not known", hint=f"Not {key}.", code=f"refused_{number}"))
        for _ in KEYS:
            said += json.dumps(await (await daemon.ask("again", session_id=session_id)).ended())
        said += (await daemon.get(f"/v1/sessions/{session_id}/messages?limit=1000")).body.decode()
        said += (await daemon.get("/v1/health")).body.decode()
        state = tmp_path / "project" / ".agi"
        files = [path for path in state.rglob("artifacts/*/*") if path.is_file()]
        await eventually(lambda: all(b"the end" in path.read_bytes()[-20:] for path in files))
        kept_files = b"".join(path.read_bytes() for path in files)
        undone = await daemon.post(f"/v1/sessions/{session_id}/revert", {"to": "start"})

    live = [event["data"]["chunk"] for event in history if event["type"] == "tool_output_delta"]
    assert len(live) > 2
    assert not [key for key in KEYS if key in "".join(live)]  # nor in two events that one reads together
    assert "*" * 30 in said
    assert sorted(path.name.partition("-")[0] for path in files) == ["job", "stdout"]
    assert kept_files.count(b"*" * len(KEYS[0])) > 10_000
    assert (undone.status, (tmp_path / "project" / "b.txt").read_text()) == (200, KEYS[4])
    for key in KEYS:
        for spelled in (key, json.dumps(key)[1:-1]):
            assert spelled not in said
            kept = holders(spelled.encode(), tmp_path / "project" / ".agi")
            assert set(kept) <= ({"objects.sqlite"} if key in KEYS[4:6] else set()), key


@pytest.mark.threat("T33", "T37")
@needs_a_sandbox
async def test_a_key_of_the_daemons_environment_goes_to_its_provider_and_nowhere_else(served: Served) -> None:
    """Not to a command, by name or by value; not into the log, though the provider itself says it in an error.

    Nor can it be read where the system shows what the daemon was started with.
    """
    key = "sk-planted-in-the-daemons-environment"
    looks = "env; cat /proc/[0-9]*/environ; cat /proc/$PPID/environ"
    replies = (
        calls(("shell", {"command": looks})),
        says("Done."),
        fails(401, f"{key} is not known.", headers={"x-given": key}),
    )
    async with ProviderServer(replies) as provider:
        served.env |= {"OPENAI_API_KEY": key, "SOME_PASSWORD": key, "OPENAI_BASE_URL": provider.base_url}
        served.configure(**FREE, defaultModel="script")
        async with served.serving("--trust"):
            asked = json.dumps({"prompt": "Look around."}).encode()
            statuses = [
                (await served.ask("POST /v1/one-shot", "Content-Type: application/json", body=asked))[0]
                for _ in range(2)
            ]
            shown = shown_of(served.process.pid)
        sent = [request.headers.get("authorization") for request in provider.requests]
        told = str(provider.requests[1].json)

    assert (statuses, sent) == ([200, 502], [f"Bearer {key}"] * 3)
    assert "AGI_" in told or "PATH=" in told
    assert key not in told
    assert key not in served.said
    assert b"PATH=" in shown
    assert key.encode() not in shown
    assert holders(key.encode(), served.project, served.home) == []

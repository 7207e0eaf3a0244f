"""A key is known to the process that sends it, and to nobody else: planted, used, echoed, and looked for."""

from __future__ import annotations

import json
from pathlib import Path

from agi.testing.replies import calls, fails, says

KEY = "sk-canary-3f9a1c77e5b24d0c9a11f0"
LOOKS = f"env; cat /proc/self/environ; printf '%s' {KEY[:12]}; echo {KEY[12:]}; echo $OPENAI_API_KEY {KEY}"


def holding(root: Path) -> list[str]:
    """Every file below a folder that holds the key, however it was cut into rows."""
    found = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [str(path.relative_to(root)) for path in found if KEY.encode() in path.read_bytes()]


async def test_a_planted_key_is_in_no_file_no_output_and_no_childs_environment(cli, tmp_path):
    """The model says it, a command looks for it and repeats it, the provider's error repeats it."""
    cli.env["OPENAI_API_KEY"] = KEY
    cli.write("notes.txt", "nothing\n")
    replies = (
        calls(("shell", {"command": LOOKS})),
        calls(("read_file", {"path": "notes.txt"}), text=f"Your key is {KEY}, is it not?"),
        says(f"It is {KEY}."),
        fails(401, f"Incorrect API key provided: {KEY}."),
    )
    async with cli.answered_by(*replies) as provider:
        done = await cli("--yes", "--trust", "--json", "which key do you use?")
        refused = await cli("and now?")

    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert done.code == 0, done.err
    assert refused.code != 0
    for text in (done.out, done.err, refused.out, refused.err):
        assert KEY not in text
    assert holding(tmp_path) == []


async def test_a_key_in_the_users_file_stays_in_the_users_file(cli, tmp_path):
    """The daemon reads it there; its folder, its answers and its own log do not repeat it."""
    async with cli.answered_by(says(f"{KEY} is what I was sent.")) as provider:
        cli.configure({"defaultModel": "script", "providers": {"openai": {"apiKey": KEY}}})
        (cli.home / "config.json").chmod(0o600)
        async with cli.daemon() as daemon:
            done = await cli("--json", "hello")
        told = await daemon.stderr.read() if daemon.stderr and not daemon.stderr.at_eof() else b""

    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert done.code == 0, done.err
    assert KEY not in done.out + done.err + told.decode()
    assert holding(tmp_path) == ["home/.config/agi/config.json"]
    assert json.loads((cli.home / "config.json").read_text())["providers"]["openai"]["apiKey"] == KEY

"""Published attacks on local servers of agents and models, each in its own shape, against a real `agi serve`.

The daemon runs as people run it: on loopback, with `auth: "auto"`, so that whoever is not a page needs no token.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import UPGRADE, Served, speak

JSON = "Content-Type: application/json"
PAGE = "Origin: https://evil.example"
ONE_SHOT = json.dumps({"prompt": "planted"}).encode()


@pytest.mark.advisory("CVE-2026-22812", "GHSA-vxw4-wv6m-9hhh", "opencode#6355")
async def test_cve_2026_22812_a_page_gets_neither_a_shell_nor_a_file_nor_cors(served: Served) -> None:
    """The server's acting and reading routes were open to every origin."""
    async with served.serving():
        for request, body in (
            ("POST /v1/one-shot", ONE_SHOT),
            ("POST /v1/sessions", b"{}"),
            ("GET /v1/sessions", b""),
            ("OPTIONS /v1/one-shot", b""),
        ):
            status, answer = await served.ask(request, PAGE, *([JSON] if body else []), body=body)
            assert status == 403, request
            assert "access-control-allow" not in answer.lower()
        simple = await served.ask("POST /v1/one-shot", "Content-Type: text/plain", body=ONE_SHOT)

        assert simple[0] == 415
        assert await served.sessions() == []


@pytest.mark.advisory("opencode#38857", "OpenHands default")
async def test_opencode_38857_listening_everywhere_needs_a_flag_and_then_the_token_and_is_logged(
    served: Served,
) -> None:
    """A server without a password stood open to the network, and kept no log of who came."""
    code, _, said = await served.run("serve", "--host", "0.0.0.0", "--port", "0")
    assert (code, "--expose" in said) == (2, True)

    async with served.serving("--host", "0.0.0.0", "--expose"):
        refused = await served.ask("POST /v1/one-shot", JSON, body=ONE_SHOT)
        known = await served.ask("GET /v1/sessions", f"Authorization: Bearer {served.token}")

    assert (refused[0], known[0]) == (401, 200)
    assert [line for line in served.said.splitlines() if "/v1/one-shot" in line and " 401 " in line]


@pytest.mark.advisory("CVE-2025-49596")
async def test_cve_2025_49596_no_request_spawns_a_program(served: Served, tmp_path: Path) -> None:
    """A proxy for MCP took the command to start from the query string, of anybody."""
    touched = tmp_path / "touched"
    command = f"command=touch&args={touched}&transportType=stdio"
    server = {"mcpServers": {"x": {"command": "touch", "args": [str(touched)]}}}
    named = json.dumps({"command": "touch", "args": [str(touched)]}).encode()
    async with served.serving():
        statuses = [
            (await served.ask(f"GET /sse?{command}"))[0],
            (await served.ask(f"GET /stdio?{command}", PAGE))[0],
            (await served.ask(f"GET /v1/mcp?{command}"))[0],
            (await served.ask("POST /v1/mcp", JSON, body=json.dumps(server).encode()))[0],
            (await served.ask("POST /v1/mcp/x/test", JSON, body=named))[0],
            (await served.ask("POST /v1/sessions", JSON, body=json.dumps(server).encode()))[0],
        ]

    assert statuses == [404, 403, 422, 405, 422, 422]
    assert not touched.exists()


@pytest.mark.advisory("CVE-2025-52882", "CVE-2026-25253", "ClawJacked")
async def test_cve_2025_52882_a_websocket_of_a_page_is_refused_before_it_opens(served: Served) -> None:
    """Browsers let any page open a socket to this machine; the server has to look at who asks."""
    async with served.serving():
        for path in ("/v1/chat", "/v1/rpc", "/", "/mcp"):
            for origin in ("https://evil.example", "null", "http://localhost:3000", "vscode-webview://x"):
                status, answer = await served.ask(f"GET {path}", *UPGRADE, f"Origin: {origin}")
                assert (status, "sec-websocket-accept" in answer.lower()) == (403, False), (path, origin)


@pytest.mark.advisory("CVE-2026-25253", "ClawJacked")
async def test_cve_2026_25253_a_token_cannot_be_tried_out_by_the_thousand(served: Served) -> None:
    """A page guessed the password over a socket, without any limit."""
    async with served.serving():
        guesses = [(await served.ask("GET /v1/sessions", f"Authorization: Bearer {n:032}"))[0] for n in range(40)]

    assert set(guesses) == {401, 429}
    assert guesses.count(429) >= 10


@pytest.mark.advisory("AutoJack")
async def test_autojack_an_origin_on_this_machine_is_no_password(served: Served) -> None:
    """Localhost was on the list of those who may, and the agent's own browser is there too."""
    async with served.serving():
        for origin in ("http://localhost:8081", "http://127.0.0.1:1", "http://localhost", "http://[::1]:1"):
            over_http = await served.ask("POST /v1/one-shot", JSON, f"Origin: {origin}", body=ONE_SHOT)
            over_socket = await served.ask("GET /v1/chat?command=id", *UPGRADE, f"Origin: {origin}")
            assert (over_http[0], over_socket[0]) == (403, 403), origin
        assert await served.sessions() == []


@pytest.mark.advisory(
    *("CVE-2024-28224", "CVE-2025-66414", "GHSA-w48q-cv73-mx4w", "CVE-2026-42559", "CVE-2026-11624"),
    "GHSA-rjr6-rcgv-9m7m",
)
async def test_cve_2024_28224_a_name_that_was_rebound_to_this_machine_is_not_ours(served: Served) -> None:
    """A page's own name may lead here after a moment; what the browser says of it is still the page's name."""
    asked = {"GET /v1/sessions": (), "POST /v1/one-shot": (JSON,), "GET /healthz": (), "POST /mcp": (JSON,)}
    async with served.serving():
        port, bearer = served.port, f"Authorization: Bearer {served.token}"
        names = ("evil.example", "127.0.0.1.evil.example", "localhost.evil")
        for host in ("evil.example", *(f"{name}:{port}" for name in names)):
            for request, headers in {**asked, "GET /v1/rpc": UPGRADE}.items():
                body = ONE_SHOT if request.startswith("POST") else b""
                status, answer = await speak(port, request, f"Host: {host}", bearer, *headers, body=body)
                assert (status, "host_refused" in answer) == (403, True), (host, request)
        assert await served.sessions() == []


@pytest.mark.advisory("goose server")
async def test_goose_server_what_is_open_to_anybody_says_one_word(served: Served) -> None:
    """Some routes were left out of the check of the secret."""
    served.configure(defaultProvider="scripted", auth="token")
    async with served.serving():
        status, answer = await served.ask("GET /healthz")
        others = [
            (await served.ask(request))[0]
            for request in (
                "GET /v1",
                "GET /status",
                "GET /openapi.json",
                "GET /v1/health",
                "POST /healthz",
                "GET /docs",
            )
        ]

    assert (status, answer.partition("\r\n\r\n")[2]) == (200, '{"status":"ok"}')
    assert others == [401] * 6

"""What the daemon tells: its address on one stream, everything else on the other, as text or as JSON; no secrets.

In JSON each line is one object with `ts`, `level` and `event`; turns that end have a line too. What was said in a
session is never part of it. May import: errors, protocol, sessions, telemetry, server.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

import msgspec

from agi.config.values import LogFormat
from agi.errors import AgiError, Unavailable
from agi.protocol import events as ev
from agi.protocol.times import to_rfc3339
from agi.server.access import AccessLine, format_line
from agi.sessions.harness import Harness
from agi.sessions.sites import Site
from agi.telemetry.tellable import method


class Speaker:
    """The daemon's voice."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self.clean: Callable[[bytes], bytes] = bytes
        self.format: LogFormat = "text"

    def say(self, url: str) -> None:
        """Tell where it is."""
        _write(self._out, f"{url}\n")

    def tell(self, text: str) -> None:
        """Tell something a person should know."""
        level = "warning" if text.startswith("agi: warning") else "info"
        self._tell(text, level, "told", {"message": text.removeprefix("agi: ").removeprefix("warning: ")})

    def log(self, line: AccessLine) -> None:
        """One request that is over."""
        told = msgspec.structs.replace(line, method=method(line.method))
        self._tell(lambda: format_line(line), "info", "request", msgspec.structs.asdict(told))

    def hear(self, events: Sequence[ev.Event]) -> None:
        """In JSON, a line for each turn that ended."""
        if self.format != "json":
            return
        for event in events:
            data = event.data if event.type in _TOLD else None
            if isinstance(data, ev.TurnCompleted | ev.TurnFailed | ev.TurnCanceled):
                level = "error" if isinstance(data, ev.TurnFailed) else "info"
                self._tell("", level, event.type, _ending(event, data))

    def failed(self, session_id: str, error: BaseException) -> None:
        """A session could not be run, which is not its turn's own failure."""
        told = {"session_id": session_id, "message": _described(error)}
        self._tell(f"agi: running {session_id or 'a session'} failed: {_described(error)}", "error", "run_failed", told)

    def broke(self, error: Exception) -> None:
        """A mistake of ours."""
        import traceback  # late: only a mistake of ours needs it

        text = "".join(traceback.format_exception(error)).rstrip()
        self._tell(text, "error", "broke", {"message": _described(error), "traceback": text})

    async def tell_sandbox(self, site: Site) -> None:
        """What holds commands, or, loudly, that nothing does."""
        from agi.server.health import unsandboxed  # late: it knows of models too, and nobody waits for this

        try:
            rung = await asyncio.to_thread(lambda: site.cells.rung(site))
        except Unavailable as error:
            self.tell(f"agi: warning: {error.message} {error.hint}")
            return
        self.tell(f"agi: sandbox: {rung.name}" if rung.confines else f"agi: warning: {unsandboxed(rung)}.")

    def warn_about(self, harness: Harness, site: Site) -> None:
        """What a person should know before the first request."""
        if harness.rebuilt is not None:
            self.tell(f"agi: {harness.rebuilt.told()}")
        if not site.trusted and any("not trusted" in warning for warning in site.config.warnings):
            self.tell("agi: this workspace is not trusted; what its files could run is ignored. `agi trust` trusts it.")
        for warning in site.config.warnings:
            self.tell(f"agi: warning: {warning}")

    def _tell(self, text: str | Callable[[], str], level: str, event: str, fields: Mapping[str, object]) -> None:
        if self.format == "json":
            line = msgspec.json.encode({"ts": to_rfc3339(time.time()), "level": level, "event": event, **fields})
        else:
            line = (text if isinstance(text, str) else text()).encode(errors="replace")
        _write(self._err, self.clean(line).decode(errors="replace") + "\n")


_TOLD = frozenset(kind.TYPE for kind in (ev.TurnCompleted, ev.TurnFailed, ev.TurnCanceled))


def _ending(event: ev.Event, data: ev.TurnCompleted | ev.TurnFailed | ev.TurnCanceled) -> dict[str, object]:
    told: dict[str, object] = {
        "session_id": event.session_id,
        "turn_id": event.turn_id,
        "seconds": data.seconds,
        "usage": data.usage,
    }
    if isinstance(data, ev.TurnCompleted):
        told |= {"stop_reason": data.stop_reason, "steps": data.steps, "verification": data.verification}
    if isinstance(data, ev.TurnFailed):
        told["code"] = data.error.code
    return told


def _write(stream: TextIO, text: str) -> None:
    """Nobody may be listening any more; that must not stop the daemon."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()


def _described(error: BaseException) -> str:
    return error.message if isinstance(error, AgiError) else f"{type(error).__name__}: {error}"

"""`/v1/rpc`: seed 001's surface. JSON-RPC 2.0 over a WebSocket; a translation of the verbs of sessions and of events.

A connection holds nothing but which projects it speaks of and what it follows: drafts, workers, questions and answers
are in the log, so any client may talk, answer and undraft. May import: errors, protocol, eventlog, sessions, server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agi.errors import AgiError
from agi.protocol import rpc
from agi.server.refusals import Refusal
from agi.server.request import Shared
from agi.server.rpc_following import Following
from agi.server.rpc_frames import Asked, Message, answer, no_method, number_of, params_of, read, refusal
from agi.server.rpc_methods import SLOW, Methods
from agi.server.sockets import Socket

MOST_WAITING = 100
"""How many slow calls of one client may be under way; then it is not read until one is over."""

_FAILED = AgiError("Something went wrong here.", code="internal_error", hint="The daemon's log says more.")


class Rpc:
    """One client."""

    def __init__(self, socket: Socket, shared: Shared) -> None:
        self._socket = socket
        self._following = Following(socket, shared.harness)
        self._methods = Methods(shared.harness, self._following.attend)
        self._slow: set[asyncio.Task[None]] = set()

    async def proved(self, text: str, prove: Callable[[str], Refusal | None]) -> bool:
        """Whether the first message is `auth` with the token."""
        message = read(text)[0][0]
        token, asked = "", b"null"
        if isinstance(message, Asked):
            asked = message.id or b"null"
            if message.method == rpc.Auth.METHOD:
                try:
                    token = params_of(rpc.Auth, message.params).token
                except AgiError:
                    token = ""
        refused = prove(token)
        if refused is not None:
            hint = 'Call `auth` with {"token": "…"} first, or send the token as a header.'
            error = AgiError(refused.message, code=refused.code, hint=hint)
            await self._socket.say(refusal(asked, rpc.SERVER_ERROR, error).decode())
            return False
        await self._socket.say(answer(asked, rpc.Done()).decode())
        return True

    async def begin(self) -> None:
        """The client is known: it is told what happens in the daemon's own project."""
        self._methods.project()
        self._following.begin()

    async def hear(self, text: str) -> None:
        """Answer one message, or a batch; what may take long is answered when it is done."""
        messages, is_batch = read(text)
        if not any(isinstance(one, Asked) and one.method in SLOW for one in messages):
            await self._answer(messages, is_batch=is_batch)
            return
        while len(self._slow) >= MOST_WAITING:
            await asyncio.wait(self._slow, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._answer(messages, is_batch=is_batch), name="rpc")
        self._slow.add(task)
        task.add_done_callback(self._over)

    async def close(self) -> None:
        """Follow nothing any more; drafts and workers go on by themselves."""
        for task in self._slow:
            task.cancel()
        await asyncio.gather(*self._slow, return_exceptions=True)
        await self._following.close()

    def _over(self, task: asyncio.Task[None]) -> None:
        self._slow.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, OSError):
            _report(error)

    async def _answer(self, messages: list[Message], *, is_batch: bool) -> None:
        """One after the other, in their order; those without an id get no answer."""
        answers = [said for one in messages if (said := await self._answered(one)) is not None]
        if answers:
            text = b"[" + b",".join(answers) + b"]" if is_batch else answers[0]
            await self._socket.say(text.decode())

    async def _answered(self, message: Message) -> bytes | None:
        if not isinstance(message, Asked):
            return refusal(message.id, message.number, message.error)
        kind = rpc.METHODS.get(message.method)
        if kind is None:
            said = refusal(message.id or b"null", rpc.METHOD_NOT_FOUND, no_method(message.method))
        else:
            try:
                said = answer(message.id or b"null", await self._methods.call(params_of(kind, message.params)))
            except AgiError as error:
                said = refusal(message.id or b"null", number_of(error), error)
            except Exception as error:  # a mistake of ours: the client is told, and goes on
                _report(error)
                said = refusal(message.id or b"null", rpc.INTERNAL_ERROR, _FAILED)
        return None if message.id is None else said


def _report(error: BaseException) -> None:
    asyncio.get_running_loop().call_exception_handler({"message": "A call failed.", "exception": error})

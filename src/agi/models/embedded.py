"""The embedded model: a small language model inside this process, for machines where no other is set up.

It answers one request at a time, in the order they came, in a thread of its own; loading happens at the first one and
once per process, however many sessions ask. Requests and answers are in Chat Completions' format, as llama.cpp takes
them. How a model this small is best asked is `small`'s business, what it runs on `embedded_runtime`'s. May import:
errors, protocol, models.base, models.failures, models.openai_chat_answer, models.openai_chat_format,
models.weights and its own parts.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from agi.errors import AgiError, ModelError
from agi.models.base import ModelInfo, ModelRequest, StreamItem
from agi.models.embedded_kept import Kept
from agi.models.embedded_runtime import (
    CONTEXT_TOKENS,
    Runtime,
    RuntimeSettings,
    best_threads,
    load_llama,
    with_progress,
)
from agi.models.failures import Failures
from agi.models.openai_chat_answer import ChatAnswer
from agi.models.openai_chat_format import encode_request
from agi.models.weights import is_ours

PROVIDER = "embedded"
NAME = "qwen2.5-coder-1.5b"
NOTE = "embedded 1.5B model (Apache-2.0, Alibaba Cloud): fine for looking things up, not for real coding"
INFO = ModelInfo(provider=PROVIDER, id=NAME, context_window=CONTEXT_TOKENS, max_output_tokens=1024, note=NOTE)

Load = Callable[[RuntimeSettings], Runtime]
Heard = Callable[[bytes], bool]


class Engine:
    """One set of weights in memory, and the thread that uses it. Costs nothing until it is first asked.

    `keep_in` is a folder of the user's for what need not be read again; without one, nothing is kept.
    """

    def __init__(
        self, weights: Path, *, threads: int | None = None, keep_in: Path | None = None, load: Load = load_llama
    ) -> None:
        self._settings = RuntimeSettings(weights=weights, threads=threads or 0)
        self._keep_in = keep_in
        self._load = load
        self._worker: ThreadPoolExecutor | None = None
        # Only the thread touches these two.
        self._runtime: Runtime | None = None
        self._beginning = b""

    def ask(self, body: bytes, heard: Heard) -> Future[None]:
        """Answer after whatever was asked before; the future fails with ModelError or Invalid."""
        return self._submit(lambda: self._loaded().ask(body, heard))

    def prepare(self, body: bytes, heard: Heard) -> Future[None]:
        """See that a beginning is read: taken up from what another process kept, else read now and kept."""
        return self._submit(lambda: self._prepare(body, heard))

    async def close(self) -> None:
        """Give the memory back, after what is being answered; asked again, it loads again."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.wrap_future(worker.submit(self._unload))
            worker.shutdown(wait=False)

    def _submit(self, work: Callable[[], None]) -> Future[None]:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="agi-embedded")
        return self._worker.submit(work)

    def _prepare(self, body: bytes, heard: Heard) -> None:
        runtime = self._loaded()
        if self._beginning == body:
            return
        kept = Kept(self._keep_in, self._settings) if self._keep_in else None
        if kept is None or not kept.take_up(runtime, body):
            stopped = False

            def listen(chunk: bytes) -> bool:
                nonlocal stopped
                stopped = stopped or heard(chunk)
                return stopped

            runtime.ask(body, listen)
            if stopped:
                return
            if kept is not None:
                kept.write(runtime, body)
        self._beginning = body

    def _loaded(self) -> Runtime:
        if self._runtime is None:
            threads = best_threads(self._settings.threads or None)
            self._settings = RuntimeSettings(weights=self._settings.weights, threads=threads)
            self._runtime = self._load(self._settings)
        return self._runtime

    def _unload(self) -> None:
        runtime, self._runtime, self._beginning = self._runtime, None, b""
        if runtime is not None:
            runtime.close()


class Engines:
    """The engines of one process, by file: two sessions must not load two gigabytes twice."""

    def __init__(self) -> None:
        self._by_file: dict[Path, Engine] = {}

    def get(self, weights: Path, *, threads: int | None = None) -> Engine:
        """The engine of a file; the settings of who asks first count."""
        if weights not in self._by_file:
            keep_in = weights.parent if is_ours(weights) else None  # beside a user's own file, nothing is written
            self._by_file[weights] = Engine(weights, threads=threads, keep_in=keep_in)
        return self._by_file[weights]

    async def close(self) -> None:
        """Give all memory back."""
        for engine in self._by_file.values():
            await engine.close()


_SHARED = Engines()


def shared_engines() -> Engines:
    """The engines of this process: workspaces come and go, the memory for weights is there once."""
    return _SHARED


class Embedded:
    """Provider `embedded`: a model on an engine that others may share."""

    patterns_as_written = True
    """llama.cpp puts a schema's pattern between the quotes as it stands."""

    def __init__(self, engine: Engine, *, name: str = NAME) -> None:
        self._engine = engine
        self._name = name
        self._failures = Failures(PROVIDER, name, None)

    @property
    def provider(self) -> str:
        """Always `embedded`."""
        return PROVIDER

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def takes_schema(self, *, with_tools: bool) -> bool:
        """The runtime forces every answer into its schema."""
        return True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask; closing the iterator early stops it soon. Raises ModelError, or Invalid without the runtime."""
        answer = ChatAnswer(self._failures)
        chunks = _Chunks()
        asked = self._engine.ask(self._body(request), chunks.take)
        asked.add_done_callback(chunks.end)
        try:
            while (chunk := await chunks.next()) is not None:
                for item in answer.take(chunk):
                    yield item
        finally:
            chunks.stop()
            asked.cancel()  # in case its turn has not come yet
        for item in answer.finish():
            yield item

    async def prepare(self, request: ModelRequest) -> None:
        """Read the beginning that later requests share; canceling stops it soon. Raises as `stream` does."""
        chunks = _Chunks()
        asked = self._engine.prepare(self._body(request), chunks.take)
        asked.add_done_callback(chunks.end)
        try:
            while await chunks.next() is not None:
                pass
        finally:
            chunks.stop()
            asked.cancel()

    async def close(self) -> None:
        """Give the memory back; for all who share the engine."""
        await self._engine.close()

    def _body(self, request: ModelRequest) -> bytes:
        return with_progress(encode_request(PROVIDER, self._name, request, limit_name="max_tokens"))


class _Chunks:
    """Carries an answer from the engine's thread to the loop, and the wish to stop the other way."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue()
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def next(self) -> bytes | None:
        """The next chunk, None at the end; raises what the thread failed with."""
        told = await self._queue.get()
        if isinstance(told, AgiError):
            raise told
        if isinstance(told, BaseException):
            raise ModelError(f"The embedded model failed: {type(told).__name__}.", hint="Try again.") from told
        return told

    def take(self, chunk: bytes) -> bool:
        """Called in the thread; True to stop."""
        self._tell(bytes(chunk))
        return self._stopped.is_set()

    def end(self, asked: Future[None]) -> None:
        """Called by the future when it is over, in whichever thread that was."""
        if not asked.cancelled():
            self._tell(asked.exception())

    def _tell(self, told: bytes | BaseException | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._queue.put_nowait, told)

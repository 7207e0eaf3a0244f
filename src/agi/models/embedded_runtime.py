"""The runtime of the embedded model: llama.cpp inside this process, made quiet, private and polite.

llama.cpp comes as a server that wants a port, the log, and the signals of the process it is loaded into. Here it gets
none of them: its socket lies in a folder only the user can enter, behind a key nobody else has; it prints nothing;
SIGINT and SIGTERM stay with who had them. Threads and queues are `embedded`'s business. May import: errors, extras.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from weakref import finalize

import msgspec
from msgspec import Struct

from agi.errors import Invalid, ModelError
from agi.extras import how_to_add

CONTEXT_TOKENS = 4096
"""What it can look at: twice as much costs 117 MB more, and minutes to read."""
_BATCH = 128
"""Tokens read between two looks at whether to go on: about two seconds on two cores."""
_CACHE_MIB = 256
"""Memory for beginnings of conversations that are not the current one."""
_MOST_THREADS = 8
_HTTP_TIMEOUT_S = 20.0
_KEPT_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ROOM_FOR_SIGACTION = 512


class RuntimeSettings(Struct, frozen=True, kw_only=True):
    """What is loaded, and how many threads think."""

    weights: Path
    threads: int
    context_tokens: int = CONTEXT_TOKENS


class Runtime(Protocol):
    """A loaded model. One call at a time; every method blocks."""

    version: str
    """Of what runs it: what one version has written, another may not understand."""

    def ask(self, body: bytes, heard: Callable[[bytes], bool]) -> None:
        """Answer a request in Chat Completions' format; each chunk goes to `heard`, which says True to stop."""

    def save(self, path: Path) -> bool:
        """Write down what was read last, so that another process need not read it again; False if it cannot be."""

    def restore(self, path: Path) -> bool:
        """Take up what was written down; False if it does not fit."""

    def close(self) -> None:
        """Give the memory back."""


def best_threads(wanted: int | None, *, cores: int | None = None, load: float | None = None) -> int:
    """As many as there are cores (up to eight) on a quiet machine, half of them on a busy one."""
    if wanted:
        return max(1, min(wanted, 256))
    cores = cores or os.cpu_count() or 1
    if load is None:
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    most = min(cores, _MOST_THREADS)
    return most if load < cores / 2 else max(1, most // 2)


def missing_runtime() -> Invalid:
    """What to say where the extra is not installed."""
    hint = f"Run `{how_to_add('local')}`."
    return Invalid("The embedded model needs a runtime that is not installed.", hint=hint, code="runtime_missing")


def load_llama(settings: RuntimeSettings) -> Runtime:
    """Load the weights; takes seconds and two gigabytes. Raises Invalid without the extra, ModelError if it fails."""
    try:
        xllamacpp = import_module("xllamacpp")  # late: 100 MB, and an extra of its own
    except ImportError as error:
        raise missing_runtime() from error
    return Llama(xllamacpp, settings, Path(tempfile.mkdtemp(prefix="agi-")))


class Llama:
    """llama.cpp with one model and one slot."""

    def __init__(self, library: Any, settings: RuntimeSettings, folder: Path) -> None:
        self.version = str(getattr(library, "__version__", ""))
        self._folder = folder
        self._key = secrets.token_urlsafe(24)
        self._tidy = finalize(self, shutil.rmtree, folder, ignore_errors=True)  # also if nobody closes it
        try:
            with _signals_kept():
                self._server = library.Server(_params(library, settings, folder, self._key))
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(
                f"The embedded model could not be loaded from {settings.weights.name}.",
                hint="Check that the file is a GGUF model and that 2 GB of memory are free, or fetch it again.",
                code="weights_unusable",
            ) from error

    def ask(self, body: bytes, heard: Callable[[bytes], bool]) -> None:
        """Answer; raises ModelError for what the runtime refuses."""
        try:
            self._server.handle_chat_completions(body, heard)
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                f"The embedded model cannot answer this: {str(error)[:300]}",
                hint="If a schema was given, check it; else ask in another way.",
                code="provider_failed",
            ) from error

    def save(self, path: Path) -> bool:
        """Have the slot written to a file and move that to `path`."""
        made = self._folder / "state"
        try:
            if not self._slot("save"):
                return False
            made.chmod(0o600)
            shutil.move(made, path)
            return True
        except OSError:
            return False
        finally:
            with suppress(OSError):
                made.unlink()

    def restore(self, path: Path) -> bool:
        """Read the slot from a file that `save` has made."""
        made = self._folder / "state"
        try:
            shutil.copyfile(path, made)
            return self._slot("restore")
        except OSError:
            return False
        finally:
            with suppress(OSError):
                made.unlink()

    def close(self) -> None:
        """Unload."""
        self._server = None
        self._tidy()

    def _slot(self, action: str) -> bool:
        """The one thing the library offers only over its socket."""
        body = b'{"filename":"state"}'
        head = (
            f"POST /slots/0?action={action} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {self._key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(_HTTP_TIMEOUT_S)
            sock.connect(str(_socket_path(self._folder)))
            sock.sendall(head.encode() + body)
            return sock.makefile("rb").readline(256).startswith(b"HTTP/1.1 200")


def _socket_path(folder: Path) -> Path:
    # A name that ends like this makes the library listen there instead of on a port.
    return folder / "llama.sock"


def _params(library: Any, settings: RuntimeSettings, folder: Path, key: str) -> Any:
    params = library.CommonParams()
    params.model.path = str(settings.weights)
    params.n_ctx = settings.context_tokens
    params.n_batch = _BATCH
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cache_ram_mib = _CACHE_MIB
    params.warmup = False  # costs a second, and the first request warms as well
    params.verbosity = -1  # not a word on stdout or stderr
    params.hostnames = [str(_socket_path(folder))]
    params.api_keys = [key]
    params.slot_save_path = f"{folder}/"
    params.n_threads_http = 1
    params.ui = False
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = settings.threads
        # Waiting by spinning is as fast on a quiet machine and three times slower on a busy one.
        cpu.poll = 0
    return params


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Give SIGINT and SIGTERM back to who handled them: the library takes both while it loads.

    In C, because Python lets only the main thread speak of signals, and this is not run there.
    """
    libc = ctypes.CDLL(None)
    before: Mapping[int, Any] = {number: ctypes.create_string_buffer(_ROOM_FOR_SIGACTION) for number in _KEPT_SIGNALS}
    for number, room in before.items():
        libc.sigaction(number, None, room)
    try:
        yield
    finally:
        for number, room in before.items():
            libc.sigaction(number, room, None)


def with_progress(body: bytes) -> bytes:
    """A request that also tells how far the prompt is read: each telling is a chance to stop."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**fields, "return_progress": True})

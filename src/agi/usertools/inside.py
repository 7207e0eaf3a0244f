"""The program inside: loads a tool from the text it is given, describes or calls it, and answers on a line of its own.

Started by a path, in a sandbox, with nothing of this package around it. Its first descriptor is a socket over which one
request comes and one answer goes; the tool finds an empty input there instead, and may print as it likes. What it is
given is what was trusted: no Python of the project is read from disk. May import: nothing of ours.
"""

from __future__ import annotations

import fcntl
import importlib.machinery
import importlib.util
import json
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_FIRST_FREE = 100
"""Descriptors below may be expected by programs."""
_LARGEST = 16 << 20
"""Bytes of an answer."""
_SHOWN = 2_000
_EMPTY = "/dev/null"


class _Problem(Exception):
    """What is wrong with a tool, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class _Sources:
    """Finds and loads the files beside tool.py, from memory; the base classes for that would cost half the start."""

    def __init__(self, folder: str, sources: Mapping[str, str]) -> None:
        self._folder = folder
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Where a module of this name is, if it is ours."""
        name = fullname.replace(".", "/")
        file = next((one for one in (f"{name}/__init__.py", f"{name}.py") if one in self._sources), None)
        is_folder = file is None and any(one.startswith(f"{name}/") for one in self._sources)
        if file is None and not is_folder:
            return None
        is_package = is_folder or f"{name}/__init__.py" == file
        origin = f"{self._folder}/{file}" if file else None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=origin, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = file is not None
        spec.loader_state = file
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """A module like any other."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run it."""
        file = module.__spec__.loader_state if module.__spec__ else None
        if file is not None:
            code = compile(self._sources[file], f"{self._folder}/{file}", "exec", dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102

    def get_source(self, fullname: str) -> str | None:
        """Its text, for tracebacks."""
        name = fullname.replace(".", "/")
        return self._sources.get(f"{name}.py", self._sources.get(f"{name}/__init__.py"))


def _take_channel() -> int:
    """Keep the way out to ourselves: neither the tool's input nor its children lead there."""
    channel = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    empty = os.open(_EMPTY, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.register_at_fork(after_in_child=lambda: os.close(channel))
    return channel


def _read_all(channel: int) -> bytes:
    pieces = []
    while piece := os.read(channel, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def _beside(name: str, file: str) -> types.ModuleType:
    """A module of ours from the file beside this one."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), file)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load(request: Mapping[str, Any], author: types.ModuleType) -> tuple[Callable[..., Any], str, float]:
    """Run tool.py and find the function it marks."""
    folder = request["folder"]
    sys.meta_path.insert(0, _Sources(folder, request["sources"]))
    try:
        importlib.import_module("tool")
    except SyntaxError as error:
        where = f"{_inside(folder, error.filename)}:{error.lineno}" if error.filename else "tool.py"
        raise _Problem(f"It is no valid Python: {error.msg} ({where}).", "Mend it.") from None
    except SystemExit as error:
        hint = "Take that out; only the function that @tool marks is called."
        raise _Problem(f"It ends the program while it is loaded (exit code {error.code!r}).", hint) from None
    except BaseException as error:
        hint = ""
        if isinstance(error, ModuleNotFoundError):
            hint = "A tool can import the standard library, what is installed with agi, and files beside tool.py."
        raise _Problem(f"It cannot be loaded: {_told(error, folder)}.", hint) from None
    if len(author.decorated) != 1:
        how_many = len(author.decorated) or "no"
        hint = "Write `from agi_tool import tool`, and `@tool` above one function."
        raise _Problem(f"@tool marks {how_many} functions; it must be one.", hint)
    found: tuple[Callable[..., Any], str, float] = author.decorated[0]
    return found


def _describe(request: Mapping[str, Any], author: types.ModuleType, signature: types.ModuleType) -> dict[str, Any]:
    sys.addaudithook(_refuse_forks)
    function, kind, timeout_s = _load(request, author)
    try:
        schema = signature.schema_of(function)
    except signature.Unfit as unfit:
        raise _Problem(f"`{function.__name__}` cannot be a tool: {unfit}.", "Mend its arguments.") from None
    doc = (getattr(function, "__doc__", None) or "").strip()
    return {"kind": kind, "timeout_seconds": timeout_s, "schema": schema, "doc": doc[: 8 * _SHOWN]}


def _refuse_forks(event: str, _: object) -> None:
    """A courtesy, not a wall: a program that splits while it is loaded is better told than ended."""
    if event in ("os.fork", "os.forkpty"):
        raise RuntimeError("a tool may not fork while it is loaded")


def _call(request: Mapping[str, Any], author: types.ModuleType, signature: types.ModuleType) -> dict[str, Any]:
    function, _, _ = _load(request, author)
    try:
        arguments = signature.bound(function, request["input"])
    except signature.Unfit as unfit:
        hint = "Write the call again."
        raise _Problem(f"The input of {request['name']} does not fit: {unfit}.", hint) from None
    try:
        value = function(**arguments)
        if hasattr(value, "__await__"):
            import asyncio  # late: most tools do not wait

            value = asyncio.run(_awaited(value))
    except author.ToolError as error:
        raise _Problem(str(error)[: 2 * _SHOWN] or "It failed.", str(error.hint)[:_SHOWN]) from None
    except SystemExit as error:
        raise _Problem(f"It ended the program (exit code {error.code!r}).") from None
    except BaseException as error:
        raise _Problem(f"{_told(error, request['folder'])}.") from None
    return {"value": value}


async def _awaited(value: Any) -> Any:
    return await value


def _told(error: BaseException, folder: str) -> str:
    """An error with the last place in the tool's own files that it passed."""
    where, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(folder + "/"):
            where = f" ({_inside(folder, file)}:{trace.tb_lineno}, {trace.tb_frame.f_code.co_name})"
        trace = trace.tb_next
    try:
        text = str(error)[:_SHOWN]
    except BaseException:
        text = "it does not say why"
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


def _inside(folder: str, path: str) -> str:
    return path.removeprefix(folder + "/")


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    author, signature = _beside("agi_tool", "author.py"), _beside("agi_signature", "signature.py")
    act = _describe if request["do"] == "describe" else _call
    try:
        return {"ok": True, **act(request, author, signature)}
    except _Problem as problem:
        return {"ok": False, "message": str(problem), "hint": problem.hint}


def _encoded(answer: Mapping[str, Any]) -> bytes:
    try:
        encoded = json.dumps(answer, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"What it returned is no JSON value: {error}."[:_SHOWN]
        hint = "Return text, numbers, true, false, None, lists, or dicts with text as keys."
        return json.dumps({"ok": False, "message": problem, "hint": hint}).encode()
    if len(encoded) > _LARGEST:
        problem = f"What it returned is larger than {_LARGEST >> 20} MiB."
        return json.dumps({"ok": False, "message": problem, "hint": "Write it to a file."}).encode()
    return encoded


def _main() -> None:
    channel = _take_channel()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)  # type: ignore[union-attr]
    request = json.loads(_read_all(channel))
    answer = _encoded(_answer(request)) + b"\n"
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the tool closed it
            pass
    while answer:
        answer = answer[os.write(channel, answer) :]
    # Whatever the tool left running ends here, too; the answer is given.
    os._exit(0)


if __name__ == "__main__":
    _main()

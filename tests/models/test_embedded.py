"""The embedded model on a scripted runtime: threads, queue, cancel and failures are real, only llama.cpp is not.

One test at the end runs the real thing, where its weights are on the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agi.errors import AgiError, Invalid, ModelError
from agi.extras import how_to_add
from agi.models import embedded_runtime
from agi.models.base import Finished, ModelRequest, StreamItem, TextDelta
from agi.models.embedded import INFO, Embedded, Engine, Engines, shared_engines
from agi.models.embedded_runtime import RuntimeSettings, best_threads, load_llama, with_progress
from agi.models.small import SmallModel
from agi.models.weights import cached
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
from agi.tools.builtin import builtin_tools


def chunk(text: str | None = None, **fields: object) -> bytes:
    delta = {"content": text}
    return json.dumps({"choices": [{"delta": delta, "finish_reason": None}], **fields}).encode()


END = json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}).encode()
USAGE = json.dumps(
    {
        "choices": [],
        "usage": {"prompt_tokens": 40, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 30}},
    }
).encode()
HELLO = (chunk(None, prompt_progress={"total": 40}), chunk("Hel"), chunk("lo"), END, USAGE)


class ScriptedRuntime:
    """Plays chunks instead of thinking; remembers what was asked, in which thread, and how far it came."""

    version = "scripted"

    def __init__(self, *answers: tuple[bytes, ...] | Exception, gate: threading.Event | None = None) -> None:
        self.answers = list(answers)
        self.gate = gate
        self.started = threading.Event()
        self.bodies: list[dict[str, object]] = []
        self.threads: set[str] = set()
        self.heard = 0
        self.events: list[str] = []

    def ask(self, body: bytes, heard: Callable[[bytes], bool]) -> None:
        self.bodies.append(json.loads(body))
        self.threads.add(threading.current_thread().name)
        self.started.set()
        if self.gate is not None:
            assert self.gate.wait(20)
        answer = self.answers.pop(0) if self.answers else HELLO
        if isinstance(answer, Exception):
            raise answer
        for one in answer:
            self.heard += 1
            if heard(one):
                self.events.append("stopped")
                return

    def save(self, path: Path) -> bool:
        self.events.append("saved")
        path.write_bytes(b"state")
        return True

    def restore(self, path: Path) -> bool:
        self.events.append("restored")
        return True

    def close(self) -> None:
        self.events.append("closed")


class Desk:
    """An engine on a scripted runtime; `loads` counts how often it was loaded."""

    def __init__(self, folder: Path, *answers: tuple[bytes, ...] | Exception, **fields: object) -> None:
        self.weights = folder / "small.gguf"
        self.weights.write_bytes(b"GGUF")
        self.runtime = ScriptedRuntime(*answers, **fields)  # type: ignore[arg-type]
        self.loads: list[RuntimeSettings] = []
        self.engine = Engine(self.weights, threads=3, load=self._load)
        self.model = Embedded(self.engine)

    def _load(self, settings: RuntimeSettings) -> ScriptedRuntime:
        self.loads.append(settings)
        return self.runtime


def request(text: str = "Hi", **options: object) -> ModelRequest:
    message = Message(id="m", role="user", parts=(Text(text=text),), created_at="", status="complete")
    return ModelRequest(system="Be brief.", messages=(message,), options=options)


async def play(model: Embedded, asked: ModelRequest | None = None) -> list[StreamItem]:
    return [item async for item in model.stream(asked or request())]


async def test_an_answer_is_streamed_with_what_it_cost(tmp_path: Path) -> None:
    """Text as it comes, tokens as the runtime counts them; its talk about progress is not part of it."""
    desk = Desk(tmp_path)

    assert await play(desk.model) == [
        TextDelta("Hel"),
        TextDelta("lo"),
        Finished(stop_reason="end_turn", usage=Usage(input_tokens=40, output_tokens=7, cached_tokens=30, requests=1)),
    ]
    await desk.engine.close()


async def test_it_says_what_it_is() -> None:
    """Everywhere a model is listed."""
    assert (INFO.provider, INFO.id) == ("embedded", "qwen2.5-coder-1.5b")
    assert "not for real coding" in INFO.note
    assert "Apache-2.0" in INFO.note


async def test_the_request_is_told_with_its_schema_untouched(tmp_path: Path) -> None:
    """Choices and constants reach the runtime as they are; and it is to tell how far it has read."""
    desk = Desk(tmp_path)
    schema = {"anyOf": [{"type": "object", "properties": {"action": {"const": "answer"}}}]}

    await play(desk.model, request(schema=schema, max_tokens=9, temperature=0))

    body = desk.runtime.bodies[0]
    assert body["response_format"]["json_schema"]["schema"] == schema  # type: ignore[index, call-overload]
    assert (body["max_tokens"], body["temperature"], body["return_progress"]) == (9, 0, True)
    assert [one["role"] for one in body["messages"]] == ["system", "user"]  # type: ignore[attr-defined]
    await desk.engine.close()


async def test_loading_happens_once_at_the_first_question(tmp_path: Path) -> None:
    """Two models on one engine share it; the loop's own thread never thinks."""
    desk = Desk(tmp_path)
    other = Embedded(desk.engine)
    assert desk.loads == []

    await play(desk.model)
    await play(other)

    assert [(one.weights, one.threads) for one in desk.loads] == [(desk.weights, 3)]
    assert len(desk.runtime.threads) == 1
    assert threading.current_thread().name not in desk.runtime.threads
    await desk.engine.close()


async def test_questions_are_answered_one_after_the_other(tmp_path: Path) -> None:
    """In the order they came; the loop stays free meanwhile."""
    gate = threading.Event()
    desk = Desk(tmp_path, gate=gate)
    first = asyncio.create_task(play(desk.model, request("one")))
    second = asyncio.create_task(play(desk.model, request("two")))
    await asyncio.to_thread(desk.runtime.started.wait, 20)

    assert len(desk.runtime.bodies) == 1
    gate.set()
    await asyncio.gather(first, second)

    assert [body["messages"][1]["content"] for body in desk.runtime.bodies] == ["one", "two"]  # type: ignore[index]
    await desk.engine.close()


async def test_closing_the_stream_stops_the_runtime(tmp_path: Path) -> None:
    """At the next word, of which there would be very many."""
    desk = Desk(tmp_path, (chunk("a"),) * 100_000)
    stream = desk.model.stream(request())

    assert await anext(stream) == TextDelta("a")
    await stream.aclose()
    await desk.engine.close()

    assert desk.runtime.events == ["stopped", "closed"]
    assert desk.runtime.heard < 100_000


async def test_a_question_that_is_canceled_while_it_waits_is_never_asked(tmp_path: Path) -> None:
    """Its turn does not come."""
    gate = threading.Event()
    desk = Desk(tmp_path, gate=gate)
    first = asyncio.create_task(play(desk.model, request("one")))
    second = asyncio.create_task(play(desk.model, request("two")))
    await asyncio.to_thread(desk.runtime.started.wait, 20)

    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    gate.set()
    await first
    await desk.engine.close()

    assert len(desk.runtime.bodies) == 1


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (ModelError("refused", code="provider_failed"), "provider_failed", "refused"),
        (ValueError("odd"), "provider_failed", "ValueError"),
        (MemoryError(), "provider_failed", "MemoryError"),
        (
            (b'{"error":{"code":400,"message":"request (9 tokens) exceeds the available context size"}}',),
            "context_overflow",
            "exceeds",
        ),
        ((b"not json",), "provider_failed", "not a piece of an answer"),
        ((chunk("Hel"),), "stream_cut", "in the middle"),
        ((), "stream_cut", "in the middle"),
    ],
)
async def test_whatever_fails_is_a_model_error(
    tmp_path: Path, answer: Exception | tuple[bytes, ...], code: str, said: str
) -> None:
    """Also what the runtime says in the middle of an answer; a conversation that is too long is known as such."""
    desk = Desk(tmp_path, answer)

    with pytest.raises(ModelError) as caught:
        await play(desk.model)

    assert caught.value.code == code
    assert said in caught.value.message
    assert await play(desk.model)  # the next one is answered
    await desk.engine.close()


async def test_a_load_that_fails_is_told_and_tried_again(tmp_path: Path) -> None:
    """The file may have been mended meanwhile."""
    problems: list[Exception] = [ModelError("broken file", code="weights_unusable"), Invalid("no runtime")]
    desk = Desk(tmp_path)

    def load(settings: RuntimeSettings) -> ScriptedRuntime:
        if problems:
            raise problems.pop(0)
        return desk.runtime

    model = Embedded(Engine(desk.weights, load=load))

    for said in ("broken file", "no runtime"):
        with pytest.raises(AgiError, match=said):
            await play(model)
    assert len(await play(model)) == 3
    await model.close()


async def test_closing_frees_the_memory_and_asking_again_loads_again(tmp_path: Path) -> None:
    """Closing what is not loaded, or closed, is harmless."""
    desk = Desk(tmp_path)
    await desk.engine.close()

    await play(desk.model)
    await desk.model.close()
    await desk.model.close()
    assert desk.runtime.events == ["closed"]
    await play(desk.model)
    await desk.engine.close()

    assert len(desk.loads) == 2


async def test_a_beginning_is_read_once_and_kept_for_the_next_process(tmp_path: Path) -> None:
    """The next engine takes it up instead of reading it; another beginning is read."""
    desk = Desk(tmp_path)
    for expected in (["saved", "closed"], ["saved", "closed", "restored", "closed"]):
        model = Embedded(Engine(desk.weights, keep_in=tmp_path, load=desk._load))
        await model.prepare(request("one"))
        await model.prepare(request("one"))
        await model.close()
        assert desk.runtime.events == expected
    assert len(desk.runtime.bodies) == 1

    model = Embedded(Engine(desk.weights, keep_in=tmp_path, load=desk._load))
    await model.prepare(request("two"))
    await model.close()
    assert len(desk.runtime.bodies) == 2


async def test_beside_a_file_of_the_users_own_nothing_is_kept(tmp_path: Path) -> None:
    """The beginning is read, and that is all."""
    desk = Desk(tmp_path)

    await desk.model.prepare(request("one"))
    await desk.model.close()

    assert desk.runtime.events == ["closed"]
    assert os.listdir(tmp_path) == [desk.weights.name]


async def test_preparing_can_be_canceled(tmp_path: Path) -> None:
    """What was read in part is not kept as a whole."""
    gate = threading.Event()
    desk = Desk(tmp_path, (chunk(None),) * 100_000, gate=gate)
    desk.engine = Engine(desk.weights, keep_in=tmp_path, load=desk._load)
    running = asyncio.create_task(Embedded(desk.engine).prepare(request()))
    await asyncio.to_thread(desk.runtime.started.wait, 20)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gate.set()
    await desk.engine.close()

    assert desk.runtime.events == ["stopped", "closed"]


def test_one_file_has_one_engine_in_a_process(tmp_path: Path) -> None:
    """However many workspaces ask for it."""
    engines = Engines()

    assert engines.get(tmp_path / "a") is engines.get(tmp_path / "a", threads=2)
    assert engines.get(tmp_path / "a") is not engines.get(tmp_path / "b")
    assert shared_engines() is shared_engines()


@pytest.mark.parametrize(
    ("wanted", "cores", "load", "threads"),
    [(None, 2, 0.1, 2), (None, 2, 1.5, 1), (None, 1, 9.0, 1), (None, 64, 1.0, 8), (None, 8, 6.0, 4), (3, 2, 9.0, 3)],
)
def test_a_busy_machine_is_left_some_room(wanted: int | None, cores: int, load: float, threads: int) -> None:
    """All cores where it is quiet, half of them where it is not; what the user wants counts."""
    assert best_threads(wanted, cores=cores, load=load) == threads


def test_without_the_runtime_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clear word instead of an ImportError."""

    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(embedded_runtime, "import_module", missing)

    with pytest.raises(Invalid) as caught:
        load_llama(RuntimeSettings(weights=tmp_path / "x", threads=1))
    assert caught.value.hint == f"Run `{how_to_add('local')}`."


def test_only_a_word_is_added_to_a_request() -> None:
    """Everything else stays as it was written."""
    assert json.loads(with_progress(b'{"a":[1,{"b":"\xc3\xa9"}]}')) == {"a": [1, {"b": "é"}], "return_progress": True}


def test_importing_it_does_not_import_the_runtime() -> None:
    """A hundred megabytes are for those who ask."""
    code = "import sys, agi.models.embedded, agi.models.small; print('xllamacpp' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


REAL = """
import asyncio, os, signal, sys
from pathlib import Path
from agi.models.embedded import Embedded, Engine
from agi.models.small import SmallModel
from agi.models.base import CallMade, ModelRequest
from agi.protocol.messages import Message
from agi.protocol.parts import Text
from agi.tools.builtin import builtin_tools

async def main():
    before = signal.getsignal(signal.SIGINT)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, heard.append, "term")
    engine = Engine(Path(sys.argv[1]))
    model = SmallModel(Embedded(engine))
    message = Message(
        id="m", role="user", parts=(Text(text="Where is load_config defined?"),), created_at="", status="complete"
    )
    request = ModelRequest(
        system="Files of this project: a.py", messages=(message,), tools=tuple(t.definition for t in builtin_tools())
    )
    calls = [item async for item in model.stream(request) if isinstance(item, CallMade)]
    listening = [line for line in open("/proc/self/net/tcp").read().splitlines()[1:] if line.split()[3] == "0A"]
    fds = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    own = {os.readlink(fd) for fd in fds if os.path.islink(fd)}
    ports = [line for line in listening if f"socket:[{line.split()[9]}]" in own]
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(0.1)
    await engine.close()
    kept = signal.getsignal(signal.SIGINT) is before
    Path(sys.argv[2]).write_text(repr((calls[0].name, "load_config" in calls[0].arguments, ports, heard, kept)))

heard = []
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_real_model_makes_a_forced_call(tmp_path: Path) -> None:
    """On the real runtime, in a process of its own: a call, no port, not a word printed, signals as they were."""
    pytest.importorskip("xllamacpp", reason="the runtime is not installed")
    weights = cached(os.environ, os.environ.get("AGI_WEIGHTS") or None)
    if weights is None:
        pytest.skip("the weights are not on this machine: run `agi models fetch`, or set AGI_WEIGHTS")
    told = tmp_path / "told.txt"

    ran = subprocess.run([sys.executable, "-c", REAL, str(weights), str(told)], capture_output=True, text=True)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert told.read_text() == repr(("search", True, [], ["term"], True))


PATTERN = r"""
import asyncio, sys
from pathlib import Path
from agi.models.base import ModelRequest, TextDelta
from agi.models.embedded import Embedded, Engine
from agi.protocol.messages import Message
from agi.protocol.parts import Text

async def main():
    model = Embedded(Engine(Path(sys.argv[1])))
    text = {"type": "string", "pattern": '^a\\\\"b$'}
    schema = {"type": "object", "properties": {"text": text}, "required": ["text"], "additionalProperties": False}
    said = Message(id="", role="user", parts=(Text(text="Say something."),), created_at="", status="complete")
    asked = ModelRequest(system="", messages=(said,), options={"schema": schema, "temperature": 0, "max_tokens": 40})
    print("".join([item.text async for item in model.stream(asked) if isinstance(item, TextDelta)]))
    await model.close()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_real_runtime_takes_a_pattern_as_the_json_is_written() -> None:
    """What the schema of a small model's steps counts on; a runtime that reads it otherwise is found out here."""
    pytest.importorskip("xllamacpp", reason="the runtime is not installed")
    weights = cached(os.environ, os.environ.get("AGI_WEIGHTS") or None)
    if weights is None:
        pytest.skip("the weights are not on this machine: run `agi models fetch`, or set AGI_WEIGHTS")

    ran = subprocess.run([sys.executable, "-c", PATTERN, str(weights)], capture_output=True, text=True)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == {"text": 'a"b'}


@pytest.mark.slow
def test_a_file_that_is_no_model_is_refused_without_a_word_on_the_terminal(tmp_path: Path) -> None:
    """The real runtime, which would rather print."""
    pytest.importorskip("xllamacpp", reason="the runtime is not installed")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    code = (
        "import sys\nfrom pathlib import Path\nfrom agi.errors import ModelError\n"
        "from agi.models.embedded_runtime import RuntimeSettings, load_llama\n"
        "try:\n    load_llama(RuntimeSettings(weights=Path(sys.argv[1]), threads=1))\n"
        "except ModelError as error:\n    sys.exit(0 if error.code == 'weights_unusable' else 3)\n"
    )

    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "bad.gguf")], capture_output=True, text=True)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_profile_knows_the_tools_there_are() -> None:
    """What the real test asks with is what users have."""
    assert SmallModel.profile == "small"
    assert {"read_file", "repo_tree", "search", "shell"} <= {tool.definition.name for tool in builtin_tools()}

"""`agi setup` at a real terminal: arrows, a key nobody sees, a wrong key and then the right one, and every way out."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import stat
import struct
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agi.testing.asked import Asked
from agi.testing.provider import ProviderServer, Reply, fails, says
from agi.testing.replies import never_begins

KEY = "sk-right-canary-0123456789"
WRONG = "sk-wrong-canary-0123456789"
UP, DOWN, ENTER, ESCAPE, CTRL_C, CTRL_U = "\x1b[A", "\x1b[B", "\r", "\x1b", "\x03", "\x15"
PASTE = "\x1b[200~{}\n\x1b[201~"
OLD = '{"zebra": 1, "local": {"probe": false}}'
HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"


def judge(asked: Asked) -> Reply:
    """Answer whoever has the right key."""
    sent = asked.headers.get("authorization", "")
    return says("OK") if KEY in sent else fails(401, f"Incorrect API key provided: {sent}.", code="invalid_api_key")


class Talk:
    """A dialogue at a terminal: one question after the other is waited for and answered."""

    def __init__(self, terminal) -> None:
        self.terminal = terminal
        self._before = ""

    @property
    def text(self) -> str:
        """Everything shown so far."""
        return str(self.terminal.text)

    async def question(self, question: str, drawn: int = 1) -> None:
        """Wait until a question stands on the screen, drawn so many times since the last one was answered."""
        await self.terminal.shows(f"? {question}", self._before.count(f"? {question}") + drawn)

    async def pick(self, question: str, *keys: str) -> None:
        """Choose a row: each key draws the rows anew, then Enter takes the one that is marked."""
        await self.question(question)
        for key in keys:
            self.terminal.type(key)
        await self.question(question, 1 + len(keys))
        self._enter()

    async def write(self, question: str, *keys: str) -> None:
        """Type a line."""
        await self.question(question)
        for key in keys:
            self.terminal.type(key)
        self._enter()

    async def ends(self) -> int:
        """Wait for the end; gives the exit code."""
        return int(await self.terminal.ends())

    def _enter(self) -> None:
        self._before = self.text
        self.terminal.type(ENTER)


@pytest.fixture
def fresh(cli):
    """The command where nothing but something of the user's own is set up, at a terminal with a name."""
    cli.env["TERM"] = "xterm-256color"
    (cli.home / "config.json").write_text(OLD)
    return cli


@asynccontextmanager
async def setup(cli, *options: str) -> AsyncIterator[Talk]:
    """Start it at a terminal."""
    async with cli.terminal("setup", *options) as terminal:
        yield Talk(terminal)


def attributes(talk: Talk) -> list[object]:
    """How the terminal is set."""
    return termios.tcgetattr(talk.terminal._master)


def own(cli) -> dict[str, object]:
    return dict(json.loads((cli.home / "config.json").read_text()))


def holding(root: Path, text: str) -> list[str]:
    """The files below a folder that hold a text."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [str(path.relative_to(root)) for path in files if text.encode() in path.read_bytes()]


async def test_the_whole_dialogue_with_a_wrong_key_and_then_the_right_one(fresh, tmp_path):
    """Arrows choose, keys stay unseen, one real question is asked each time, and only then something is written."""
    models = tuple(f"model-{number}" for number in range(20))
    async with ProviderServer(judge, models=models) as provider, setup(fresh) as talk:
        before = attributes(talk)
        await talk.pick("Who should answer?", DOWN, "j", DOWN, UP, "j")
        await talk.pick("Which server?", "6")
        await talk.pick("Which API does it speak?")
        await talk.write("Base URL", provider.url)
        await talk.write("Its name", CTRL_U, "mine")
        await talk.write("Key for mine", *WRONG)
        await talk.pick("Which model?", "/", "1", "7")
        await talk.question("What now?")
        assert "✗" in talk.text
        assert "answered 401: Incorrect API key provided" in talk.text
        assert own(fresh) == json.loads(OLD)
        await talk.pick("What now?")
        await talk.write("Key for mine", PASTE.format(KEY))
        await talk.terminal.shows("model-17 answered in ")
        await talk.pick("Which agent by default?", "3")

        assert await talk.ends() == 0
        after = attributes(talk)

    assert own(fresh) == {
        **json.loads(OLD),
        "providers": {"mine": {"baseUrl": provider.base_url, "apiKey": KEY}},
        "defaultProvider": "mine",
        "defaultModel": "model-17",
        "defaultAgent": "plan",
    }
    assert [json.loads(asked.body)["model"] for asked in provider.requests] == ["model-17"] * 2
    assert stat.S_IMODE((fresh.home / "config.json").stat().st_mode) == 0o600
    assert "model-17 of mine answers from now on." in talk.text
    assert not [piece for piece in (KEY, WRONG, KEY[-6:], KEY[:8]) if piece in talk.text]
    assert holding(tmp_path, KEY) == ["home/.config/agi/config.json"]
    assert holding(tmp_path, WRONG) == []
    assert after == before
    assert talk.text.endswith('Next: agi "What does this project do?"\n')
    assert talk.text.rindex(SHOWN) > talk.text.rindex(HIDDEN)


ANSWERS = {
    "Who should answer?": ("4",),
    "Which server?": ("6",),
    "Which API does it speak?": (),
    "Base URL": (),
    "Its name": (),
    "Key for": (WRONG,),
    "Which model?": (),
    "What now?": ("5",),
    "Which agent by default?": (),
}
"""The questions in their order, and what leads to the next one."""
LINES = ("Base URL", "Its name", "Key for")
LEAVING = [(question, way) for question in ANSWERS for way in ("Ctrl-C", "Escape")]
LEAVING += [(question, way) for question in ("Which server?", "Key for") for way in ("SIGTERM", "SIGINT", "SIGHUP")]


@pytest.mark.parametrize(("question", "way"), LEAVING)
async def test_every_question_can_be_left_and_nothing_is_changed(fresh, question, way, tmp_path):
    """By a key or by a signal: the settings keep every byte, the terminal is as it was."""
    async with ProviderServer(judge, models=("a", "b")) as provider, setup(fresh) as talk:
        original = attributes(talk)
        for earlier, keys in ANSWERS.items():
            if earlier == question:
                break
            answer = talk.write if earlier in LINES else talk.pick
            await answer(earlier, *((provider.url,) if earlier == "Base URL" else keys))
        await talk.question(question)
        taken = attributes(talk)
        if way.startswith("SIG"):
            talk.terminal.process.send_signal(getattr(signal, way))
        else:
            talk.terminal.type(CTRL_C if way == "Ctrl-C" else ESCAPE)
        code = await talk.ends()
        after = attributes(talk)

    assert code == {"Ctrl-C": 130, "SIGINT": 130, "Escape": 1, "SIGTERM": 143, "SIGHUP": 129}[way]
    assert not taken[3] & termios.ECHO
    assert after == original
    assert (fresh.home / "config.json").read_text() == OLD
    assert not (fresh.project / ".agi").exists()
    assert talk.text.endswith("Nothing was changed.\n")
    assert "Traceback" not in talk.text
    assert talk.text.rindex("\x1b[?2004l") > talk.text.rindex("\x1b[?2004h")
    assert WRONG not in talk.text
    assert holding(tmp_path, WRONG) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_waiting_for_an_answer_can_be_left_too(fresh, number, code, tmp_path):
    """A server that says nothing holds nobody up; what is typed meanwhile is not shown and answers nothing."""
    (tmp_path / "tmp").mkdir()
    fresh.env["TMPDIR"] = str(tmp_path / "tmp")
    heard = asyncio.Event()

    def listen(_asked: Asked) -> Reply:
        heard.set()
        return never_begins()

    async with ProviderServer(listen, models=("a",)) as provider, setup(fresh, "--base-url", provider.url) as talk:
        await talk.write("Key for local")
        await talk.pick("Which model?")
        async with asyncio.timeout(20):
            await heard.wait()
        talk.terminal.type(KEY)
        talk.terminal.process.send_signal(number)

        assert await talk.ends() == code
        assert attributes(talk)[3] & termios.ECHO
    assert KEY not in talk.text
    assert (fresh.home / "config.json").read_text() == OLD
    assert os.listdir(tmp_path / "tmp") == []


async def test_a_screen_that_changes_its_size_is_drawn_anew(fresh):
    """However narrow; the choice goes on."""
    async with setup(fresh) as talk:
        await talk.question("Who should answer?")
        talk.terminal.type(DOWN)
        await talk.terminal.shows("❯ 2 Anthropic")
        for columns, rows in ((30, 8), (1, 1), (200, 3), (100, 30)):
            drawn = talk.text.count("Who sh")
            size = struct.pack("HHHH", rows, columns, 0, 0)
            fcntl.ioctl(talk.terminal._master, termios.TIOCSWINSZ, size)
            talk.terminal.process.send_signal(signal.SIGWINCH)
            await talk.terminal.shows("Who sh", drawn + 1)
        talk.terminal.type("5" + ENTER)
        await talk.pick("Which agent by default?")

        assert await talk.ends() == 0
    assert own(fresh)["defaultProvider"] == "embedded"


async def test_a_known_provider_is_tried_before_its_model_is_chosen(fresh):
    """The first choice first; where nothing can be reached, it can be saved all the same."""
    fresh.env |= {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_COLOR": "1"}
    async with setup(fresh) as talk:
        await talk.pick("Who should answer?", "3")
        await talk.write("Key for Google")
        await talk.write("Key for Google", KEY)
        await talk.pick("What now?", "2")
        await talk.write("Key for Google", PASTE.format(KEY + "2"))
        await talk.pick("What now?", "4")
        await talk.question("Which model?")
        await talk.terminal.shows("/ find")
        chosen = talk.text.rpartition("❯ 1 ")[2].split()[0]
        await talk.pick("Which model?", DOWN)
        await talk.pick("Which agent by default?")

        assert await talk.ends() == 0
    told = own(fresh)
    assert told["providers"] == {"google": {"apiKey": KEY + "2"}}
    assert told["defaultProvider"] == "google"
    assert chosen.startswith("gemini-")
    assert str(told["defaultModel"]).startswith("gemini-")
    assert told["defaultModel"] != chosen
    assert "https://aistudio.google.com/apikey" in talk.text
    assert "✗ That is no key" in talk.text
    assert "context" in talk.text
    assert "\x1b[36m" not in talk.text
    assert "\x1b[1m" not in talk.text


async def test_a_key_that_is_there_is_offered_and_never_shown(fresh):
    """What the environment holds needs no typing, and is not written down."""
    async with ProviderServer(judge, models=("a", "b")) as provider:
        fresh.env |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": provider.base_url}
        async with setup(fresh, "--provider", "openai") as talk:
            await talk.question("Key for OpenAI")
            await talk.terminal.shows("The one from OPENAI_API_KEY in the environment")
            await talk.pick("Key for OpenAI")
            await talk.pick("Which model?", DOWN)
            await talk.pick("Which agent by default?")

            assert await talk.ends() == 0
    assert own(fresh) == {**json.loads(OLD), "defaultProvider": "openai", "defaultModel": "b"}
    assert KEY not in talk.text


async def test_a_server_without_a_list_lets_the_name_be_typed(fresh):
    """Some servers have models and do not tell them."""
    async with setup(fresh, "--base-url", "http://127.0.0.1:1/v1", "--no-test", "--project") as talk:
        await talk.write("Key for local")
        await talk.terminal.shows("4 Type a model's name and go on")
        await talk.pick("What now?", "4")
        await talk.write("Model's name", "a b")
        await talk.terminal.shows("✗ A model's name is")
        await talk.write("Model's name", CTRL_U, "tiny")
        await talk.pick("Which agent by default?")

        assert await talk.ends() == 0
    theirs = json.loads((fresh.project / ".agi" / "config.json").read_text())
    assert theirs == {"defaultProvider": "local", "defaultModel": "tiny"}


async def test_an_address_can_be_mended_after_it_failed(fresh):
    """A wrong one is no dead end."""
    url = "http://127.0.0.1:1/v1"
    async with ProviderServer(judge, models=("a",)) as provider, setup(fresh, "--base-url", url) as talk:
        await talk.write("Key for local", KEY)
        await talk.terminal.shows("3 Change the base URL")
        await talk.pick("What now?", "3")
        await talk.write("Base URL", CTRL_U, provider.url)
        await talk.pick("Which model?")
        await talk.pick("Which agent by default?")

        assert await talk.ends() == 0
    assert own(fresh)["providers"] == {"local": {"baseUrl": provider.base_url, "apiKey": KEY}}


async def test_with_everything_on_the_command_line_nothing_is_asked(fresh):
    """Also where somebody could be."""
    fresh.env["MY_KEY"] = KEY
    async with (
        ProviderServer(judge, models=("a",)) as provider,
        setup(fresh, "--base-url", provider.url, "--key-env", "MY_KEY") as talk,
    ):
        assert await talk.ends() == 0
    assert "? " not in talk.text
    assert own(fresh)["defaultModel"] == "a"


async def test_a_dash_for_a_key_asks_for_it_at_a_terminal(fresh):
    """And shows nothing of it."""
    async with (
        ProviderServer(judge, models=("a",)) as provider,
        setup(fresh, "--base-url", provider.url, "--key", "-", "--model", "a") as talk,
    ):
        await talk.write("Key for local", KEY)
        await talk.pick("Which agent by default?")

        assert await talk.ends() == 0
    assert own(fresh)["providers"]["local"]["apiKey"] == KEY
    assert KEY not in talk.text


async def test_what_was_typed_before_a_question_does_not_answer_it(fresh):
    """Nor does the rest of a paste."""
    async with setup(fresh) as talk:
        talk.terminal.type("5" + ENTER + ENTER)
        await talk.question("Who should answer?")
        talk.terminal.type(ESCAPE)

        assert await talk.ends() == 1
    assert (fresh.home / "config.json").read_text() == OLD


@pytest.mark.parametrize("term", ["dumb", ""])
async def test_on_a_terminal_that_knows_only_lines_rows_have_numbers(fresh, tmp_path, term):
    """The same questions, no escape sequence, and the key still unseen."""
    fresh.env["TERM"] = term
    async with ProviderServer(judge, models=("a", "b")) as provider, setup(fresh) as talk:
        await talk.terminal.shows("to 5 [1]: ")
        talk.terminal.type("four\n")
        await talk.terminal.shows("to 5 [1]: ", 2)
        talk.terminal.type("4\n")
        await talk.terminal.shows("to 6 [1]: ")
        talk.terminal.type("6\n")
        await talk.terminal.shows("to 4 [1]: ")
        talk.terminal.type("\n")
        await talk.terminal.shows("Base URL: ")
        talk.terminal.type("ftp://x\n")
        await talk.terminal.shows("Base URL: ", 2)
        talk.terminal.type(f"{provider.url}\n")
        await talk.terminal.shows("Its name [local]: ")
        talk.terminal.type("\n")
        await talk.terminal.shows("Key for local (nothing is shown): ")
        talk.terminal.type(f"{KEY}\n")
        await talk.terminal.shows("to 3 [1]: ")
        talk.terminal.type("2\n")
        await talk.terminal.shows("to 3 [1]: ", 2)
        talk.terminal.type("\n")

        assert await talk.ends() == 0
    assert "✗ The base URL cannot be used" in talk.text
    assert "\x1b" not in talk.text
    assert KEY not in talk.text
    assert own(fresh)["defaultModel"] == "b"
    assert holding(tmp_path, KEY) == ["home/.config/agi/config.json"]


@pytest.mark.parametrize(("way", "code"), [("\x04", 1), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_lines_can_be_left_as_well(fresh, way, code):
    """In the middle of a key, and what is typed is visible again."""
    fresh.env["TERM"] = "dumb"
    async with setup(fresh, "--base-url", "http://127.0.0.1:1/v1") as talk:
        await talk.terminal.shows("(nothing is shown): ")
        assert not attributes(talk)[3] & termios.ECHO
        if isinstance(way, str):
            talk.terminal.type(way)
        else:
            talk.terminal.process.send_signal(way)

        assert await talk.ends() == code
        assert attributes(talk)[3] & termios.ECHO
    assert "Nothing was changed." in talk.text
    assert (fresh.home / "config.json").read_text() == OLD

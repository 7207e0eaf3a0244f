"""`agi setup` as scripts use it: everything by options, nothing asked, nothing changed by a mistake."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agi.testing.asked import Asked
from agi.testing.provider import ProviderServer, Reply, fails, says
from agi.testing.replies import never_begins

KEY = "sk-right-canary-0123456789"
WRONG = "sk-wrong-canary-0123456789"
OLD = '{"zebra": {"deep": [1, 2.50]}, "providers": {"google": {"apiKey": "old", "extra": 1}}, "defaultModel": "m0"}'


def judge(asked: Asked) -> Reply:
    """Answer whoever has the right key."""
    sent = " ".join(asked.headers.get(name, "") for name in ("authorization", "x-api-key", "x-goog-api-key"))
    return says("OK") if KEY in sent else fails(401, f"Incorrect API key provided: {sent}.", code="invalid_api_key")


@asynccontextmanager
async def server(*models: str) -> AsyncIterator[ProviderServer]:
    """A provider that knows one key."""
    async with ProviderServer(judge, models=models) as made:
        yield made


def own_file(cli) -> Path:
    return cli.home / "config.json"


def own(cli) -> dict[str, object]:
    """The user's settings as they were written."""
    return dict(json.loads(own_file(cli).read_text()))


def holding(root: Path, text: str) -> list[str]:
    """The files below a folder that hold a text; a link holds none."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    found = [path for path in files if text.encode() in path.read_bytes()]
    return sorted(str(path.relative_to(root)) for path in found)


@pytest.fixture
def fresh(cli):
    """The command where nothing was ever set up."""
    own_file(cli).unlink()
    cli.env["MY_KEY"] = KEY
    return cli


@pytest.fixture
def quick(fresh, here, monkeypatch):
    """The same in this process."""
    monkeypatch.setenv("MY_KEY", KEY)
    here.home = fresh.home
    return here


async def test_a_server_of_ones_own_is_set_up_by_one_command(fresh, tmp_path):
    """It is asked once, with the key; what was written is told, and the file is for its owner alone."""
    async with server("a", "b") as provider:
        done = await fresh("setup", "--name", "mine", "--base-url", provider.url, "--key-env", "MY_KEY", "--model", "b")

    assert (done.code, done.err) == (0, "Asking b of mine for a word …\n")
    assert own(fresh) == {
        "providers": {"mine": {"baseUrl": provider.base_url, "apiKey": KEY}},
        "defaultProvider": "mine",
        "defaultModel": "b",
    }
    assert "b of mine answers from now on." in done.out
    assert "providers.mine.baseUrl, providers.mine.apiKey, defaultProvider, defaultModel" in done.out
    assert 'Next: agi "' in done.out
    assert stat.S_IMODE(own_file(fresh).stat().st_mode) == 0o600
    assert stat.S_IMODE(fresh.home.stat().st_mode) == 0o700
    assert [json.loads(asked.body)["model"] for asked in provider.requests] == ["b"]
    assert KEY not in done.out + done.err
    assert holding(tmp_path, KEY) == ["home/.config/agi/config.json"]
    assert not (fresh.project / ".agi").exists()


async def test_what_was_set_up_answers(fresh):
    """The next command works, without any option."""
    async with server("a") as provider:
        await fresh("setup", "--base-url", provider.url, "--key-env", "MY_KEY")
        answer = await fresh("hi")

    assert (answer.code, answer.out) == (0, "OK\n")


@pytest.mark.parametrize(
    ("api", "path"),
    [
        ("chat", "/v1/chat/completions"),
        ("responses", "/v1/responses"),
        ("messages", "/v1/messages"),
        ("gemini", "/v1beta/models/a:streamGenerateContent"),
    ],
)
async def test_every_api_is_tried_in_its_own_words(fresh, api, path):
    """The key is sent as the format wants it."""
    async with server("a") as provider:
        options = ("--name", "mine", "--base-url", provider.url, "--api", api, "--model", "a")
        done = await fresh("setup", *options, "--key-env", "MY_KEY")

    assert done.code == 0, done.err
    assert [asked.path.partition("?")[0] for asked in provider.requests] == [path]
    assert own(fresh)["providers"]["mine"]["api"] == api


@pytest.mark.parametrize("way", ["stdin", "file", "variable"])
async def test_a_key_comes_from_stdin_a_file_or_a_variable(fresh, way, tmp_path):
    """Never from the command line itself; the line break behind it is none of it."""
    (tmp_path / "key.txt").write_text(KEY + "\n")
    ways = {
        "stdin": ("--key", "-"),
        "file": ("--key-file", str(tmp_path / "key.txt")),
        "variable": ("--key-env", "MY_KEY"),
    }
    async with server("a") as provider:
        done = await fresh(
            "setup", "--base-url", provider.url, *ways[way], stdin=f"{KEY}\n".encode() if way == "stdin" else None
        )

    assert done.code == 0, done.err
    assert own(fresh)["providers"]["local"]["apiKey"] == KEY


async def test_the_only_model_of_a_server_is_taken(fresh):
    """Among several one must be named, and they are told."""
    async with server("one") as provider:
        done = await fresh("setup", "--base-url", provider.url, "--key-env", "MY_KEY", "--json")
    async with server(*(f"m{number}" for number in range(9))) as provider:
        several = await fresh("setup", "--name", "b", "--base-url", provider.url, "--key-env", "MY_KEY")

    assert json.loads(done.out)["model"] == "one"
    assert several.code == 2
    assert "The server has: m0, m1, m2, m3, m4, and 4 more. Add `--model NAME`." in several.err
    assert own(fresh)["defaultProvider"] == "local"


async def test_json_tells_what_was_written_and_never_the_key(fresh):
    """For programs."""
    async with server("a") as provider:
        done = await fresh("setup", "--base-url", provider.url, "--key-env", "MY_KEY", "--json", "--agent", "plan")
    told = json.loads(done.out)

    assert 0 <= told.pop("test")["seconds"] < 60
    keys = ["providers.local.baseUrl", "providers.local.apiKey", "defaultProvider", "defaultModel", "defaultAgent"]
    assert told == {
        "provider": "local",
        "model": "a",
        "agent": "plan",
        "files": [{"path": str(own_file(fresh)), "keys": keys}],
    }


async def test_a_wrong_key_changes_nothing(fresh):
    """The reason is told without the key; `--no-test` saves all the same."""
    own_file(fresh).write_text(OLD)
    fresh.env["MY_KEY"] = WRONG
    async with server("a") as provider:
        options = ("--name", "mine", "--base-url", provider.url, "--key-env", "MY_KEY", "--model", "a")
        refused = await fresh("setup", *options)
        untouched = own_file(fresh).read_text()
        saved = await fresh("setup", *options, "--no-test")

    assert refused.code == 1
    assert "answered 401" in refused.err
    assert "Nothing was changed. With --no-test it is saved all the same." in refused.err
    assert WRONG not in refused.err + refused.out
    assert untouched == OLD
    assert saved.code == 0
    assert len(provider.requests) == 1
    assert own(fresh)["providers"]["mine"]["apiKey"] == WRONG


def test_what_else_stands_in_the_file_is_kept(quick):
    """Also keys that are not known, and the bytes of numbers."""
    own_file(quick).write_text(OLD)
    done = quick("setup", "--provider", "google", "--key-env", "MY_KEY", "--model", "gemini-2.5-flash", "--no-test")
    text = own_file(quick).read_text()

    assert done.code == 0, done.err
    assert json.loads(text) == {
        "zebra": {"deep": [1, 2.5]},
        "providers": {"google": {"apiKey": KEY, "extra": 1}},
        "defaultModel": "gemini-2.5-flash",
        "defaultProvider": "google",
    }
    assert "2.50" in text


def test_a_provider_that_was_switched_off_is_on_again(quick):
    """Whoever sets it up wants it."""
    own_file(quick).write_text('{"providers": {"google": {"enabled": false}}}')
    done = quick("setup", "--provider", "google", "--key-env", "MY_KEY", "--no-test")

    assert own(quick)["providers"] == {"google": {"enabled": True, "apiKey": KEY}}
    assert "providers.google.enabled" in done.out


async def test_with_project_the_choice_goes_there_and_the_key_does_not(fresh, tmp_path):
    """Keys and addresses are the user's own; what only chooses may be shared."""
    async with server("a") as provider:
        options = ("--base-url", provider.url, "--key-env", "MY_KEY", "--model", "a", "--agent", "general")
        done = await fresh("setup", "--project", *options)

    theirs = fresh.project / ".agi" / "config.json"
    assert json.loads(theirs.read_text()) == {
        "defaultProvider": "local",
        "defaultModel": "a",
        "defaultAgent": "general",
    }
    assert own(fresh) == {"providers": {"local": {"baseUrl": provider.base_url, "apiKey": KEY}}}
    assert "in this project" in done.out
    assert holding(tmp_path, KEY) == ["home/.config/agi/config.json"]


@pytest.mark.parametrize("spelling", [("--project", "{}"), ("--project={}",), ("{}", "--project")])
def test_the_project_may_be_another_folder(quick, tmp_path, spelling):
    """Behind the option, or behind an equals sign."""
    shop = tmp_path / "shop"
    shop.mkdir()
    done = quick("setup", *(word.format(shop) for word in spelling), "--provider", "embedded")

    assert done.code == 0, done.err
    assert json.loads((shop / ".agi" / "config.json").read_text()) == {"defaultProvider": "embedded"}
    assert not (quick.project / ".agi").exists()
    assert not own_file(quick).exists()


def test_a_project_that_was_trusted_stays_so_and_another_does_not_become_so(quick):
    """The user's own change needs no second look; trust is not given on the side."""
    quick.configure({"verify": {"commands": ["make"]}}, own=False)
    quick("setup", "--project", "--provider", "embedded")
    never = json.loads((quick("trust", "--list", "--json")).out)
    quick("trust")
    quick("setup", "--project", "--provider", "embedded", "--agent", "plan")
    listed = quick("trust", "--list")

    assert never == []
    assert "has changed" not in listed.out
    assert str(quick.project) in listed.out
    assert json.loads((quick.project / ".agi" / "config.json").read_text())["verify"] == {"commands": ["make"]}


def test_the_embedded_model_only_becomes_the_default(quick):
    """A model that was meant for another provider goes; how to fetch the weights is told."""
    own_file(quick).write_text('{"defaultProvider": "openai", "defaultModel": "gpt-5"}')
    done = quick("setup", "--provider", "embedded")

    assert own(quick) == {"defaultProvider": "embedded"}
    assert "Next: agi models fetch\n" in done.out


def test_a_project_can_have_the_embedded_model_where_its_user_has_another(quick):
    """The user's model is not asked of it."""
    own_file(quick).write_text('{"defaultProvider": "openai", "defaultModel": "gpt-5"}')
    quick("setup", "--provider", "embedded", "--project")

    told = json.loads((quick.project / ".agi" / "config.json").read_text())
    assert told["defaultProvider"] == "embedded"
    assert "defaultModel" not in told


def test_a_choice_that_the_project_overrules_is_said_to_be(quick):
    """Else one wonders why another answers."""
    quick.configure({"defaultProvider": "openai"}, own=False)
    done = quick("setup", "--provider", "embedded")

    assert "says defaultProvider, and that counts in this folder." in done.err


async def test_a_key_that_is_there_already_is_used(fresh):
    """From the environment or the file; it is not written a second time."""
    async with server("a", "b") as provider:
        fresh.env |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": provider.base_url}
        done = await fresh("setup", "--provider", "openai", "--model", "b", "--yes")

    assert done.code == 0, done.err
    assert own(fresh) == {"defaultProvider": "openai", "defaultModel": "b"}


async def test_the_model_that_was_chosen_before_stays(fresh):
    """A new key is no new choice."""
    async with server("a", "b") as provider:
        await fresh("setup", "--base-url", provider.url, "--key-env", "MY_KEY", "--model", "b")
        await fresh("setup", "--provider", "local", "--key-env", "MY_KEY")

    assert own(fresh)["defaultModel"] == "b"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "agi setup --provider anthropic --key-env ANTHROPIC_API_KEY"),
        (("--provider", "openai"), "agi setup --provider openai --key-env OPENAI_API_KEY"),
        (("--provider", "google", "--yes"), "agi setup --provider google --key-env GOOGLE_GENERATIVE_AI_API_KEY"),
        (("--provider", "mine"), "agi setup --provider mine --base-url http://localhost:11434/v1 --model NAME"),
    ],
)
def test_without_a_person_what_is_missing_is_told_as_a_command(quick, options, told):
    """The exact line to type."""
    done = quick("setup", *options)

    assert (done.code, done.out) == (2, "")
    assert f"Run `{told}`" in done.err
    assert not own_file(quick).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--provider", "openai", "--key", KEY), "A key on the command line can be read by every process"),
        (("--provider", "openai", f"--key={KEY}"), "`--key -` reads it from stdin"),
        (("--provider", "openai", "--key-env", KEY), "--key-env takes the name of a variable"),
        (("--provider", "openai", "--key-env", "EMPTY"), "--key-env takes the name of a variable"),
        (("--provider", "openai", "--key-file", KEY), "--key-file takes the path of a file"),
        (("--provider", "openai", "--key-file", "/"), "is not a regular file"),
        (("--provider", "openai", "--key-env", "ODD"), "That is no key"),
        (("--provider", "openai", "--key-env", "MY_KEY", "--key", "-"), "exclude each other"),
        ((KEY,), "takes options only"),
        (("--project", ".", "--", KEY), "takes options only"),
        (("--provider", "scripted"), "A provider's name is"),
        (("--provider", "a b"), "A provider's name is"),
        (("--name", "x", "--provider", "y"), "--provider and --name say different names"),
        (("--base-url", "ftp://x"), "it must begin with http:// or https://"),
        (("--base-url", "http://user@x"), "The base URL cannot be used"),
        (("--base-url", ""), "The base URL cannot be used"),
        (("--base-url", "http://x", "--api", "soap"), "--api is one of chat, responses, messages, gemini."),
        (("--base-url", "http://x", "--model", "a b"), "A model's name is"),
        (("--provider", "google", "--key-env", "MY_KEY", "--model", "gpt-5", "--no-test"), "has no model 'gpt-5'"),
        (("--provider", "nobody", "--key-env", "MY_KEY", "--model", "m"), "There is no provider 'nobody'"),
        (("--provider", "embedded", "--agent", "bild"), "Did you mean build?"),
        (("--provider", "embedded", "--key-env", "MY_KEY"), "The embedded model takes no key"),
        (("--show", "--provider", "openai"), "--show goes only with --json and --project."),
        (("--project", "/nowhere/at/all"), "There is no folder"),
    ],
)
def test_a_mistake_is_told_and_changes_nothing(quick, monkeypatch, options, message):
    """The file keeps every byte, and what may be a key is never repeated."""
    own_file(quick).write_text(OLD)
    monkeypatch.setenv("EMPTY", " ")
    monkeypatch.setenv("ODD", "schlüssel")
    done = quick("setup", *options)

    assert done.code == 2, done.err
    assert message in done.err
    assert KEY not in done.out + done.err
    assert "Traceback" not in done.err
    assert own_file(quick).read_text() == OLD


@pytest.mark.parametrize("content", [b"two\nlines", b"", b" \n", b"x" * 70_000, b"\xff\xfe", b"nul\0"])
async def test_what_cannot_be_a_key_is_refused_from_stdin_too(fresh, content):
    """Whatever somebody pipes in."""
    done = await fresh("setup", "--provider", "openai", "--key", "-", stdin=content)

    assert done.code == 2
    assert "key" in done.err
    assert not own_file(fresh).exists()


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"", b'{"providers": 3}', b'{"providers": {"openai": 1}}', b'{"auth": 7}']
)
@pytest.mark.parametrize("options", [("--show",), ("--provider", "embedded")])
def test_a_broken_file_is_named_and_left_as_it_is(quick, content, options):
    """Writing over it would lose what its user meant."""
    own_file(quick).write_bytes(content)
    done = quick("setup", *options)

    assert done.code == 2
    assert str(own_file(quick)) in done.err
    assert own_file(quick).read_bytes() == content


def test_a_projects_folder_that_is_a_link_is_not_written_through(quick, tmp_path):
    """A repository must not choose what is overwritten; the user's own file stays as it was, too."""
    (tmp_path / "elsewhere").mkdir()
    (quick.project / ".agi").symlink_to(tmp_path / "elsewhere")
    done = quick("setup", "--provider", "openai", "--key-env", "MY_KEY", "--no-test", "--project")

    assert done.code == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not own_file(quick).exists()


async def test_a_server_that_cannot_be_reached_is_a_reason_and_a_hint(fresh):
    """Nothing is written, and nobody waits for long."""
    done = await fresh("setup", "--base-url", "http://127.0.0.1:1/v1", "--model", "a")
    unknown = await fresh("setup", "--base-url", "http://127.0.0.1:1/v1")

    assert (done.code, unknown.code) == (1, 1)
    assert "127.0.0.1:1" in done.err
    assert "127.0.0.1:1" in unknown.err
    assert not own_file(fresh).exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_trial_can_be_stopped_and_leaves_nothing(fresh, tmp_path, number, code):
    """Not in the settings, not in the folder for temporary files; and no file ever held the key."""
    (tmp_path / "tmp").mkdir()
    fresh.env["TMPDIR"] = str(tmp_path / "tmp")
    asked = asyncio.Event()

    def listen(_asked: Asked) -> Reply:
        asked.set()
        return never_begins()

    async with ProviderServer(listen) as provider, asyncio.timeout(30):
        process = await fresh.start("setup", "--base-url", provider.url, "--key-env", "MY_KEY", "--model", "a")
        await asked.wait()
        during = (os.listdir(tmp_path / "tmp"), holding(tmp_path, KEY))
        process.send_signal(number)
        _, err = await process.communicate()

    assert len(during[0]) == 1
    assert during[1] == []
    assert process.returncode == code
    assert err.endswith(b"Nothing was changed.\n")
    assert os.listdir(tmp_path / "tmp") == []
    assert not own_file(fresh).exists()


async def test_show_tells_what_is_set_and_where_it_comes_from(fresh):
    """Never a letter of a key."""
    fresh.configure(
        {
            "providers": {
                "anthropic": {"apiKey": KEY},
                "mine": {"baseUrl": "http://localhost:1234/v1?token=hidden", "enabled": False},
            },
            "defaultProvider": "anthropic",
        }
    )
    fresh.env["OPENAI_API_KEY"] = WRONG
    shown = await fresh("setup", "--show")
    told = json.loads((await fresh("setup", "--show", "--json")).out)

    assert shown.out.splitlines() == [
        "openai       key set, from OPENAI_API_KEY in the environment",
        "anthropic    key set, in ~/.config/agi/config.json · default",
        "google       key not set",
        "mine         key not set · http://localhost:1234/v1 · switched off",
        "Default: the first choice of anthropic",
    ]
    assert told["default"] == {"provider": "anthropic", "model": None, "agent": None}
    assert [one["key"] for one in told["providers"]] == ["set", "set", "not set", "not set"]
    assert [one["key_from"] for one in told["providers"][:2]] == ["OPENAI_API_KEY", str(own_file(fresh))]
    assert not {KEY[-4:], WRONG[-4:], "hidden"} & set((shown.out + json.dumps(told)).split())
    assert KEY not in shown.out + json.dumps(told)


def test_a_project_that_is_not_trusted_has_no_key_to_show(quick):
    """What does not count is not told as if it did."""
    quick.configure({"providers": {"openai": {"apiKey": KEY}}}, own=False)
    before = quick("setup", "--show")
    quick("trust")
    after = quick("setup", "--show")

    assert before.out.startswith("openai       key not set\n")
    assert after.out.startswith(f"openai       key set, in {quick.project}/.agi/config.json\n")

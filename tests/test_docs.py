"""The documents say what the program does: everything a user meets is in them, and their links and examples hold."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct
from tests.transcripts import FENCE, blocks, environment, fits

import agi
from agi.cli import exits, words
from agi.cli.main import ASK_OPTIONS, COMMANDS
from agi.cli.options import SHORT
from agi.config.load import VARIABLES
from agi.config.settings import NAMED_IN, SECTIONS, Settings
from agi.protocol import chat, rpc
from agi.protocol.events import DATA_TYPES
from agi.server.app import routes
from agi.server.errors import STATUSES
from agi.server.routes import Route
from agi.tools.base import Tool
from agi.tools.builtin import builtin_tools

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ADRS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """A page without its code blocks."""
    return FENCE.sub("", text)


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as they are made on the common code hosts."""
    headings = [heading.replace("`", "") for heading in _HEADING.findall(prose(path.read_text(encoding="utf-8")))]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def section(page: str, heading: str) -> str:
    """What stands between a heading and the next one."""
    found = re.search(rf"^#+ +{re.escape(heading)}\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return found[1]


def config_keys(shape: type[Struct] = Settings, at: str = "") -> Iterator[str]:
    """Every key of a settings file, sections spelled out."""
    for key in shape.__struct_encode_fields__:
        if key in SECTIONS.get(shape, {}):
            yield from config_keys(SECTIONS[shape][key], f"{at}{key}.")
        elif key in NAMED_IN.get(shape, {}):
            yield from config_keys(NAMED_IN[shape][key], f"{at}{key}.<name>.")
        else:
            yield at + key


def all_kinds(base: type[Struct]) -> Iterator[type[Struct]]:
    """The messages below a base; those that others are made from have no name of their own."""
    for kind in base.__subclasses__():
        yield from all_kinds(kind)
        if kind.__struct_config__.tag != kind.__name__:
            yield kind


def examples() -> Iterator[tuple[str, list[str]]]:
    """The commands of README's console blocks that start with `agi`, each with the output shown for it."""
    for language, block in blocks(read("README.md")):
        if language == "console":
            for run in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, *shown = run.rstrip("\n").split("\n")
                if command.startswith("agi "):
                    yield command, shown


@pytest.mark.parametrize("route", routes(), ids=lambda route: route.name)
def test_every_route_is_described_with_its_parameters(route: Route) -> None:
    """Whatever can be asked for over HTTP stands in docs/api.md."""
    page = read("docs/api.md")
    rows = [line for line in page.splitlines() if line.startswith(f"| `{route.method} {route.path}` |")]
    query = route.query.__struct_encode_fields__ if route.query else ()

    assert len(rows) == 1
    assert [name for name in query if f"`?{name}=" not in rows[0]] == []
    assert [name for name in _fields(route.body) if not re.search(rf"\b{name}\b", page)] == []


def test_no_route_is_described_that_does_not_exist() -> None:
    """A route that was removed leaves the document too."""
    described = re.findall(r"^\| `([A-Z]+ /\S+)` \|", read("docs/api.md"), re.MULTILINE)

    assert sorted(described) == sorted(f"{route.method} {route.path}" for route in routes())


@pytest.mark.parametrize("message", [*all_kinds(chat.ClientMessage), *all_kinds(chat.ServerMessage)])
def test_every_chat_message_is_described_with_its_fields(message: type[Struct]) -> None:
    """What a chat client may say and be told stands in docs/chat.md."""
    page = read("docs/chat.md")
    rows = [line for line in page.splitlines() if line.startswith("|") and f"`{message.__struct_config__.tag}`" in line]
    shared = ("sessionId", "cursor", "status")  # said once for all of them

    assert len(rows) == 1
    assert [f for f in message.__struct_encode_fields__ if f not in shared and f"`{f}" not in rows[0]] == []


@pytest.mark.parametrize("params", rpc.METHODS.values(), ids=rpc.METHODS)
def test_every_method_is_described_with_its_parameters(params: type[rpc.Params]) -> None:
    """What can be called stands in docs/rpc.md."""
    rows = [line for line in read("docs/rpc.md").splitlines() if line.startswith(f"| `{params.METHOD}` |")]

    assert len(rows) == 1
    assert [name for name in params.__struct_encode_fields__ if f"`{name}" not in rows[0]] == []


@pytest.mark.parametrize("told", rpc.Notification.__subclasses__(), ids=lambda told: told.METHOD)
def test_every_notification_is_described_with_its_fields(told: type[rpc.Notification]) -> None:
    """What is told unasked stands in docs/rpc.md."""
    rows = [line for line in read("docs/rpc.md").splitlines() if line.startswith(f"| `{told.METHOD}` |")]

    assert len(rows) == 1
    assert [name for name in told.__struct_encode_fields__ if f"`{name}" not in rows[0]] == []


def test_every_status_of_an_error_is_described() -> None:
    """A client can look up each number it may get."""
    described = section(read("docs/api.md"), "Errors")

    assert [status for status in {*STATUSES.values(), 401, 405, 415} if f"| {status} |" not in described] == []


def _fields(body: object) -> tuple[str, ...]:
    return getattr(body, "__struct_encode_fields__", ())


def actions(command: str) -> tuple[str, ...]:
    """The words that may follow a command and say what it does; one that lives in another's file has none."""
    name = f"agi.cli.{command}"
    return tuple(getattr(importlib.import_module(name), "ACTIONS", ())) if importlib.util.find_spec(name) else ()


_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_ALWAYS = {"--help", "--version"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_described_with_its_actions_and_options(command: str) -> None:
    """What can be typed can be looked up in docs/cli.md; and what can be looked up, typed."""
    described = section(read("docs/cli.md"), f"agi {command}")
    typed = next(text for _, text in blocks(described))
    missing = [one for one in actions(command) if not re.search(rf"^agi {command} \[?{one}\b", typed, re.MULTILINE)]

    assert missing == []
    assert set(COMMANDS[command][1]) - set(_OPTION.findall(described)) == set()
    assert set(_OPTION.findall(typed)) - set(COMMANDS[command][1]) == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps_with_its_actions_and_options(command: str) -> None:
    """`agi NAME --help` and docs/cli.md know the same commands; `agi --help` knows them all."""
    text = words.BY_COMMAND[command]
    missing = [one for one in actions(command) if not re.search(rf"^agi {command} \[?{one}\b", text, re.MULTILINE)]

    assert missing == []
    assert set(COMMANDS[command][1]) - set(_OPTION.findall(text)) == set()
    assert re.search(rf"\bagi {command}\b", words.ASK)


def test_no_command_is_described_that_does_not_exist() -> None:
    """One that was removed leaves the document and the help too."""
    described = re.findall(r"^## agi (\w+)$", read("docs/cli.md"), re.MULTILINE)

    assert sorted(described) == sorted(COMMANDS) == sorted(words.BY_COMMAND)


def test_asking_is_described_with_all_its_options() -> None:
    """The command that has no name is described like the others."""
    table = re.findall(r"^\| (`-.*?) \|", section(read("docs/cli.md"), 'agi "…"'), re.MULTILINE)
    short = [f"`{key}`" for key, long in SHORT.items() if long in ASK_OPTIONS]

    assert set(_OPTION.findall(" ".join(table))) == set(ASK_OPTIONS)
    assert [key for key in short if key not in " ".join(table)] == []
    assert set(_OPTION.findall(words.ASK.partition("\nOptions")[2])) == set(ASK_OPTIONS) | _ALWAYS


def test_every_exit_code_is_described_and_no_other() -> None:
    """What a script gets can be looked up."""
    rows = re.findall(r"^\| ([\d, ]+) \|", section(read("docs/cli.md"), "Exit codes"), re.MULTILINE)
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}

    assert sorted(int(code) for row in rows for code in row.split(",")) == sorted(codes)


@pytest.mark.parametrize("kind", DATA_TYPES)
def test_every_event_type_is_described_with_all_its_fields(kind: str) -> None:
    """Whoever reads the log finds each word of it in docs/events.md."""
    described = section(read("docs/events.md"), f"`{kind}`")

    assert [name for name in DATA_TYPES[kind].__struct_encode_fields__ if f"`{name}`" not in described] == []


def test_no_event_type_is_described_that_does_not_exist() -> None:
    """A renamed or removed type leaves the document too."""
    described = re.findall(r"^#### `(\w+)`$", read("docs/events.md"), re.MULTILINE)

    assert sorted(described) == sorted(DATA_TYPES)


@pytest.mark.parametrize("key", list(config_keys()))
def test_every_setting_is_described(key: str) -> None:
    """A key that can be set can be looked up."""
    assert f"`{key}`" in read("docs/config.md")


def test_no_setting_is_described_that_does_not_exist() -> None:
    """A key that was removed leaves the document too."""
    cells = re.findall(r"^\| (`[a-z].*?) \|", section(read("docs/config.md"), "Keys"), re.MULTILINE)
    described = {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}

    assert described == set(config_keys())


_LOOKED_UP = re.compile(r'\benv(?:iron)?(?:\.get\(|\[)"([A-Z_]+)"|"([A-Z_]+)" (?:not )?in (?:\w+\.)*env(?:iron)?\b')


def variables_read(folder: Path) -> set[str]:
    """The environment variables whose names stand in the code where one is looked up."""
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    return {name for text in texts for pair in _LOOKED_UP.findall(text) for name in pair if name}


def test_every_environment_variable_is_described() -> None:
    """What is read from the environment is no secret."""
    described = section(read("docs/config.md"), "Environment")
    found = variables_read(Path(agi.__file__).parent) | {name for names in VARIABLES.values() for name in names}

    assert {"AGI_DEBUG", "XDG_CONFIG_HOME"} <= found
    assert [name for name in sorted(found) if f"`{name}`" not in described] == []


def test_every_variable_of_the_tests_and_benchmarks_is_described() -> None:
    """Who works on the house can turn the same screws: they stand in CONTRIBUTING.md."""
    found = {name for folder in ("tests", "bench", "evals") for name in variables_read(ROOT / folder)}
    ours = [name for name in sorted(found) if name.startswith("AGI_")]

    assert "AGI_SEED" in ours
    assert [name for name in ours if not re.search(rf"`{name}\b", read("CONTRIBUTING.md"))] == []


@pytest.mark.parametrize("tool", builtin_tools(), ids=lambda tool: tool.definition.name)
def test_every_tool_is_described_with_its_arguments(tool: Tool) -> None:
    """What an agent can do is written down: name, aliases, kind and arguments."""
    page, definition = read("docs/tools.md"), tool.definition
    described = section(page, definition.name)
    arguments = definition.input_schema["properties"]
    assert isinstance(arguments, dict)

    assert all(f"`{alias}`" in page for alias in definition.aliases)
    assert f"| `{definition.name}` |" in page
    assert [name for name in arguments if name not in described] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    """A link names a file that is there, and a heading in it."""
    broken = []
    for target in _LINK.findall(prose(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        page = (path.parent / name).resolve() if name else path
        if not page.exists() or (anchor and anchor not in anchors(page)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_no_machine(path: Path) -> None:
    """Nothing in a document belongs to the machine it was written on."""
    found = re.findall(
        r"/[w]ork/|/tmp/|/[r]oot/|/home/\w+|[\w.-]*(?:pypi|registry|artifactory|nexus)\.[\w.-]+",
        path.read_text(encoding="utf-8"),
    )

    assert found == []


def test_every_room_is_on_the_plan() -> None:
    """Who opens a folder of the source finds a line about it in ARCHITECTURE.md."""
    source = Path(agi.__file__).parent
    rooms = [f"{path.name}/" for path in source.iterdir() if any(path.glob("*.py"))]
    files = [path.name for path in source.glob("*.py") if path.stem != "__init__"]
    plan = section(read("ARCHITECTURE.md"), "The rooms")

    assert [name for name in (*rooms, *files) if f"| `{name}` |" not in plan] == []


def test_every_verb_is_described() -> None:
    """What `make` can do stands in CONTRIBUTING.md."""
    verbs = re.findall(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)[0].split()

    assert [verb for verb in verbs if f"`make {verb}`" not in read("CONTRIBUTING.md")] == []
    assert set(re.findall(r"`make ([a-z-]+)`", read("CONTRIBUTING.md"))) - set(verbs) == set()


def test_every_page_is_linked_from_the_readme() -> None:
    """Whoever begins with the README finds the rest of the documents in its table, the tutorial first."""
    linked = _LINK.findall(section(read("README.md"), "Where to go next"))
    pages = [f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]
    pages += [path.name for path in ROOT.glob("*.md") if path.name != "README.md"]

    assert linked[0] == "docs/tutorial.md"
    assert [page for page in pages if page not in linked] == []


def test_the_readme_is_short_enough_to_be_read() -> None:
    """Between a page and two."""
    assert 60 <= len(read("README.md").splitlines()) <= 150


@pytest.mark.parametrize("path", ADRS, ids=lambda path: path.stem)
def test_a_decision_is_one_page_with_the_usual_parts(path: Path) -> None:
    """Date, status, context, decision, consequences; and it is listed."""
    text = path.read_text(encoding="utf-8")

    assert text.startswith(f"# {path.stem[:4]}. ")
    assert re.search(r"^- Date: \d{4}-\d\d-\d\d\n- Status: accepted", text, re.MULTILINE)
    assert all(f"\n## {part}\n" in text for part in ("Context", "Decision", "Consequences", "Turned down"))
    assert len(text.splitlines()) <= 60
    assert f"({path.name})" in read("docs/adr/README.md")


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that the README's examples are run in."""
    project = tmp_path_factory.mktemp("examples") / "larder"
    (project / "src").mkdir(parents=True)
    (project / "src" / "larder.py").write_text("print('bread')\n")
    (project / "README.md").write_text("# Larder\n\nA small program that keeps a list of what is in the kitchen.\n")
    (project.parent / ".config" / "agi").mkdir(parents=True)
    (project.parent / ".config" / "agi" / "config.json").write_text('{"defaultProvider": "scripted"}')
    return project


def run_shell(command: str, project: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of the README with nobody at the terminal, settings of its own, and a script in a model's place."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env=environment(project.parent, project.parent / "bin"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=60,
    )


def test_the_readmes_examples_run_and_say_what_is_shown(larder: Path) -> None:
    """The transcript is what really comes out, with a script that needs no provider; in order, in one project."""
    found = list(examples())
    assert len(found) >= 3
    for command, shown in found:
        done = run_shell(command, larder)
        lines = done.stdout.splitlines()

        assert done.returncode == 0, done.stdout
        if shown:
            assert len(shown) == len(lines)
            assert [(want, line) for want, line in zip(shown, lines, strict=True) if not fits(want, line)] == []

"""What is wrong with a value is said in plain words: where, what is expected, what was found; and no secret is told."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from agi.agents.load import AgentEntry
from agi.config.parse import parse_json, parse_settings
from agi.config.settings import Settings
from agi.errors import BadRequest, ConfigError, Invalid
from agi.explain import FORMS, explain, nearest, printable, where
from agi.protocol.commands import Approve, CreateSession, PostMessage
from agi.protocol.tools import ToolCall
from agi.server.app import routes
from agi.server.request import decode_body, decode_query
from agi.server.sessions import SessionsQuery
from agi.tools.base import Registry, ToolContext
from agi.tools.builtin import builtin_tools
from agi.workspace.handle import Workspace


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Circle(Struct, tag_field="shape", tag="circle"):
    size: int


class Square(Struct, tag_field="shape", tag="square"):
    size: Literal["s", "m"]


class Tree(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=5)] = "oak"
    branches: list[Tree] = []
    either: Tree | str = ""
    colours: tuple[Colour, ...] = ()
    drawn: list[Circle | Square] = []
    leaves: Annotated[int, Meta(ge=0, lt=10)] | UnsetType | None = UNSET
    weight: Annotated[float, Meta(gt=0)] = 1.0
    pair: Annotated[list[str], Meta(min_length=2)] | None = None
    some: Annotated[list[int], Meta(min_length=1)] | None = None
    notes: dict[str, bool] = {}
    numbered: dict[Annotated[str, Meta(min_length=3)], int] = {}
    anything: list[object] = []
    version: Literal[1, 2] = 1
    code: Annotated[str, Meta(pattern="^[A-Z]+$")] = "A"
    when: Annotated[str, Meta(pattern="^msg_[0-9a-f]{32}$", max_length=40)] = "x"
    raw: bytes = b""
    alive: bool = True


def wrong(document: str, kind: object = Tree, *, quote: bool = False, at: str = "") -> str:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.json.decode(document, type=kind)
    return explain(raised.value, kind, quote=quote, at=at)


SENTENCES = {
    "[]": "expected an object; found an array",
    '{"name": 5}': "`name`: expected a string of 1 to 5 characters; found a whole number",
    '{"name": null}': "`name`: expected a string of 1 to 5 characters; found null",
    '{"name": ""}': "`name`: expected a string of 1 to 5 characters; found an empty one",
    '{"name": "sequoia"}': "`name`: expected a string of 1 to 5 characters; found a longer one",
    '{"branches": {}}': "`branches`: expected an array of objects; found an object",
    '{"branches": [{}, {"name": true}]}': (
        "`branches[1].name`: expected a string of 1 to 5 characters; found true or false"
    ),
    '{"either": 3}': "`either`: expected a string or an object; found a whole number",
    '{"either": {"alive": 0}}': "`either.alive`: expected true or false; found a whole number",
    '{"colours": ["red", "green"]}': "`colours[1]`: expected `blue` or `red`; found another string",
    '{"colours": "red"}': "`colours`: expected an array of `blue` or `red`; found a string",
    '{"drawn": [{"shape": "star"}]}': "`drawn[0].shape`: expected `circle` or `square`; found another string",
    '{"drawn": [{}]}': "`drawn[0]`: `shape` is missing; expected `circle` or `square`",
    '{"drawn": [{"shape": "circle"}]}': "`drawn[0]`: `size` is missing; expected `m`, `s` or a whole number",
    '{"drawn": [{"shape": "circle", "size": "m"}]}': "`drawn[0].size`: expected a whole number; found a string",
    '{"leaves": "3"}': "`leaves`: expected a whole number from 0 below 10 or null; found a string",
    '{"leaves": 1.5}': "`leaves`: expected a whole number from 0 below 10 or null; found a decimal number",
    '{"leaves": -1}': "`leaves`: expected a whole number from 0 below 10; found a smaller one",
    '{"leaves": 10}': "`leaves`: expected a whole number from 0 below 10; found a larger one",
    '{"weight": 0.0}': "`weight`: expected a number above 0; found a smaller one",
    '{"pair": ["a"]}': "`pair`: expected an array of at least 2 strings; found a shorter one",
    '{"some": []}': "`some`: expected an array of whole numbers that is not empty; found an empty one",
    '{"notes": {"a": 1}}': "`notes.<name>`: expected true or false; found a whole number",
    '{"numbered": {"a": 1}}': "a key of `numbered`: expected a string of length >= 3",
    '{"anything": 1}': "`anything`: expected an array of values; found a whole number",
    '{"version": 3}': "`version`: expected `1` or `2`; found another value",
    '{"code": "abc"}': "`code`: does not have the required form",
    '{"code": 5}': "`code`: expected a string of the required form; found a whole number",
    '{"when": "now"}': "`when`: expected a message's id, `msg_` and 32 hex digits; found another string",
    '{"raw": "%"}': "`raw`: expected a string; found something else",
    '{"nam": 1}': "`nam` is not known here; the nearest is `name`",
    '{"NAME": 1}': "`NAME` is not known here; the nearest is `name`",
}


@pytest.mark.parametrize(("document", "sentence"), SENTENCES.items())
def test_a_mistake_is_told_with_its_place_and_what_is_expected(document: str, sentence: str) -> None:
    """The path in JSON's own spelling, the allowed values and bounds, and the type that was found."""
    assert wrong(document) == sentence


def test_a_value_stands_where_its_document_says() -> None:
    """What is only a part of a file is named by its whole path."""
    assert wrong('{"name": 5}', at="trees.oak").startswith("`trees.oak.name`: ")
    assert wrong("3", at="trees.oak") == "`trees.oak`: expected an object; found a whole number"
    assert wrong('{"x": 3}', dict[str, str]) == "`<name>`: expected a string; found a whole number"
    assert wrong('{"x": 3}', dict[int, str]) == "a key: expected a whole number; found a string"


def test_fields_are_listed_where_no_name_is_near() -> None:
    """Or it is said that there are none."""

    class Empty(Struct, forbid_unknown_fields=True):
        pass

    class Two(Struct, forbid_unknown_fields=True):
        first: int = 0
        second: int = 0

    assert wrong('{"zzz": 1}', Two) == "`zzz` is not known here; known: `first` and `second`"
    assert wrong('{"zzz": 1}', Empty) == "`zzz` is not known here; nothing is expected"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("green", "'green'"),
        ("it's", '"it\'s"'),
        ("x" * 40, f"'{'x' * 40}'"),
        ("x" * 41, "another string"),
        ("\x1b[2J", r"'\x1b[2J'"),
        (7, "a whole number"),
    ],
)
def test_a_short_value_is_quoted_where_it_may_be(value: object, found: str) -> None:
    """A client or a model that sent it may see it again, but not at any length, and not to steer a terminal."""
    document = msgspec.json.encode({"colours": [value]}).decode()
    assert wrong(document, quote=True).endswith(f"; found {found}")


SECRETS = st.text(alphabet="sk-9' \"`$.\n\x1bé", max_size=60).map("KEY{}KEY".format)
PLACES = (
    ("defaultAgent",), ("auth",), ("providers",), ("providers", "x"), ("providers", "x", "enabled"),
    ("providers", "x", "baseUrl"), ("providers", "x", "apiKey"), ("providers", "x", "baseurl"), ("approval",),
    ("approval", "requireForKinds"), ("approval", "requireForTools"), ("approval", "timeoutSeconds"),
    ("verify", "commands"), ("verify", "maxAttempts"), ("patchReview", "mode"), ("budget", "perTurn", "usd"),
    ("sandbox", "mode"), ("agents", "build", "maxSteps"), ("hooks",),
)  # fmt: skip


@given(SECRETS, st.sampled_from(PLACES), st.integers(0, 2))
def test_a_value_is_never_told_without_leave(secret: str, place: tuple[str, ...], wrapped: int) -> None:
    """Wherever in a settings file a key was put by mistake, no error and no warning repeats it."""
    document: object = (secret, [secret], {"name": secret})[wrapped]
    for key in reversed(place):
        document = {key: document}
    try:
        said = "".join(parse_settings(msgspec.json.encode(document), "config.json")[1])
    except ConfigError as error:
        said = error.message + error.hint
        assert place[0] in said
    assert "KEY" not in said


def test_a_sentence_of_a_types_own_is_repeated_unless_it_quotes() -> None:
    """A type that checks itself says what it expects; should it tell the value too, it is left out."""
    harmless = msgspec.ValidationError("Expected a key of printable characters - at `$.apiKey`")
    telling = msgspec.ValidationError("Not good: 'sk-secret' - at `$.apiKey`")
    assert explain(harmless, {}, quote=False) == "`apiKey`: expected a key of printable characters"
    assert explain(telling, {}, quote=False) == "`apiKey`: does not have the required form"
    assert explain(telling, {}, quote=True) == "`apiKey`: not good: 'sk-secret'"


@pytest.mark.parametrize("name", ["a - at `$.b", "`", "$", "\x1b[2J", "x" * 10_000, "a\nb", ""])
def test_any_name_of_a_field_is_told_in_one_short_printable_line(name: str) -> None:
    """Names come from files and clients too."""
    said = wrong(msgspec.json.encode({name: 1}).decode())
    assert said.isprintable()
    assert len(said) < 500


def test_a_schema_that_is_no_schema_does_no_harm() -> None:
    """One of another's making may refer to itself, or to nothing."""
    error = msgspec.ValidationError("Invalid enum value 'x' - at `$.a[0].b`")
    for schema in (
        {"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]}}},
        {"$ref": "#/$defs/gone"},
        {"properties": [], "anyOf": 3, "$defs": 4},
        {"properties": {"a": {"items": True}}},
        {},
    ):
        assert explain(error, schema, quote=False) == "`a[0].b`: does not have the required form"


def patterns(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        node = list(node.values())
    for inner in node if isinstance(node, list) else ():
        yield from patterns(inner)


def test_every_pattern_in_use_has_words() -> None:
    """No one is shown a regular expression, or left with "the required form"."""
    kinds = [Settings, AgentEntry, *(kind for route in routes() for kind in (route.body, route.query) if kind)]
    schemas, parts = msgspec.json.schema_components(kinds, schema_hook=lambda _: {"description": "Anything."})
    tools = [tool.input_schema for tool in Registry(builtin_tools()).definitions()]
    told_only = {pattern for pattern in patterns([*schemas, parts, *tools]) if pattern.startswith("^([0-9]{1,15}")}
    assert set(patterns([*schemas, parts, *tools])) - told_only == set(FORMS)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"a" 1}', "expected ':' at line 1, column 6"),
        (b'{\n  "a": 1\n  "b": 2\n}', "expected ',' or '}' at line 3, column 3"),
        (b'{\r\n"a": 1,\r\n}', "trailing comma in object at line 3, column 1"),
        ('{"größe": x}'.encode(), "invalid character at line 1, column 11"),
        (b"{} {}", "trailing characters at line 1, column 4"),
        (b'{"a":\n', "it ends too early, at line 2, column 1"),
        (b"", "it ends too early, at line 1, column 1"),
        (b'{"a": 1,\n "b": "\xff"}', "bytes that are not UTF-8 at line 2, column 8"),
    ],
)
def test_malformed_json_is_told_by_line_and_column(raw: bytes, said: str) -> None:
    """Counted from one, in characters, as an editor shows them."""
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)) as raised:
        msgspec.json.decode(raw)
    assert where(raw, raised.value) == said


@given(st.binary(max_size=60))
def test_any_bytes_have_a_place_within_them(raw: bytes) -> None:
    """Whatever is wrong, and wherever."""
    said = " at line "
    try:
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        said = where(raw, error)
    assert " at line " in said


def test_the_nearest_name_is_found_whatever_its_capitals() -> None:
    """Or none, if none is near."""
    assert nearest("BASEURL", ["baseUrl", "apiKey"]) == "baseUrl"
    assert nearest("api_key", ["baseUrl", "apiKey"]) == "apiKey"
    assert nearest("zzz", ["baseUrl", "apiKey"]) == ""
    assert nearest("", []) == ""


def test_a_printable_name_is_short() -> None:
    """What is left out is shown to be."""
    assert printable("name") == "name"
    assert printable("a\x00b") == r"a\x00b"
    assert printable("x" * 101) == "x" * 100 + "…"


def test_settings_tell_the_line_of_a_mistake_behind_a_byte_order_mark() -> None:
    """Which nobody sees, and nobody counts."""
    with pytest.raises(ConfigError) as raised:
        parse_json(b'\xef\xbb\xbf{"auth" "auto"}', "config.json")
    assert raised.value.message == "config.json is not valid JSON: expected ':' at line 1, column 9."


def test_a_client_is_told_what_a_request_may_say() -> None:
    """Body and query, malformed or merely wrong."""
    with pytest.raises(Invalid) as raised:
        decode_body(msgspec.json.Decoder(Approve), b'{"tool_call_id": "call_1", "action": "yes"}')
    assert raised.value.message == "The body is not acceptable: `action`: expected `approve` or `deny`; found 'yes'."
    with pytest.raises(Invalid, match=r"`parts\[0\].type`: expected `text`, `image`, `audio` or `file`; found 'video'"):
        decode_body(msgspec.json.Decoder(PostMessage), b'{"parts": [{"type": "video"}]}')
    with pytest.raises(Invalid, match="`limit`: expected a whole number from 1 up to 1000; found a larger one"):
        decode_query(SessionsQuery, b"limit=1001")
    with pytest.raises(Invalid, match="`before`: expected a time such as"):
        decode_query(SessionsQuery, b"before=yesterday")
    with pytest.raises(Invalid, match="`limit` is not known here; nothing is expected"):
        decode_query(None, b"limit=1")
    with pytest.raises(BadRequest, match="The body is not JSON: expected ':' at line 2, column 9"):
        decode_body(msgspec.json.Decoder(CreateSession), b'{\n"title" 3}')


@pytest.mark.parametrize(
    ("name", "given_input", "said"),
    [
        ("shell", '{"command": "ls", "timeout_s": 0}', "`timeout_s`: expected a number above 0 up to 3600; found a sm"),
        ("search", '{"query": "x", "regex": "yes"}', "`regex`: expected true or false; found a string"),
        ("fs.read", '{"file": "x"}', "is not known here; known: `path`, `start_line` and `end_line`"),
        ("read_file", "{}", "`path` is missing; expected a string of 1 to 4096 characters"),
        ("read_file", '{"path" "x"}', "not valid JSON: expected ':' at line 1, column 9"),
        ("read_file", "[" * 10_000, "expected an object; found an array"),
    ],
)
async def test_a_model_is_told_what_a_tool_takes(tmp_path: Path, name: str, given_input: str, said: str) -> None:
    """So that its next call fits."""
    workspace = Workspace.open(tmp_path)
    context = ToolContext(workspace=workspace, artifacts=tmp_path, artifact_ref="", output=lambda *_: None)
    call = ToolCall("call_1", name, Raw(given_input.encode()))
    result = await Registry(builtin_tools()).invoke(context, call)
    workspace.close()

    assert not result.ok
    assert said in result.error

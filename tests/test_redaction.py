"""Secrets are stars before anything is written or shown, and nothing else is."""

from __future__ import annotations

import json
import random
import typing

import msgspec
import pytest
from msgspec import Raw, Struct

from agi.protocol import events as ev
from agi.protocol.ids import CALL, MESSAGE, PART, SESSION, TURN, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Artifact, Text, ToolCallContent, ToolCallPart
from agi.protocol.tools import ToolCall, ToolResult
from agi.redaction import SHORTEST, Redactor

TS = "2026-01-01T00:00:00.000Z"
KEY = "sk-0123456789abcdef"
STARS = "*" * len(KEY)


def cleaned(data: ev.EventData, *secrets: str) -> ev.EventData:
    """An event as it is read again from a log that knows the secrets."""
    return ev.decode_data(data.TYPE, Redactor(secrets).clean(ev.encode_data(data)))


def message(text: str, **kept: object) -> Message:
    part = Text(text=text, id=new_id(PART))
    whole = {"role": "assistant", "status": "complete", "stop_reason": "tool_calls", **kept}
    return Message(id=new_id(MESSAGE), parts=(part,), created_at=TS, usage=Usage(), **whole)


def literals(kind: object, name: str = "") -> typing.Iterator[tuple[str, str]]:
    """Every word that a field of an event must be one of, with the field's name; and every tag."""
    if typing.get_origin(kind) is typing.Literal:
        yield from ((name, word) for word in typing.get_args(kind))
    elif isinstance(kind, type) and issubclass(kind, Struct):
        if kind.__struct_config__.tag:
            yield str(kind.__struct_config__.tag_field), str(kind.__struct_config__.tag)
        for field in msgspec.structs.fields(kind):
            yield from literals(field.type, field.encode_name)
    else:
        for part in typing.get_args(kind):
            yield from literals(part, name)


WORDS = sorted({pair for kind in ev.DATA_TYPES.values() for pair in literals(kind) if len(pair[1]) >= SHORTEST})


def test_a_known_secret_becomes_as_many_stars():
    """Lengths stay, so offsets into a text still hold."""
    redactor = Redactor(["sk-0123456789"])
    assert redactor.clean(b'{"text":"key sk-0123456789!"}') == b'{"text":"key *************!"}'
    assert redactor.clean_text("schlüssel sk-0123456789!") == "schlüssel *************!"


def test_a_secret_is_found_as_json_writes_it_and_counted_in_characters():
    """Quotes and backslashes are escaped in the log; a letter of two bytes is one character."""
    redactor = Redactor(['pass"wörd\\1'])
    assert redactor.clean(b'{"text":"is pass\\"w\xc3\xb6rd\\\\1."}') == b'{"text":"is ' + b"*" * 11 + b'."}'
    assert redactor.clean_text('is pass"wörd\\1.') == "is " + "*" * 11 + "."


@pytest.mark.threat("T37")
@pytest.mark.parametrize(
    "spelled", ["\\u0073k-0123456789abcdef", "sk-0123456789\\u0061bcdef", "sk\\u002d0123456789abcdef"]
)
def test_a_secret_is_found_however_a_model_spells_it(spelled):
    """Its arguments are kept as it wrote them, and JSON has more than one way to write a letter."""
    call = ToolCall(new_id(CALL), "shell", Raw(f'{{"command":"echo {spelled}"}}'.encode()))
    kept = cleaned(ev.ToolCallStarted(tool_call=call, kind="exec"), KEY)
    assert json.loads(bytes(kept.tool_call.input)) == {"command": f"echo {STARS}"}
    slashes = Redactor(["aa/bb/cc"]).clean(b'{"text":"aa\\/bb\\/cc"}')
    assert slashes == b'{"text":"********"}'


def test_what_holds_no_secret_stays_byte_by_byte():
    """White space, big numbers, escapes for colours: nothing is written anew without need."""
    raw = b'{ "n": 1.50, "big": 123456789012345678901234567890, "text": "\\u001b[1mred\\n" }'
    assert Redactor([KEY]).clean(raw) is raw
    assert Redactor().clean(b'{"text":"\\u0073k"}') == b'{"text":"\\u0073k"}'


def test_of_two_secrets_the_longer_goes_first():
    """One that contains another leaves nothing of itself over."""
    redactor = Redactor(["abcdefgh", "abcdefgh-and-more"])
    assert redactor.clean(b'"abcdefgh-and-more abcdefgh"') == b'"' + b"*" * 17 + b" " + b"*" * 8 + b'"'


def test_short_values_are_ordinary_words():
    """A key of three letters would tear holes into every text."""
    assert Redactor(["abc"]).clean(b'"abc abc"') == b'"abc abc"'


def test_what_is_learned_later_counts_from_then_on():
    """Settings are loaded again while the daemon runs."""
    redactor = Redactor()
    assert redactor.clean(b'"token-token"') == b'"token-token"'
    redactor.learn("token-token")
    assert redactor.clean(b'"token-token"') == b'"' + b"*" * 11 + b'"'


@pytest.mark.parametrize(
    "raw", [b"key %s here\n", b'{"text":"%s"', b'{"n":1e999,"text":"%s"}', b"[" * 100_000 + b'"%s"' + b"]" * 100_000]
)
def test_what_is_no_json_is_cleaned_all_the_same(raw):
    """Lines for people, and JSON that nobody can look into."""
    assert Redactor([KEY]).clean(raw.replace(b"%s", KEY.encode())) == raw.replace(b"%s", STARS.encode())
    assert Redactor(['quote"quote']).clean(b'a quote"quote \\"') == b'a *********** \\"'


def test_there_are_words_to_look_at():
    """The words below are those of the protocol, not a list that grows old."""
    assert {("role", "assistant"), ("status", "complete"), ("type", "tool_result"), ("kind", "reasoning")} <= set(WORDS)


@pytest.mark.parametrize(("key", "word"), WORDS)
def test_a_secret_that_is_a_word_of_the_protocol_breaks_no_event(key, word):
    """Local providers take any key, so people write anything."""
    raw = json.dumps({"x": [{key: word, "text": f"say {word}!"}]}, separators=(",", ":")).encode()
    stars = "*" * len(word)
    assert json.loads(Redactor([word]).clean(raw)) == {"x": [{key: word, "text": f"say {stars}!"}]}


def test_an_event_of_such_words_is_the_same_but_for_its_texts():
    """Role, status, ids, names and times stay; what was said is cleaned."""
    said = message("the answer is complete, said the assistant", agent="assistant", provider="lm-studio", model="local")
    data = ev.ModelOutputCompleted(message=said)
    kept = cleaned(data, "complete", "assistant", "lm-studio", "tool_calls")
    part = msgspec.structs.replace(said.parts[0], text="the answer is ********, said the *********")
    assert kept == ev.ModelOutputCompleted(message=msgspec.structs.replace(said, parts=(part,)))


def test_digits_that_occur_in_ids_times_and_hashes_break_nothing():
    """They are no secret there, and whoever looks for them must find them."""
    session_id, turn_id = new_id(SESSION), new_id(TURN)
    kept = Artifact(kind="file", id=new_id("art"), path=f"artifacts/{turn_id}/out.log", sha256="12345678" * 8, size=3)
    result = ToolResult(id=new_id(CALL), ok=True, parts=(), artifacts=(kept.path,), artifact=kept)
    for data in (
        ev.SessionCreated(id=session_id, agent="a", workspace_path="/w", project_path="/w", created_at=TS),
        ev.ToolCallCompleted(tool_call_id=result.id, name="shell", tool_result=result, message_id=new_id(MESSAGE)),
        ev.AttachmentAdded(
            ref=f"attachments/{session_id[5:25]}-a.txt", filename="a.txt", mime_type="a/b", size=1, sha256="0" * 64
        ),
        ev.TurnRequested(message_id=new_id(MESSAGE), retry_of=turn_id),
    ):
        assert cleaned(data, session_id[5:15], turn_id[8:20], result.id[-9:], "12345678", "00000000", TS[:10]) == data


def test_a_folder_is_not_renamed():
    """A session that was told to work in it would not find it."""
    created = ev.SessionCreated(
        id=new_id(SESSION),
        agent="a",
        workspace_path="/lm-studio",
        project_path="/lm-studio",
        created_at=TS,
        title="lm-studio",
    )
    assert cleaned(created, "lm-studio") == msgspec.structs.replace(created, title="*********")


def test_a_secret_in_the_place_of_a_word_is_still_a_secret():
    """Only what has the form of an id, a time, a hash or a plain word is let alone."""
    data = ev.ToolCallCompleted(
        tool_call_id=KEY, name=KEY, tool_result=ToolResult(id=KEY, ok=False, parts=(), error=KEY), message_id=KEY
    )
    assert KEY.encode() not in Redactor([KEY]).clean(ev.encode_data(data))
    ref = f"attachments/{'0' * 20}-{KEY}.txt"
    added = ev.AttachmentAdded(ref=ref, filename=KEY, mime_type="a/b", size=1, sha256="0" * 64)
    assert cleaned(added, KEY).ref == f"attachments/{'0' * 20}-{STARS}.txt"


def test_what_a_model_or_a_tool_wrote_is_cleaned_whatever_it_is_called():
    """Nothing in a tool's input or outcome is ours: neither its keys nor what stands under `id` or `status`."""
    written = {"id": "complete", "status": "complete", "complete": [{"type": "complete"}], "n": 1.5}
    starred = {"id": "********", "status": "********", "********": [{"type": "********"}], "n": 1.5}
    raw = Raw(json.dumps(written).encode())
    asked = ev.ApprovalRequested(
        tool_call_id="call_1", name="complete", input=raw, risk="high", rule="complete", reason="complete?"
    )
    kept = cleaned(asked, "complete")
    assert (json.loads(bytes(kept.input)), kept.name, kept.rule, kept.reason) == (
        starred,
        "complete",
        "complete",
        "********?",
    )
    call = ToolCallPart(content=ToolCallContent(id=new_id(CALL), name="x", args=raw))
    said = cleaned(ev.MessageAdded(message=msgspec.structs.replace(message(""), parts=(call,))), "complete")
    assert json.loads(bytes(said.message.parts[0].content.args)) == starred
    result = ToolResult(id="call_1", ok=True, parts=(), result=written)
    done = ev.ToolCallCompleted(tool_call_id="call_1", name="x", tool_result=result, message_id="msg_1")
    assert cleaned(done, "complete").tool_result.result == starred


def test_a_key_that_stands_twice_hides_nothing():
    """The first of two is dropped by whoever reads it, but it was written."""
    call = ToolCall(new_id(CALL), "shell", Raw(f'{{"a":"{KEY}","a":"x"}}'.encode()))
    assert KEY.encode() not in Redactor([KEY]).clean(ev.encode_data(ev.ToolCallStarted(tool_call=call, kind="exec")))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("nothing of the kind", 0),
        ("my key is s", 1),
        ("my key is sk-0123", 7),
        (KEY[:-1], len(KEY) - 1),
        (f"my key is {KEY}", 0),
        (f"{KEY} and sk-", 3),
        ("ssssk", 2),
        ("sk-sk-0", 4),
        ("sk-01234567890", 0),
    ],
)
def test_the_beginning_of_a_secret_at_the_end_of_a_text_is_counted(text, count):
    """So much should wait for what comes next."""
    assert Redactor([KEY]).unfinished(text) == count
    assert Redactor().unfinished(text) == 0


def test_the_end_of_a_whole_secret_is_no_beginning():
    """A secret that ends with its own first letters is not cut in two."""
    redactor = Redactor(["abcd-1234-abcd"])
    assert redactor.unfinished("so abcd-1234-abcd") == 0
    assert redactor.unfinished("so abcd-1234-abc") == 13
    assert redactor.unfinished("so abcd-1234-abcd-1") == 0


def test_a_secret_that_may_become_a_longer_one_waits():
    """Else the rest of the longer one would be told."""
    redactor = Redactor(["abcdefgh", "abcdefgh-and-more"])
    assert redactor.unfinished("so abcdefgh") == 8
    assert redactor.unfinished("so abcdefgh-") == 9
    assert redactor.unfinished("so abcdefgh!") == 0


@pytest.mark.threat("T37")
def test_text_that_waits_for_its_rest_tells_no_secret_however_it_is_cut():
    """Piece by piece, what is told is the cleaned whole, character by character."""
    chance = random.Random(1)
    for _ in range(300):
        secrets = ["".join(chance.choices("ab", k=chance.randint(8, 11)))]
        redactor = Redactor(secrets)
        text = "".join(chance.choices(["a", "b", *secrets], weights=[8, 8, 1], k=40))
        told, held = "", ""
        while text_left := text[len(told) + len(held) :]:
            held += text_left[: chance.randint(1, 6)]
            ready = len(held) - redactor.unfinished(held)
            told, held = told + redactor.clean_text(held[:ready]), held[ready:]
        assert told + redactor.clean_text(held) == redactor.clean_text(text), (secrets, text)


@pytest.mark.threat("T37")
def test_bytes_that_come_in_pieces_hold_no_secret_and_keep_their_length():
    """However they are cut, whatever else they are; one secret may begin as another does."""
    chance = random.Random(2)
    for _ in range(300):
        first = "".join(chance.choices("ab", k=chance.randint(8, 10)))
        redactor = Redactor([first, first + "ba", 'a"\\bäääää'])
        pieces = [b"a", b"b", b"\xff\x00", *(form for form, _ in redactor._spelled)]
        whole = b"".join(chance.choices(pieces, k=30))
        flow, at, told = redactor.flow(), 0, b""
        while at < len(whole):
            size = chance.randint(1, 6)
            told += flow.add(whole[at : at + size])
            at += size
        told += flow.rest()
        assert len(told) == len(whole)
        assert all(one in (other, ord("*")) for one, other in zip(told, whole, strict=True))
        assert not any(form in told for form, _ in redactor._spelled)

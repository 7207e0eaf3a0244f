"""A refused attachment is found by the server's words, in every wire format, and nobody else is blamed."""

from __future__ import annotations

import json
import time
from binascii import b2a_base64

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.errors import ModelError
from agi.media.pictures import Bounds, encode_picture
from agi.models.base import ModelRequest
from agi.models.openai_chat_format import encode_request
from agi.models.poison import blame
from agi.net.http import HttpClient
from agi.protocol.commands import PostMessage
from agi.protocol.messages import Message
from agi.protocol.parts import (
    Audio,
    File,
    Image,
    Part,
    Text,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
)
from agi.testing.adapters import APIS, adapter_at, provider_settings
from agi.testing.files import picture
from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, fails, says

FILES = {
    "att/a.png": b"\x89PNG\r\n\x1a\n" + b"a" * 90,
    "att/b.png": b"\x89PNG\r\n\x1a\n" + b"b" * 90,
    "att/c.pdf": b"%PDF-1.7\n" + b"c" * 90,
    "att/d.png": b"\x89PNG\r\n\x1a\n" + b"d" * 50,
    "att/e.wav": b"RIFF0000WAVE" + b"e" * 50,
}
A, B, C, D, E = FILES


def said(role: str, *parts: Part) -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete")


def image(ref: str) -> Image:
    return Image(ref=ref, mime_type="image/png")


def pdf(ref: str) -> File:
    return File(ref=ref, mime_type="application/pdf")


TALK = (
    said("user", Text(text="look"), image(A)),
    said("assistant", Text(text="I see.")),
    said("user", Text(text="and here"), image(B), pdf(C)),
)
CALL = ToolCallPart(content=ToolCallContent(id="c1", name="look", args=msgspec.Raw(b"{}")))
SHOWN = ToolResultPart(content=ToolResultContent(id="c1", name="look", ok=True, parts=(Text(text="see"), image(D))))
WITH_TOOL = (said("user", Text(text="look"), image(A)), said("assistant", CALL), said("tool", SHOWN))


async def refusal_of(api: str, reply: Reply, messages: tuple[Message, ...] = TALK) -> ModelError:
    request = ModelRequest(system="be brief", messages=messages, files=FILES)
    async with ProviderServer([reply]) as server, HttpClient() as client:
        with pytest.raises(ModelError) as caught:
            [item async for item in adapter_at(server.url, api, client).stream(request)]
    return caught.value


def refuses(status: int, message: str, **more: object) -> Reply:
    return fails(status, body=msgspec.json.encode({"error": {"message": message, **more}}))


FOUND = [
    # OpenAI's Chat Completions, and the servers that imitate it.
    ("chat", refuses(400, "Invalid image.", param="messages[3].content[1].image_url", code="invalid_image"), (B,)),
    ("chat", refuses(400, "Invalid 'messages[1].content[1].image_url.url': string too long. Expected a string with "
                          "maximum length 20971520.", code="string_above_max_length"), (A,)),
    ("chat", refuses(400, "Invalid file data.", param="messages[3].content[2].file.file_data"), (C,)),
    ("chat", refuses(400, "You uploaded an unsupported image. Please make sure your image is valid."), (B,)),
    ("chat", refuses(400, "Invalid content type. image_url is only supported by certain models."), (A, B)),
    ("chat", refuses(404, "No endpoints found that support image input", code=404), (A, B)),
    ("chat", refuses(500, "image input is not supported - hint: you may need to provide the mmproj"), (A, B)),
    ("chat", fails(422, body=b'{"detail":[{"loc":["body","messages",3,"user","content",1,"image_url"],"msg":"bad"}]}'),
     (B,)),
    ("chat", fails(400, body=b'{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":'
                             b'"messages.3.content.1.image.source.base64: image exceeds 5 MB maximum"}}}'), (B,)),
    # OpenAI's Responses.
    ("responses", refuses(400, "The image data you provided does not represent a valid image.",
                          param="input[2].content[1].image_url"), (B,)),
    ("responses", refuses(400, "Invalid input.", param="input[2].content[2].file_data", code="invalid_value"), (C,)),
    ("responses", refuses(400, "The image data you provided does not represent a valid image."), (B,)),
    ("responses", refuses(400, "The file type application/pdf is not supported by this model."), (C,)),
    # Anthropic's Messages.
    ("messages", fails(400, "messages.2.content.1.image.source.base64.data: Could not process image"), (B,)),
    ("messages", fails(400, "messages.0.content.1.image.source.base64.data: At least one of the image dimensions "
                            "exceed max allowed size for many-image requests: 2000 pixels"), (A,)),
    ("messages", fails(400, "messages.2.content.1.image.source.base64: image exceeds 5 MB maximum: 8 > 5 bytes"), (B,)),
    ("messages", fails(400, "messages.2.content.2.pdf.source.base64.data: The PDF specified was not valid."), (C,)),
    ("messages", fails(400, "Could not process image"), (B,)),
    ("messages", fails(400, "A maximum of 100 PDF pages may be provided."), (C,)),
    ("messages", fails(413, "messages.0.content.1: image is too large"), (A,)),
    # Google's Gemini.
    ("gemini", fails(400, "* GenerateContentRequest.contents[2].parts[1].inline_data.mime_type: MIME type must be "
                          "image/png, image/jpeg, image/webp, image/heic, or image/heif."), (B,)),
    ("gemini", fails(400, "Invalid value at 'contents[0].parts[1].inline_data.data' (TYPE_BYTES), Base64 decoding "
                          "failed"), (A,)),
    ("gemini", fails(400, "Unable to process input image. Please retry or report in the forum"), (B,)),
    ("gemini", fails(400, "Provided image is not valid"), (B,)),
    ("gemini", fails(400, "The document has no pages."), (C,)),
]  # fmt: skip


@pytest.mark.parametrize(("api", "reply", "parts"), FOUND)
async def test_the_attachment_a_refusal_is_about_is_found(api, reply, parts):
    """By the place that is named, or as the newest of the kind that is named."""
    error = await refusal_of(api, reply)

    assert (error.code, error.retryable, error.status) == ("part_refused", False, reply.status)
    assert error.parts == parts
    assert "attachment" in error.hint


@pytest.mark.parametrize(
    ("api", "message"),
    [
        ("messages", "messages.2.content.0.tool_result.content.1.image.source.base64.data: Could not process image"),
        ("messages", "messages.2.content.0.tool_result.content.1: image exceeds 5 MB maximum"),
        ("responses", "Invalid 'input[2].output[1].image_url': invalid image"),
        ("gemini", "Unable to process input image. Please retry"),
    ],
)
async def test_what_a_tool_has_shown_is_found_too(api, message):
    """A picture that a tool made is as good as one a person sent."""
    assert (await refusal_of(api, fails(400, message), WITH_TOOL)).parts == (D,)


async def test_a_sound_is_found():
    """As the format writes it: without a type beside it."""
    talk = (said("user", Text(text="hear"), Audio(ref=E, mime_type="audio/wav"), image(A)),)
    error = await refusal_of("chat", refuses(400, "The audio file could not be decoded: unsupported audio."), talk)

    assert error.parts == (E,)


NOBODY = [
    ("chat", fails(401, "no image for you: invalid key"), "provider_auth"),
    ("chat", fails(429, "too many images this minute"), "rate_limited"),
    ("chat", fails(500, "failed to process image"), "provider_failed"),
    (
        "chat",
        fails(400, "This model's maximum context length is 9 tokens; the images alone exceed it"),
        "context_overflow",
    ),
    ("chat", fails(400, "Invalid value for 'messages[2].content[0].text'"), "provider_failed"),
    ("messages", fails(400, "messages.2.content.0.text: image tags must be closed"), "provider_failed"),
    ("messages", fails(400, "messages.1.content.0: Invalid `signature` in `thinking` block"), "reasoning_refused"),
    ("messages", fails(400, "messages.2: all messages must have non-empty content"), "provider_failed"),
    ("messages", fails(400, "roles must alternate"), "provider_failed"),
    ("gemini", fails(400, "Request contains an invalid argument."), "provider_failed"),
    ("gemini", fails(400, "see https://ai.google.dev/api/contents/generate"), "provider_failed"),
    ("responses", fails(400, "Unknown parameter: 'input[0].phase'."), "provider_failed"),
]


@pytest.mark.parametrize(("api", "reply", "code"), NOBODY)
async def test_where_nothing_is_said_nobody_is_blamed(api, reply, code):
    """Keys, limits, the server's own trouble, or words that have nothing to do with an attachment."""
    error = await refusal_of(api, reply)

    assert (error.code, error.parts) == (code, ())


@pytest.mark.parametrize(
    ("api", "data"),
    [
        ("chat", b'data: {"error":{"message":"Could not process image","type":"invalid_request_error"}}\n\n'),
        (
            "responses",
            b'data: {"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_image_format",'
            b'"message":"The image data you provided does not represent a valid image."}}}\n\n',
        ),
        (
            "messages",
            b'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error",'
            b'"message":"messages.2.content.1.image.source.base64.data: Could not process image"}}\n\n',
        ),
        (
            "gemini",
            b'{\n"error":{"code":400,"message":"Unable to process input image.","status":"INVALID_ARGUMENT"}\n}',
        ),
    ],
)
async def test_a_refusal_in_the_stream_is_looked_at_alike(api, data):
    """Some servers say 200 first."""
    error = await refusal_of(api, Reply(frames=(data,)))

    assert (error.code, error.parts, error.retryable) == ("part_refused", (B,), False)


BOUNDS = Bounds(3_000, 1_000_000)
"""What is smaller is the same bytes for every provider."""
WORDS = {
    "chat": "Invalid image at 'messages[5].content[1].image_url'.",
    "responses": "The image data you provided does not represent a valid image.",
    "messages": "messages.4.content.1.image.source.base64.data: Could not process image",
    "gemini": "Unable to process input image. Please retry or report in the forum",
}


@pytest.mark.parametrize("api", APIS)
async def test_a_session_with_a_poisoned_picture_goes_on(place, api):
    """At the third turn a picture comes that the provider will not take: it is left out, and twenty more turns work."""
    fine, bad = picture(seed=1), picture(seed=2)
    good, spoiled = (b2a_base64(encode_picture(data, BOUNDS).data, newline=False) for data in (fine, bad))
    refusal, answer = fails(400, WORDS[api]), says("fine")
    async with ProviderServer(lambda asked: refusal if spoiled in asked.body else answer) as server:
        place.configure(json.dumps(provider_settings(server.url, api)))
        await place.reopen()
        await place.start()
        for turn, data in enumerate([fine, None, bad, *[None] * 20]):
            added = await place.harness.add_attachment(place.session_id, "p.png", "image/png", data) if data else None
            shown = (image(added.ref),) if added else ()
            posted = PostMessage(parts=(Text(text=f"turn {turn}"), *shown))
            ended = await place.ended(await place.harness.post_message(place.session_id, posted))
            assert ended.status == "completed", ended.outcome

        assert [spoiled in asked.body for asked in server.requests].count(True) == 1
        assert all(good in asked.body for asked in server.requests)


BODY = encode_request("p", "m", ModelRequest(system="s", messages=TALK, files=FILES), limit_name="max_tokens")


def test_the_same_bytes_under_two_names_are_blamed_under_both():
    """Which of them the provider meant cannot be told, and both would be refused."""
    twins = {**FILES, "att/again.png": FILES[B]}

    assert blame("messages[3].content[1].image_url: invalid", BODY, twins) == (B, "att/again.png")


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{", b'{"messages":7}', b'{"messages":[7]}', b"[" * 9999])
def test_a_body_of_no_known_form_blames_nobody(body):
    """Nothing can be looked up in it."""
    for words in ("messages[0].content[1].image_url: invalid", "Could not process image"):
        assert blame(words, body, FILES) == ()


@given(st.text(st.sampled_from("messages[]0123.content/image_url invalid file png contents input parts")))
@settings(derandomize=True, database=None, deadline=None)
def test_no_words_break_it(words):
    """And only what was sent can be blamed."""
    assert set(blame(words, BODY, FILES)) <= {A, B, C}


@pytest.mark.parametrize(
    "words",
    [
        "messages" + "[0]" * 2000 + " image",
        "messages.3.content.1.image_url " * 200,
        "messages" + ".a" * 2000 + " invalid image",
        "image " * 700,
        "not support " * 400 + "image",
        "image[" * 700,
    ],
)
def test_hostile_words_take_no_time(words):
    """The work is bounded, however often something seems to be named."""
    begun = time.process_time()
    blame(words, BODY, FILES)

    assert time.process_time() - begun < 0.5


def test_a_large_request_is_looked_through_in_a_moment():
    """Thirty pictures of a megabyte and a long conversation."""
    files = {f"p{number}.png": b"\x89PNG\r\n\x1a\n" + bytes([number]) * 1_000_000 for number in range(30)}
    talk = [said("user", image(ref), Text(text="x" * 1000)) for ref in files for _ in range(2)]
    request = ModelRequest(system="s", messages=tuple(talk), files=files)
    body = encode_request("p", "m", request, limit_name="max_tokens")
    begun = time.process_time()

    assert blame("image_url is only supported by certain models", body, files) == tuple(files)
    assert time.process_time() - begun < 5

"""A provider's failure in the words of each vendor: what it is called here, and whether to ask again."""

from __future__ import annotations

import msgspec
import pytest

from agi.config.values import Secret
from agi.errors import Invalid, ModelError
from agi.models.failures import Failures
from agi.net.errors import NetError

KEY = "AIzaSyTestTestTest"
FAILURES = Failures("google", "m", Secret(KEY), api="Google's Gemini API")


def refused(status: int, error: object, headers: dict[str, str] | None = None) -> ModelError:
    return FAILURES.refused(status, headers or {}, msgspec.json.encode(error), 0.0)


def openai(message: str, kind: str = "invalid_request_error", code: str | None = None) -> object:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(kind: str, message: str) -> object:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(code: int, status: str, message: str, *details: object) -> object:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}


@pytest.mark.parametrize(
    ("status", "error", "code", "retryable"),
    [
        (400, openai("max", code="context_length_exceeded"), "context_overflow", False),
        (400, openai("Your input exceeds the context window of this model."), "context_overflow", False),
        (429, openai("You exceeded your current quota.", code="insufficient_quota"), "rate_limited", False),
        (402, openai("Insufficient credits"), "provider_failed", False),
        (
            400,
            anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            "context_overflow",
            False,
        ),
        (
            400,
            anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 9 + 9 > 10"),
            "context_overflow",
            False,
        ),
        (413, anthropic("request_too_large", "Request exceeds the maximum size"), "context_overflow", False),
        (400, anthropic("invalid_request_error", "Your credit balance is too low"), "provider_failed", False),
        (529, anthropic("overloaded_error", "Overloaded"), "provider_failed", True),
        (
            400,
            google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            "provider_auth",
            False,
        ),
        (404, google(404, "NOT_FOUND", "models/x is not found for API version v1beta"), "model_not_found", False),
        (
            400,
            google(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed"),
            "context_overflow",
            False,
        ),
        (429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", RETRY), "rate_limited", True),
        (429, [google(429, "RESOURCE_EXHAUSTED", "slow", RETRY)], "rate_limited", True),
        (503, google(503, "UNAVAILABLE", "The model is overloaded."), "provider_failed", True),
    ],
)
def test_a_refusal_is_known_in_every_vendor_s_words(status, error, code, retryable):
    """Longer than the model takes, a wrong key, a used-up quota, a passing limit: each is told apart."""
    told = refused(status, error)

    assert (told.code, told.retryable, told.status) == (code, retryable, status)


@pytest.mark.parametrize(
    ("error", "code", "retryable", "status"),
    [
        (anthropic("overloaded_error", "Overloaded"), "provider_error", True, None),
        (anthropic("api_error", "Internal server error"), "provider_error", True, None),
        (anthropic("rate_limit_error", "slow down"), "rate_limited", True, None),
        (anthropic("authentication_error", "invalid x-api-key"), "provider_auth", False, None),
        (anthropic("invalid_request_error", "bad block"), "provider_error", False, None),
        (openai("try later", "server_error", "server_error"), "provider_error", True, None),
        (openai("no more", "insufficient_quota", "insufficient_quota"), "rate_limited", False, None),
        (google(503, "UNAVAILABLE", "overloaded"), "provider_error", True, 503),
        (google(400, "INVALID_ARGUMENT", "bad"), "provider_error", False, 400),
        ("plain words", "provider_error", True, None),
        (None, "provider_error", True, None),
    ],
)
def test_an_error_in_the_stream_says_by_name_what_its_status_would_have_been(error, code, retryable, status):
    """A stream has its status before it fails; what it is not known by counts as the server's own trouble."""
    told = FAILURES.reported(error)

    assert (told.code, told.retryable, told.status) == (code, retryable, status)
    assert told.hint


@pytest.mark.parametrize(
    ("details", "headers", "seconds"),
    [
        ([RETRY], {}, 34.5),
        ([RETRY], {"retry-after": "7"}, 7.0),
        ([{"reason": "x"}, RETRY], {}, 34.5),
        ([{"retryDelay": "soon"}, {"retryDelay": 7}, "x"], {}, None),
        ("none", {}, None),
    ],
)
def test_how_long_to_wait_may_stand_in_the_body(details, headers, seconds):
    """As Google tells it; a header counts more."""
    error = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": details}}

    assert refused(429, error, headers).retry_after == seconds


@pytest.mark.parametrize(("word", "retryable"), [("true", True), ("false", False), ("maybe", True)])
def test_the_server_s_own_word_on_asking_again_counts(word, retryable):
    """`x-should-retry`, as OpenAI's and Anthropic's servers send it."""
    assert refused(500, openai("x"), {"x-should-retry": word}).retryable is retryable


def test_keys_are_taken_out_of_what_the_server_said():
    """Ours, and whatever looks like one."""
    told = refused(400, openai(f"key {KEY}, AIzaOther-12345 and sk-ant-api03-abcdef are wrong"))

    assert told.message == "google (m) answered 400: key [key], [key] and [key] are wrong"


def test_hints_name_the_settings_and_the_api():
    """What to look at: the key's variable, the setting, the kind of server it should be."""
    assert "GOOGLE_GENERATIVE_AI_API_KEY or providers.google.apiKey" in refused(401, openai("x")).hint
    assert "billing" in refused(402, openai("x")).hint
    assert FAILURES.unreadable("x").hint == "Check that providers.google.baseUrl is the address of Google's Gemini API."


def test_a_broken_connection_is_a_cut_only_once_the_answer_has_begun():
    """And a certificate that does not hold is not asked again."""
    lost = NetError("lost", code="connection_lost")

    assert [FAILURES.unreachable(lost, begun=begun).code for begun in (False, True)] == [
        "provider_failed",
        "stream_cut",
    ]
    assert not FAILURES.unreachable(NetError("x", code="tls_failed"), begun=False).retryable
    assert FAILURES.unusable(Invalid(f"bad header {KEY}")).message == "google (m): bad header [key]"

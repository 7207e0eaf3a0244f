"""What Google's refusals mean: its words for keys, quotas, waiting and too much."""

from __future__ import annotations

import msgspec
import pytest

from agi.config.values import Secret
from agi.errors import ModelError
from agi.models.gemini_failures import GeminiFailures

FAILURES = GeminiFailures("google", "gemini-3-pro", Secret("AIza-my-own-key"))
EXCEEDED = "You exceeded your current quota, please check your plan and billing details."


def body(code: int, message: str, status: str, *details: object) -> dict[str, object]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def refused(code: int, message: str, status: str, *details: object, **headers: str) -> ModelError:
    written = msgspec.json.encode(body(code, message, status, *details))
    return FAILURES.refused(code, {name.replace("_", "-"): value for name, value in headers.items()}, written, 0.0)


def quota(*ids: str) -> dict[str, object]:
    violations = [{"quotaId": id, "quotaMetric": "requests", "quotaValue": "20"} for id in ids]
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations}


def retry(delay: object) -> dict[str, object]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


MINUTE = quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")
DAY = quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "GenerateRequestsPerMinutePerProjectPerModel")
INFO = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


WRONG_KEY = "API key not valid. Please pass a valid API key."
TOO_LONG = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
TOO_LARGE = "Request payload size exceeds the limit: 20971520 bytes."
BAD, EXHAUSTED = "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (refused(400, WRONG_KEY, BAD, INFO), "provider_auth", False),
        (refused(403, "Permission denied on resource project.", "PERMISSION_DENIED"), "provider_auth", False),
        (refused(404, "models/x is not found for API version v1beta", "NOT_FOUND"), "model_not_found", False),
        (refused(400, "Invalid value at 'contents[0]'", BAD), "provider_failed", False),
        (refused(400, TOO_LONG, BAD), "context_overflow", False),
        (refused(400, TOO_LARGE, BAD), "context_overflow", False),
        (refused(429, EXCEEDED, EXHAUSTED, MINUTE), "rate_limited", True),
        (refused(429, EXCEEDED, EXHAUSTED, MINUTE, retry("34s")), "rate_limited", True),
        (refused(429, EXCEEDED, EXHAUSTED, retry("34s")), "rate_limited", True),
        (refused(429, EXCEEDED, EXHAUSTED, DAY, retry("34s")), "rate_limited", False),
        (refused(429, EXCEEDED, EXHAUSTED), "rate_limited", False),
        (refused(429, "Resource exhausted. Please try again later.", EXHAUSTED), "rate_limited", True),
        (refused(499, "The operation was cancelled.", "CANCELLED"), "provider_failed", False),
        (refused(500, "An internal error has occurred.", "INTERNAL"), "provider_failed", True),
        (refused(503, "The model is overloaded. Please try again later.", "UNAVAILABLE"), "provider_failed", True),
        (refused(504, "The request timed out.", "DEADLINE_EXCEEDED"), "provider_failed", True),
    ],
)
def test_a_refusal_says_what_it_is_and_whether_to_try_again(error, code, retryable):
    """So many a minute passes, so many a day does not; a wrong key is no bad request."""
    assert (error.code, error.retryable) == (code, retryable)
    assert error.hint


def test_a_day_s_quota_points_to_the_billing_page_and_a_minute_s_to_waiting():
    """The hint says what helps."""
    assert "billing" in refused(429, EXCEEDED, "RESOURCE_EXHAUSTED", DAY, retry("34s")).hint
    assert "wait" in refused(429, EXCEEDED, "RESOURCE_EXHAUSTED", MINUTE).hint


@pytest.mark.parametrize(
    ("delay", "seconds"), [("34s", 34.0), ("34.074824224s", 34.074824224), ("0s", 0.0), ("soon", None), (7, None)]
)
def test_how_long_to_wait_stands_in_the_details(delay, seconds):
    """In the body of a refusal and in that of an error inside the stream; a header says it better."""
    error = body(429, "slow down", "RESOURCE_EXHAUSTED", retry(delay))

    assert refused(429, "slow down", "RESOURCE_EXHAUSTED", retry(delay)).retry_after == seconds
    assert FAILURES.reported(error["error"]).retry_after == seconds
    assert refused(429, "slow down", "RESOURCE_EXHAUSTED", retry(delay), retry_after="9").retry_after == 9.0


def test_errors_inside_the_stream_are_judged_alike():
    """A quota is a quota, wherever it is told."""
    passing = FAILURES.reported(body(429, EXCEEDED, "RESOURCE_EXHAUSTED", MINUTE)["error"])
    lasting = FAILURES.reported(body(429, EXCEEDED, "RESOURCE_EXHAUSTED", DAY, retry("34s"))["error"])

    assert (passing.code, passing.retryable) == ("rate_limited", True)
    assert (lasting.code, lasting.retryable) == ("rate_limited", False)


def test_a_list_of_errors_is_read_by_its_first():
    """As Google answers where no event stream was asked for."""
    written = msgspec.json.encode([body(429, EXCEEDED, "RESOURCE_EXHAUSTED", DAY, retry("34s"))])
    error = FAILURES.refused(429, {}, b"\n" + written, 0.0)

    assert EXCEEDED in error.message
    assert not error.retryable


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"null", b"[1]", b'{"error":7}', b'{"error":{"details":{}}}', b"[" * 99_999, b"\xff", b"<html>"],
)
def test_details_in_no_known_form_say_nothing(data):
    """The status decides then, and nothing else is raised."""
    error = FAILURES.refused(503, {}, data, 0.0)

    assert (error.code, error.retryable, error.status) == ("provider_failed", True, 503)


def test_no_error_holds_the_key():
    """Even where the server repeats it."""
    assert "my-own" not in refused(400, "bad key AIza-my-own-key", "INVALID_ARGUMENT").message

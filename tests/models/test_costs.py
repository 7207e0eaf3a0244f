"""What a call cost, from the server's own words to USD: each wire format against genai-prices, which reads them too.

Formats count differently (what was cached comes beside the input, or within it; thoughts beside the answer, or within
it). In `Usage` all input counts as input, and all that was thought as output.
"""

from __future__ import annotations

import math

import msgspec
import pytest
from genai_prices import extract_usage
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.models import prices
from agi.models.anthropic_answer import AnthropicAnswer
from agi.models.base import Finished
from agi.models.failures import Failures
from agi.models.gemini_answer import GeminiAnswer
from agi.models.openai_chat_answer import ChatAnswer
from agi.models.openai_responses_answer import ResponsesAnswer
from agi.protocol.messages import Usage

FAILURES = Failures("p", "m", None)
counts = st.integers(0, 300_000)


def spent(answer, body: dict[str, object]) -> Usage:
    """What an adapter makes of an answer that came in one piece."""
    answer.take_whole(msgspec.json.encode(body))
    end = list(answer.finish())[-1]
    assert isinstance(end, Finished)
    return end.usage


def anthropic(fresh, read, written, said, thought):
    usage = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": said + thought,
        "output_tokens_details": {"thinking_tokens": thought},
    }
    return {"type": "message", "model": "claude-sonnet-4-5", "content": [], "stop_reason": "end_turn", "usage": usage}


def chat(fresh, read, written, said, thought):
    usage = {
        "prompt_tokens": fresh + read + written,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "completion_tokens": said + thought,
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    choice = {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
    return {"model": "gpt-6-sol", "choices": [choice], "usage": usage}


def responses(fresh, read, written, said, thought):
    usage = {
        "input_tokens": fresh + read + written,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "output_tokens": said + thought,
        "output_tokens_details": {"reasoning_tokens": thought},
    }
    return {"model": "gpt-6-sol", "status": "completed", "output": [], "usage": usage}


def gemini(fresh, read, _written, said, thought):
    usage = {
        "promptTokenCount": fresh + read,
        "cachedContentTokenCount": read,
        "candidatesTokenCount": said,
        "thoughtsTokenCount": thought,
    }
    candidate = {"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}
    return {"modelVersion": "gemini-2.5-pro", "candidates": [candidate], "usageMetadata": usage}


@pytest.mark.parametrize(
    ("provider", "model", "flavor", "answer", "body"),
    [
        ("anthropic", "claude-sonnet-4-5", "default", AnthropicAnswer, anthropic),
        ("openai", "gpt-6-sol", "chat", ChatAnswer, chat),
        ("openai", "gpt-6-sol", "responses", ResponsesAnswer, responses),
        ("google", "gemini-2.5-pro", "default", GeminiAnswer, gemini),
    ],
    ids=["messages", "chat", "responses", "gemini"],
)
@settings(max_examples=60, deadline=None)
@given(numbers=st.tuples(counts, counts, counts, counts, counts))
def test_every_format_costs_what_genai_prices_reads_from_it(provider, model, flavor, answer, body, numbers):
    """Cached, written and thought tokens at their own prices, each counted once, on both sides of a price's step."""
    told = body(*numbers)
    usage = spent(answer(FAILURES), told)
    theirs = extract_usage(told, provider_id=provider, api_flavor=flavor).calc_price()
    ours = prices.cost(provider, model, usage)

    assert ours is not None
    assert math.isclose(ours, float(theirs.total_price), rel_tol=1e-9)
    assert usage.cached_tokens + usage.cache_write_tokens <= usage.input_tokens
    assert usage.reasoning_tokens <= usage.output_tokens
    assert prices.find(provider, model).id == theirs.model.id

"""The words of real servers and what they mean here: too long, thoughts or a schema refused, throttled, used up."""

from __future__ import annotations

import time

import msgspec
import pytest

from agi.models.base import ModelRequest
from agi.models.failures import Failures
from agi.models.said import MAX_WORDS, Said, read_body, read_error
from agi.models.verdicts import judge


def code_of(status: int, body: object) -> str:
    return judge(status, read_body(msgspec.json.encode(body), "application/json")).code


def openai(message: str, code: str | None = None, param: str | None = None) -> object:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def anthropic(message: str, kind: str = "invalid_request_error") -> object:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(message: str, code: int = 400, status: str = "INVALID_ARGUMENT") -> object:
    return {"error": {"code": code, "message": message, "status": status}}


def openrouter(raw: str) -> object:
    return {
        "error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "x"}}
    }


TOO_LONG = {
    "OpenAI": (400, openai("Your input exceeds the context window of this model.", "context_length_exceeded", "input")),
    "OpenAI chat": (
        400,
        openai(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 128005 tokens.",
            "context_length_exceeded",
            "messages",
        ),
    ),
    "OpenAI, one string": (
        400,
        openai(
            "Invalid 'input[2].content': string too long. Expected a string with maximum length 10485760, but got a "
            "string with length 12000000 instead.",
            "string_above_max_length",
            "input[2].content",
        ),
    ),
    "OpenAI, more than a minute's tokens": (
        429,
        openai(
            "Request too large for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Requested 42011. "
            "The input or output tokens must be reduced in order to run successfully.",
            "rate_limit_exceeded",
        ),
    ),
    "Anthropic": (400, anthropic("prompt is too long: 208310 tokens > 200000 maximum")),
    "Anthropic, with the answer": (
        400,
        anthropic("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"),
    ),
    "Anthropic, bytes": (413, anthropic("Request exceeds the maximum size", "request_too_large")),
    "Bedrock": (400, {"message": "Input is too long for requested model."}),
    "Google": (
        400,
        google("The input token count (1203331) exceeds the maximum number of tokens allowed (1048576)."),
    ),
    "Vertex": (
        400,
        google("Unable to submit request because the input token count is 40000 but model only supports up to 32767."),
    ),
    "Ollama": (400, {"error": "prompt too long; exceeded max context length by 12 tokens"}),
    "Ollama, input": (400, {"error": "the input length exceeds the context length"}),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size. try increasing the context size",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 14429,
                "n_ctx": 8192,
            }
        },
    ),
    "llama.cpp, as a mishap": (
        500,
        {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}},
    ),
    "vLLM": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
            "(112946 in the messages, 10000 in the completion). Please reduce the length of the messages.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "vLLM, the prompt": (
        400,
        openai("The decoder prompt (length 40000) is longer than the maximum model length of 32768."),
    ),
    "vLLM, the output": (
        400,
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 10000. This model's maximum context length is "
            "16384 tokens and your request has 12946 input tokens."
        ),
    ),
    "LM Studio": (
        400,
        {
            "error": "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens, which is not enough."
        },
    ),
    "LM Studio, newer": (400, {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}),
    "OpenRouter": (
        400,
        {
            "error": {
                "message": "This endpoint's maximum context length is 131072 tokens. However, you requested about "
                '140000 tokens. Please reduce the length of either one, or use the "middle-out" transform.',
                "code": 400,
            }
        },
    ),
    "OpenRouter, from behind": (400, openrouter('{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}')),
    "xAI": (400, {"code": "x", "error": "This model's maximum prompt length is 131072 but the request contains 2e5."}),
    "Mistral": (
        400,
        {
            "object": "error",
            "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        },
    ),
    "Groq": (413, openai("Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 7000")),
    "Moonshot": (400, openai("Invalid request: Your request exceeded model token limit: 131072")),
    "DashScope": (400, openai("Range of input length should be [1, 30720]")),
    "TGI": (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097"}),
}
THOUGHTS_REFUSED = {
    "Anthropic, a signature": (400, anthropic("messages.1.content.0: Invalid `signature` in `thinking` block")),
    "Anthropic, changed": (
        400,
        anthropic(
            "messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
            "modified. These blocks must remain as they were in the original response."
        ),
    ),
    "Anthropic, none": (
        400,
        anthropic(
            "messages.129.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block."
        ),
    ),
    "Anthropic, unsigned": (400, anthropic("messages.1.content.0.thinking.signature: Field required")),
    "Anthropic, unreadable": (400, anthropic("messages.1.content.0: Invalid `data` in `redacted_thinking` block")),
    "Anthropic, at the end": (
        400,
        anthropic("messages.1: The final block in an assistant message cannot be `thinking`."),
    ),
    "Anthropic behind a gateway": (
        400,
        google(
            '{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid '
            '`signature` in `thinking` block"}}'
        ),
    ),
    "OpenAI, unverified": (
        400,
        openai("The encrypted content gAAA...c90= could not be verified.", "invalid_encrypted_content"),
    ),
    "OpenAI, an item unverified": (400, openai("The encrypted content for item rs_037e7e could not be verified.")),
    "OpenAI, alone": (
        400,
        openai("Item 'rs_68c1' of type 'reasoning' was provided without its required following item.", None, "input"),
    ),
    "OpenAI, missing": (
        400,
        openai("Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."),
    ),
    "OpenAI, not kept": (
        404,
        openai("Item with id 'rs_68c1' not found. Items are not persisted when `store` is set to false."),
    ),
    "Google, missing": (
        400,
        google(
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
            "correctly. Additional data, function call `default_api:shell` , position 2."
        ),
    ),
    "Google, corrupted": (400, google("Corrupted thought signature.")),
    "Google, invalid": (400, google("Thought signature is not valid")),
    "DeepSeek, missing": (
        400,
        openai("Missing `reasoning_content` field in the assistant message at message index 4."),
    ),
    "DeepSeek, newer": (400, openai("The `reasoning_content` in the thinking mode must be passed back to the API.")),
    "Moonshot": (
        400,
        openai("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
    ),
    "Groq": (
        400,
        openai(
            "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property "
            "'reasoning' is unsupported, did you mean 'role'?)]"
        ),
    ),
    "Mistral": (
        422,
        {
            "detail": [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "messages", 2, "assistant", "reasoning_content"],
                    "msg": "Extra inputs are not permitted",
                }
            ]
        },
    ),
    "OpenRouter, from behind": (400, openrouter("messages.1.content.0: Invalid `signature` in `thinking` block")),
}
SCHEMA_REFUSED = {
    "OpenAI": (
        400,
        openai("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
    ),
    "OpenAI, the schema": (
        400,
        openai(
            "Invalid schema for response_format 'answer': 'additionalProperties' is required to be false.",
            None,
            "response_format",
        ),
    ),
    "OpenAI Responses": (400, openai("Unsupported parameter.", "unsupported_parameter", "text.format")),
    "DeepSeek": (400, openai("This response_format type is unavailable now")),
    "Groq": (400, openai("This model does not support response format `json_schema`.")),
    "Groq, tools": (400, openai("json mode cannot be combined with tool/function calling")),
    "LM Studio": (400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
    "llama.cpp": (400, openai("Cannot use custom grammar constraints with tools.")),
    "llama.cpp, as a mishap": (500, openai("JSON schema conversion failed: Unrecognized schema")),
    "Anthropic elsewhere": (400, anthropic("output_config: Extra inputs are not permitted")),
    "Anthropic, an older model": (400, anthropic("'claude-3-haiku' does not support structured outputs.")),
    "Anthropic, too large": (
        400,
        anthropic("The compiled grammar is too large, which would cause performance issues."),
    ),
    "Google": (400, google("Function calling with a response mime type: 'application/json' is unsupported")),
    "Google, JSON": (400, google("JSON mode is not enabled for this model")),
    "Google, unknown": (
        400,
        google("Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config'"),
    ),
    "Google, states": (400, google("The specified schema produces a constraint that has too many states for serving.")),
    "OpenRouter": (404, {"error": {"message": "No endpoints found that support structured outputs", "code": 404}}),
}
NOTHING_OF_THE_KIND = {
    "an option": (400, openai("Unsupported parameter: 'reasoning.effort' is not supported with this model.")),
    "an effort": (400, anthropic("output_config.effort: Input should be 'low', 'medium' or 'high'")),
    "a budget": (400, anthropic("`max_tokens` must be greater than `thinking.budget_tokens`.")),
    "a tool": (400, openai("Invalid schema for function 'shell': None is not of type 'object'.", None, "tools[0]")),
    "pairs": (400, anthropic("messages.2: `tool_use` ids were found without `tool_result` blocks immediately after")),
    "turns": (400, google("Please ensure that function call turn comes immediately after a user turn")),
    "anything": (400, google("Request contains an invalid argument.")),
}


@pytest.mark.parametrize(("status", "body"), TOO_LONG.values(), ids=TOO_LONG)
def test_a_conversation_that_is_too_long_is_recognised(status, body):
    """In the words of every provider and local server; asking again as it is would be of no use."""
    verdict = judge(status, read_body(msgspec.json.encode(body), "application/json"))

    assert (verdict.code, verdict.retryable) == ("context_overflow", False)


@pytest.mark.parametrize(("status", "body"), THOUGHTS_REFUSED.values(), ids=THOUGHTS_REFUSED)
def test_thoughts_that_are_refused_are_recognised(status, body):
    """Wrong, missing or not wanted: without them the conversation may go on."""
    assert code_of(status, body) == "reasoning_refused"


@pytest.mark.parametrize(("status", "body"), SCHEMA_REFUSED.values(), ids=SCHEMA_REFUSED)
def test_a_schema_that_is_refused_is_recognised(status, body):
    """It can be asked for in another way."""
    assert code_of(status, body) == "schema_refused"


@pytest.mark.parametrize(("status", "body"), NOTHING_OF_THE_KIND.values(), ids=NOTHING_OF_THE_KIND)
def test_other_refusals_are_not_taken_for_one_of_these(status, body):
    """Leaving something out would not mend them."""
    assert code_of(status, body) == "provider_failed"


@pytest.mark.parametrize("table", [TOO_LONG, THOUGHTS_REFUSED, SCHEMA_REFUSED])
def test_the_same_words_inside_a_stream_mean_the_same(table):
    """Errors come late, too, and then without a status; but for those that only a status tells."""
    for name, (status, body) in table.items():
        if status not in (413, 429):
            said = read_error(body)._replace(status=None)
            assert judge(None, said).code == code_of(status, body), name


def test_a_schema_is_only_to_blame_where_one_was_sent():
    """The same words may be about something else."""
    failures = Failures("x", "m", None)
    body = msgspec.json.encode(SCHEMA_REFUSED["Anthropic elsewhere"][1])
    with_it = failures.about(ModelRequest(system="", messages=(), options={"schema": {"type": "object"}}), b"{}")
    without = failures.about(ModelRequest(system="", messages=()), b"{}")

    assert with_it.refused(400, {}, body, 0.0).code == "schema_refused"
    assert without.refused(400, {}, body, 0.0).code == "provider_failed"
    assert without.refused(500, {}, body, 0.0).retryable


@pytest.mark.parametrize(("table", "code"), [(THOUGHTS_REFUSED, "reasoning_refused"), (TOO_LONG, "context_overflow")])
def test_a_server_that_wants_the_same_again_is_not_believed_here(table, code):
    """`x-should-retry` is for mishaps: what is in the request stays in it."""
    for status, body in table.values():
        error = Failures("x", "m", None).refused(status, {"x-should-retry": "true"}, msgspec.json.encode(body), 0.0)
        assert (error.code, error.retryable) == (code, False)
        assert error.hint


@pytest.mark.parametrize(
    "words",
    [
        "context " * 100_000,
        "encrypted content " * 50_000,
        "messages property '" * 50_000,
        "a" * 10**6,
        "thinking blocks " * 9**5,
    ],
)
def test_hostile_words_take_no_time(words):
    """They are a server's: only their beginning is looked at, and never in more than one way."""
    begun = time.process_time()
    judge(400, Said(words, words, where=words))

    assert time.process_time() - begun < 0.5
    assert len(Said(words).text) <= MAX_WORDS

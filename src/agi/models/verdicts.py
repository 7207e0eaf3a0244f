"""What a server's refusal means: which code of ours, and may it pass. The words are those of real servers.

OpenAI, Anthropic, Google, and the servers that imitate them: Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, DeepSeek,
Groq, Mistral. Pure; reading the words is `said`'s business, making an error of the verdict `failures`'.
May import: models.said.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agi.models.said import Said

# Only bounded gaps: the words are a server's, and looking through them must not take long.
_OVERFLOW = re.compile(
    r"context[_ ]length[_ ]exceeded|exceed_context_size|maximum context length|available context size|context overflow"
    r"|context (window|length|size) (is |of |was |has been )?(exceed|too small)|maximum prompt length|request_too_large"
    r"|exceed(s|ed)? (the |this |model'?s? |your )*(context|max(imum)? (number of tokens|context|prompt|model len))"
    r"|(greater|longer|larger) than the (model'?s? )?(context|maximum)|too many (input )?tokens|input tokens exceed"
    r"|(prompt|input|request|conversation|messages?) (is|are) too (long|large)|reduce the length of"
    r"|string_above_max_length"
    r"|token limit exceeded|exceeded model token limit|exceed context limit|context limit exceeded"
    r"|context the overflows|context length of only|n_keep .{0,40}n_ctx|prompt too long|prompt exceeds max"
    r"|token count (is|of) \d{1,12} (but|exceeds)|range of input length|tokens \+ `?max_new_tokens",
    re.IGNORECASE,
)
# A request that is larger than what may be asked in a whole minute never gets through by waiting.
_NEVER_FITS = re.compile(r"request too large for|tokens must be reduced", re.IGNORECASE)
_REASONING = re.compile(
    r"invalid_encrypted_content|encrypted.content .{0,300}(could not be|did not match|mismatch)"
    r"|of type '?reasoning'? was provided without|without its required '?reasoning'? item"
    r"|item with id '?rs_.{0,120}not found|invalid `?signature`? in `?thinking|invalid `?data`? in `?redacted_thinking"
    r"|thinking['`]? blocks .{0,80}cannot be (modified|changed)|expected `?(redacted_)?thinking"
    r"|\bthinking\.(signature|thinking)\b|(final|last) block .{0,80}cannot be .?thinking|start with a thinking block"
    r"|each thinking block must|thought.?signature|reasoning_(content|details)"
    r"|messages.{0,120}property '[\w.]{0,80}reason",
    re.IGNORECASE,
)
_SCHEMA = re.compile(
    r"response.?format|json.?schema|\btext\.format|output_config(?!\.effort)|output_format|response_?(json_?)?schema"
    r"|response.?mime.?type|structured.?output|json mode|\bgrammar\b|too many states|schema in generationconfig",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(r"model_not_found|model .{0,100}(not found|does not exist)|no such model", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (credits|balance|funds)|credit balance is too low",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api[_ ]key[_ ](not valid|invalid|expired)", re.IGNORECASE)
_PASSING = frozenset((408, 409, 429))
# Where the request is refused for what is in it; some local servers say so with the status of a mishap of their own.
_ABOUT_THE_REQUEST = frozenset((400, 404, 422, 500, 501))
# Errors inside a stream come without a status of their own; names that are not here mean the server's own trouble.
_STATUS_BY_NAME = {
    "invalid_request": 400,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "UNAUTHENTICATED": 401,
    "billing_error": 402,
    "permission_error": 403,
    "PERMISSION_DENIED": 403,
    "not_found_error": 404,
    "NOT_FOUND": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "RESOURCE_EXHAUSTED": 429,
}
_FOR_GOOD = frozenset(("context_overflow", "reasoning_refused", "schema_refused"))


class Verdict(NamedTuple):
    """What a failure is: our code for it, and whether asking again may help."""

    code: str
    retryable: bool
    about: str
    """What the hint is about: the code, or something closer."""
    status: int
    """The status it came with, or would have come with."""


def judge(status: int | None, said: Said) -> Verdict:
    """What a status and the words that came with it mean; without a status they say by name what it would have been."""
    if status is None:
        named = (_STATUS_BY_NAME.get(name) for name in said.codes.split())
        status = said.status or next(filter(None, named), 500)
    words = said.text
    code = _code(status, words)
    # Google calls a limit that passes within a minute a quota, too; there the body says how long to wait.
    quota = status == 402 or (status in (400, 403, 429) and said.wait is None and _QUOTA.search(words) is not None)
    retryable = may_pass(status) and not quota and code not in _FOR_GOOD
    return Verdict(code, retryable, "quota" if quota else "redirect" if 300 <= status < 400 else code, status)


def _code(status: int, said: str) -> str:
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(said)):
        return "provider_auth"
    if status == 429:
        return "context_overflow" if _NEVER_FITS.search(said) else "rate_limited"
    if status == 413 or _OVERFLOW.search(said):
        return "context_overflow"
    if status in _ABOUT_THE_REQUEST and _REASONING.search(said):
        return "reasoning_refused"
    if status in _ABOUT_THE_REQUEST and _SCHEMA.search(said):
        return "schema_refused"
    if status == 404 or (status in (400, 422) and _UNKNOWN_MODEL.search(said)):
        return "model_not_found"
    return "provider_failed"


def is_too_long(said: Said) -> bool:
    """Whether the words themselves, and not only a status, say that the conversation is too long."""
    return _OVERFLOW.search(said.text) is not None


def may_pass(status: int) -> bool:
    """Whether a status speaks of something that passes by itself."""
    return status in _PASSING or status >= 500

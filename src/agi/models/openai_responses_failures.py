"""What errors inside an answer in OpenAI's Responses format mean beyond what every provider's do.

They come without a status and without headers: that a request is refused for good is in the code, and how long to wait
in the words. The rest is `failures`' business. May import: config, errors, models.failures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agi.errors import ModelError
from agi.models.failures import Failures

if TYPE_CHECKING:
    from agi.config import Secret

# Here the request itself is refused, only late: it is of no use to send it again as it is.
_REFUSED = re.compile(r"invalid_prompt|image|policy|mismatch", re.ASCII)
_WAIT = re.compile(r"try again in (?:(\d{1,4})m)?(\d{1,9}(?:\.\d{1,9})?) ?(ms|s)", re.ASCII | re.IGNORECASE)


class ResponsesFailures(Failures):
    """Makes the errors of one model behind OpenAI's Responses."""

    def __init__(self, provider: str, model: str, key: Secret | None) -> None:
        super().__init__(provider, model, key, api="an API in OpenAI's Responses format")

    def reported(self, error: object) -> ModelError:
        """The server put an error into the stream."""
        told = error if isinstance(error, dict) else {"message": error}
        if _REFUSED.search(str(told.get("code"))):
            told = {**told, "type": "invalid_request_error"}
        failure = super().reported(told)
        if failure.retryable and (found := _WAIT.search(str(told.get("message")))):
            failure.retry_after = _seconds(found)
        return failure


def _seconds(found: re.Match[str]) -> float:
    minutes, number, unit = found.groups()
    return int(minutes or 0) * 60 + float(number) / (1000 if unit.lower() == "ms" else 1)

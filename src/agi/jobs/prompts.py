"""Whether a command seems to wait for a person: it has fallen silent in the middle of a line that asks for something.

Commands get no input, so one that asks will wait for ever, or ask for ever. Progress and half-finished remarks
("Compiling: ") are no questions: where words leave a doubt, it is none. Pure. May import: jobs.output.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache

from agi.jobs.output import Output

SILENT_S = 10.0
"""How long a question must have stood before it is taken for one."""
LOOKED_AT = 4096

_LONGEST = 300
_SCREEN_TAKEN, _SCREEN_LEFT = "\x1b[?1049h", "\x1b[?1049l"
_NO_TERMINAL = "Input is not from a terminal"
"""What vi says before it waits for ever."""

_ESCAPES = r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])"
_DEFAULT = r"(?:[\[(][^\])\n]{0,60}[\])]\s*)?"
"""What would be taken for an answer, in brackets."""
_CHOICE = r"[\[(]\s*(?:y(?:es)?\s*/\s*n(?:o)?|n(?:o)?\s*/\s*y(?:es)?)(?:\s*/[^\])\n]{0,40})?\s*[\])]\s*[?:>]*\s*$"
_QUESTION = rf"\w[^?\n]*\?\s*{_DEFAULT}:?\s*$"
_NOUNS = (
    r"pass ?word|pass ?phrase|user ?name|login|e-?mail(?: address)?|your \w+|(?:full|project|package) name|choice|"
    r"selection|answer|response|otp|pin|verification code|(?:api|access|auth) (?:token|key)|y/n|yes/no"
)
_REQUEST = rf"\b(?:{_NOUNS})(?: (?:for|to) [^\n]{{1,120}})?\s*{_DEFAULT}:\s*{_DEFAULT}$"
_ORDER = (
    r"^\W*(?:please )?(?:enter|select|choose|confirm|type (?:in|the|your|an?)|provide|specify)\b"
    rf"[^\n]*[:>]\s*{_DEFAULT}$"
)
_KEY = r"\b(?:press|hit) (?:any key|enter|return|space|<[^>]+>|\[[^\]]+\])[^\n]{0,80}$"
_INTERPRETER = r"^(?:>>> |\.\.\. |In \[\d+\]: |irb\([^)]*\):\d+:\d+> |mysql> |sqlite> |\w+[=#]> |> )$"
_REFUSED = (
    r"/dev/tty: (?:No such device|cannot open)|not a (?:tty|terminal)\b|terminal is required|no tty present|"
    r"EOF when reading a line|could not read (?:Username|Password)|Inappropriate ioctl|unexpected end of input|"
    r"input is not from a terminal|stdin is not a terminal|prompts? (?:were|was) (?:aborted|cancel)"
)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """Compiled when it is first needed: most processes never wait for a silent command."""
    return re.compile(expression, re.IGNORECASE)


def _asks(line: str) -> bool:
    every = (_CHOICE, _QUESTION, _REQUEST, _ORDER, _KEY, _INTERPRETER)
    return any(_compiled(expression).search(line) for expression in every)


def full_screen(text: str) -> str:
    """What shows that a program took a whole screen for itself and has not given it back; else nothing."""
    if text.rfind(_SCREEN_TAKEN) > text.rfind(_SCREEN_LEFT):
        return "it has taken the whole screen"
    return _NO_TERMINAL if _NO_TERMINAL in text else ""


def question_at_end(text: str) -> str:
    """The unfinished line at the end of a text if it asks a person for something; else nothing."""
    last = _compiled(_ESCAPES).sub("", text[-LOOKED_AT:]).rpartition("\n")[2].rpartition("\r")[2]
    if not last.strip() or len(last) > _LONGEST:
        return ""
    return last.strip() if _asks(last) else ""


def repeated_question(text: str) -> str:
    """The question a text ends with over and over, since nobody answers; else nothing."""
    tail = _compiled(_ESCAPES).sub("", text[-LOOKED_AT:])
    if len(tail) < LOOKED_AT // 2:
        return ""
    last = tail[-_LONGEST:]
    period = len(tail) - len(last) - tail.rfind(last, 0, len(tail) - 1)
    if period > _LONGEST or tail[period:] != tail[:-period]:
        return ""
    once = tail[-period:]
    # Where a round begins is not known: at the end of a line, or behind the mark of a question.
    turned = (once[at:] + once[:at] for at in range(len(once)) if at == 0 or once[at - 1] in " :?>])\n")
    return next((found for round_ in turned if (found := question_at_end(round_))), "")


def wanted_input(text: str) -> bool:
    """Whether a command that failed says that it could not ask somebody."""
    return bool(_compiled(_REFUSED).search(text[-LOOKED_AT:]))


class Attention:
    """Watches one command for a question."""

    def __init__(self, output: Output, clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._clock = clock
        self._repeating_since: float | None = None

    def question(self) -> str:
        """The question it has been waiting with for long enough; else nothing."""
        text, now = self._output.tail(LOOKED_AT), self._clock()
        if now - self._output.last_at >= SILENT_S:
            return question_at_end(text) or full_screen(text)
        repeated = repeated_question(text)
        if not repeated:
            self._repeating_since = None
            return ""
        if self._repeating_since is None:
            self._repeating_since = now
        return repeated if now - self._repeating_since >= SILENT_S else ""

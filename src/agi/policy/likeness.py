"""What a failed command printed, made comparable: two runs that printed the same failed in the same way.

For commands whose output names no tests. Only what differs by chance is passed over: times, addresses, the names of
temporary folders. Numbers stay, since one failure more may show in nothing else. May import: policy.
"""

from __future__ import annotations

import re

from agi.policy.evidence import mark
from agi.policy.stopping import may_have_stopped

LONGEST = 16_000
"""An output of this length has lost its beginning."""

_CUT = re.compile(r"^\[.{0,200}(?:left out|not shown)", re.MULTILINE)
_BY_CHANCE = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]"
    r"|\b0x[0-9a-fA-F]+\b"
    r"|\b\d{4}-\d\d-\d\d(?=[T ]\d\d:)"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b"
    r"|\b\d{1,9}(?:\.\d{1,9})? ?(?:ns|µs|us|ms|s|seconds?)\b"
    r"|(?<=/tmp/)tmp[.\w]{6,12}\b"
)


def likeness(command: str, output: str) -> str:
    """A mark of what a command printed; empty if some of it may be missing, so that it is like nothing."""
    if len(output) >= LONGEST or _CUT.search(output) or may_have_stopped(command, output):
        return ""
    return mark(_BY_CHANCE.sub("~", output.replace("\r\n", "\n")).strip())

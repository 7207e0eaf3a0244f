"""The first process inside: a shell that sets limits, runs the command, and waits a moment for what it left behind.

What a command leaves in the background ends with it, but its last words are to be heard. In a process namespace,
whatever has lost its parent becomes a child of the first process, so the shell can see it. It runs nothing before the
first process sleeps, bound by then to those outside, and one of them has answered. Any `sh` will do.
May import: sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence

from agi.sandbox.limits import MORE_LIKELY_TO_GO, as_shell

SHELL = "/bin/sh"

_GUARD = """{limits}
{{ echo {score} >/proc/self/oom_score_adj; }} 2>/dev/null
state=
until [ "$state" = S ]; do read -r pid name state rest </proc/1/stat || exit 125; done
echo s >/proc/self/fd/{report} || exit 125
read -r leave </proc/self/fd/{leave} && [ "$leave" = g ] || exit 125
trap : TERM INT HUP
exec {spare}>&2 2>/dev/null
(exec "$@" 2>&{spare} {spare}>&-)
code=$?
orphans() {{
  read -r left </proc/1/task/1/children
  [ -n "${{left% }}" ] && [ "${{left% }}" != "$$" ]
}}
turns=0
while orphans && [ $turns -lt 10 ]; do sleep 0.02; turns=$((turns + 1)); done
orphans && echo l >/proc/self/fd/{report}
exit $code
"""


def guarded_by_shell(argv: Sequence[str], limits: dict[int, int], *, report: int, leave: int) -> list[str]:
    """The command, run by a shell inside a process namespace, which says that it has begun and waits for leave."""
    # The shell's own remarks ("Terminated") go nowhere. Small shells know one-digit descriptors only.
    spare = next(fd for fd in (9, 8, 7) if fd not in (report, leave))
    numbers = {"score": MORE_LIKELY_TO_GO, "report": report, "leave": leave, "spare": spare}
    script = _GUARD.format(limits=as_shell(limits), **numbers)
    return [SHELL, "-c", script, "sh", *argv]

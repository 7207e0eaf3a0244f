"""What tools of servers are called here: `mcp__server__tool`, in letters every provider takes, 64 at most.

Pure. May import: mcp.
"""

from __future__ import annotations

import re
from hashlib import sha256

from agi.mcp.base import PREFIX

LONGEST = 64
_LONGEST_SERVER = 24
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


def slug(server: str) -> str:
    """A server's name as it stands in the names of its tools; two that read the same count as one."""
    fit = _UNFIT.sub("_", server).strip("_") or "server"
    return fit if len(fit) <= _LONGEST_SERVER else f"{fit[: _LONGEST_SERVER - 7]}_{_hash(server)}"


def tool_name(server: str, tool: str) -> str:
    """What agents call a tool by; one that had to be altered ends in a hash, so that no two are taken for one."""
    fit = _UNFIT.sub("_", tool)
    name = f"{PREFIX}{slug(server)}__{fit}"
    if fit == tool and len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 7]}_{_hash(tool)}"


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:6]

"""What kind of file a path is, by its name alone: source, test, documentation, settings, example, made by a program.

Somebody who asks for a change rarely means a lock file, so kinds weigh differently; none is left out, and tests and
documents weigh nearly as much as source where the question speaks of them. May import: nothing of ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

_KINDS = (
    (
        "made",
        r"(^|/)(vendor|third_party|node_modules|dist|build|\.yarn)/|\.min\.|\.pb\.|[._]gen(erated)?\.|zz_generated"
        r"|\.(lock|sum|map|snap|po|pot)$|(^|/)[^/]*-lock\.[^/]*$",
    ),
    (
        "test",
        r"(^|/)(tests|__tests__|testdata)/|(^|/)test_[^/]*$|[._](test|spec)\.\w+$|_(test|spec)\.[^/]*$"
        r"|(^|/)(tests?|conftest)\.(py|rs)$",
    ),
    (
        "doc",
        r"\.(md|mdx|rst|txt|adoc|html?|svg|css|scss|less)$"
        r"|(^|/)(docs?|changelogs?|changes|license|readme|authors|contributing|news|history|website)(/|$|\.[^/]*$)",
    ),
    (
        "settings",
        r"(^|/)\.[^/]+(/|$)|\.(json|ya?ml|toml|cfg|ini|mod|xml|csv|stderr|stdout|golden)$|(^|/)(makefile|dockerfile)$",
    ),
    (
        "example",
        r"(^|/)(examples?|samples?|demos?|playground|fixtures?|bench(es|marks?)?|mocks?|__mocks__|scripts?|e2e)/",
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_WORTH = {"source": 1.0, "example": 0.75, "test": 0.6, "settings": 0.6, "made": 0.6, "doc": 0.5}
_MEANT = 0.9


@lru_cache(maxsize=100_000)
def kind_of(path: str) -> str:
    """The kind of a file: source, or what its path gives away."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(path)), "source")


def worth_of(kind: str, about: Collection[str] = ()) -> float:
    """What a file of this kind weighs beside source; more where the question is about such files."""
    return max(_WORTH[kind], _MEANT) if kind in about else _WORTH[kind]

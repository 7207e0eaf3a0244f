"""Type hints become a schema a model can read, and the same hints check what it sends."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest

from agi.usertools.signature import MOST_ARGUMENTS, Unfit, bound, schema_of


class Point(TypedDict):
    x: int
    label: NotRequired[Annotated[str, "What it is called."]]


class Endless(TypedDict):
    inner: "Endless"  # noqa: UP037


CASES = [
    (str, {"type": "string"}, "a", 1),
    (int, {"type": "integer"}, 1, True),
    (float, {"type": "number"}, 1.5, "1"),
    (bool, {"type": "boolean"}, True, 1),
    (list, {"type": "array"}, [1], {}),
    (list[str], {"type": "array", "items": {"type": "string"}}, ["a"], [1]),
    (dict, {"type": "object"}, {"a": 1}, []),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": "b"}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "a", "c"),
    (Literal[1, "b"], {"enum": [1, "b"]}, 1, True),
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "a", 1.5),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, "a"),  # noqa: UP045
    (Annotated[str, "Told."], {"type": "string", "description": "Told."}, "a", None),
    (Any, {}, {"a": [1]}, None),
    (
        Point,
        {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "label": {"type": "string", "description": "What it is called."}},
            "required": ["x"],
            "additionalProperties": False,
        },
        {"x": 1, "label": "a"},
        {"label": "a"},
    ),
]


def taking(hint):
    def function(value):
        return value

    function.__annotations__ = {"value": hint}
    return function


@pytest.mark.parametrize(("hint", "schema", "fitting", "unfit"), CASES, ids=[str(case[0]) for case in CASES])
def test_a_type_is_described_and_checked(hint, schema, fitting, unfit):
    """What the schema promises is what the function gets."""
    function = taking(hint)
    assert schema_of(function)["properties"] == {"value": schema}
    assert bound(function, {"value": fitting}) == {"value": fitting}
    if hint is not Any:
        with pytest.raises(Unfit, match="value"):
            bound(function, {"value": unfit})


def test_a_whole_number_is_a_number():
    """A model writes 3 where 3.0 is meant."""
    assert type(bound(taking(float), {"value": 3})["value"]) is float


def test_defaults_make_arguments_optional():
    """One that may be None is described by its type alone."""

    def function(a: str, b: int = 3, c: str | None = None, *, d: Annotated[bool | None, "Told."] = None) -> None: ...

    schema = schema_of(function)
    assert schema["required"] == ["a"]
    assert schema["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "integer", "default": 3},
        "c": {"type": "string"},
        "d": {"type": "boolean", "description": "Told."},
    }
    assert bound(function, {"a": "x"}) == {"a": "x"}


@pytest.mark.parametrize(
    "doc",
    [
        "Do.\n\nArgs:\n    path: Where it\n        lies.\n    n (int): How many.\n\nReturns:\n    x: no",
        "Do.\n\n    :param path: Where it lies.\n    :param int n: How many.",
    ],
)
def test_a_docstring_describes_arguments(doc):
    """In either of the usual forms."""

    def function(path: str, n: int, x: Annotated[int, "Its own."]) -> None: ...

    function.__doc__ = doc
    told = {name: one.get("description") for name, one in schema_of(function)["properties"].items()}
    assert told == {"path": "Where it lies.", "n": "How many.", "x": "Its own."}


def _many() -> object:
    names = ", ".join(f"a{number}: int" for number in range(MOST_ARGUMENTS + 1))
    space: dict[str, Any] = {}
    exec(f"def function({names}): ...", space)
    return space["function"]


def _untyped(a): ...


def _star(*a: int): ...


def _stars(**a: int): ...


def _positional(a: int, /): ...


def _command(command: str): ...


def _foreign(ä: int): ...


def _default(a: dict = {"x": object}): ...  # noqa: B006


def _unknown(a: "Nowhere"): ...  # noqa: F821, UP037


@pytest.mark.parametrize(
    "function",
    [
        _untyped,
        _star,
        _stars,
        _positional,
        _command,
        _foreign,
        _default,
        _unknown,
        _many(),
        taking(set),
        taking(bytes),
        taking(dict[int, str]),
        taking(Endless),
        taking(Literal[b"x"]),
    ],
)
def test_what_cannot_be_described_is_refused(function):
    """With words about which argument it is."""
    with pytest.raises(Unfit) as raised:
        schema_of(function)
    assert len(str(raised.value)) < 1000


def test_unknown_and_missing_arguments_are_named():
    """A misspelled one does not go unnoticed."""
    with pytest.raises(Unfit, match="no argument `b`; there are: value"):
        bound(taking(int), {"value": 1, "b": 2})
    with pytest.raises(Unfit, match="`value` is missing"):
        bound(taking(int), {})
    with pytest.raises(Unfit, match=r"`value\[1\]` must be text"):
        bound(taking(list[str]), {"value": ["a", 2]})
    with pytest.raises(Unfit, match="no field `z`"):
        bound(taking(Point), {"value": {"x": 1, "z": 2}})

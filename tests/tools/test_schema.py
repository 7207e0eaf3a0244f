"""A tool's input, described and read."""

from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Raw, Struct

from agi.protocol.tools import ToolCall
from agi.tools.schema import input_schema, read_input


class Inner(Struct, forbid_unknown_fields=True):
    name: str


class Sample(Struct, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Which.")]
    count: Annotated[int, Meta(ge=1)] | None = None
    inner: Inner | None = None
    many: list[Inner] = []
    flag: bool = False


INNER = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def test_a_schema_stands_for_itself():
    """References are put in place, and an optional field is its type alone."""
    assert input_schema(Sample) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which."},
            "count": {"type": "integer", "minimum": 1},
            "inner": INNER,
            "many": {"type": "array", "items": INNER, "default": []},
            "flag": {"type": "boolean", "default": False},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


def test_an_optional_field_may_be_null_all_the_same():
    """Models write null where they mean nothing."""
    call = ToolCall("c", "t", Raw(b'{"path": "a", "count": null}'))

    assert read_input(call, Sample) == Sample(path="a")


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b'{"path": 1}', b'{"path": "a", "x": 1}', b'{"path": "\\ud800"}'])
def test_an_input_that_does_not_fit_is_refused(raw):
    """Unknown fields, wrong types, broken JSON and broken text never reach a tool."""
    with pytest.raises(msgspec.MsgspecError):
        read_input(ToolCall("c", "t", Raw(raw)), Sample)

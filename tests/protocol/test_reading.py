"""Decoders that are made by their first use."""

import msgspec
import pytest

from agi.protocol.reading import reader


class Later(msgspec.Struct):
    """A type that can only be looked at once what it is made of is there."""

    value: "Missing"  # noqa: F821


def test_nothing_is_looked_at_before_something_is_read():
    """Making a reader costs a start nothing, whatever stands behind its type."""
    read = reader(Later)
    with pytest.raises(NameError):
        read(b'{"value":1}')

    globals()["Missing"] = int
    try:
        assert read(b'{"value":1}') == Later(value=1)
        assert read('{"value":2}') == Later(value=2)
    finally:
        del globals()["Missing"]


def test_what_does_not_fit_is_refused_as_msgspec_refuses_it():
    """A reader adds nothing to what a decoder says."""
    read = reader(tuple[int, ...])

    assert read(b"[1,2]") == (1, 2)
    with pytest.raises(msgspec.ValidationError, match="Expected `int`, got `str`"):
        read(b'["a"]')
    with pytest.raises(msgspec.DecodeError):
        read(b"[1,")

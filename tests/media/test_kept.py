"""A picture is encoded once."""

from __future__ import annotations

import pytest

from agi.errors import Invalid
from agi.media import kept as module
from agi.media.kept import Kept
from agi.media.pictures import Bounds, encode_picture
from agi.testing.files import broken_png, noise, picture

BOUNDS = Bounds(500, 1_000_000)


@pytest.fixture
def counted(monkeypatch):
    done = []

    def encode(data, bounds):
        done.append(bounds)
        return encode_picture(data, bounds)

    monkeypatch.setattr(module, "encode_picture", encode)
    return done


def test_one_picture_and_one_size_are_encoded_once(counted):
    """Another size is another picture."""
    kept = Kept()
    first = kept.encoded(picture(), BOUNDS)
    assert all(kept.encoded(picture(), BOUNDS) is first for _ in range(20))
    kept.encoded(picture(), Bounds(4, 1_000))
    assert len(counted) == 2


def test_a_damaged_one_is_tried_once_too(counted):
    """And refused in the same words."""
    kept, said = Kept(), set()
    for _ in range(3):
        with pytest.raises(Invalid) as refusal:
            kept.encoded(broken_png(), BOUNDS)
        said.add(refusal.value.message)
    assert (len(counted), len(said)) == (1, 1)


def test_what_was_not_needed_for_longest_makes_room(counted):
    """And comes out the same when it is needed again."""
    kept = Kept(most=60_000)
    pictures = [noise(size=(100, 100), seed=seed) for seed in range(3)]
    first = [kept.encoded(one, BOUNDS) for one in pictures]
    assert kept.encoded(pictures[0], BOUNDS) == first[0]
    assert len(counted) == 4

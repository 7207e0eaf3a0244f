"""Kinds of files by their paths."""

import pytest

from agi.index.kinds import kind_of, worth_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/cart.py", "source"),
        ("lib/testing.py", "source"),
        ("tests/test_cart.py", "test"),
        ("cart_test.go", "test"),
        ("src/cart.spec.ts", "test"),
        ("README.md", "doc"),
        ("docs/guide.rst", "doc"),
        ("package-lock.json", "made"),
        ("Cargo.lock", "made"),
        ("vendor/x/y.go", "made"),
        ("api/shop.pb.go", "made"),
        ("web/app.min.js", "made"),
        ("pyproject.toml", "settings"),
        (".github/workflows/ci.yml", "settings"),
        ("examples/hello/main.rs", "example"),
    ],
)
def test_the_kind_of_a_file_is_told_by_its_path(path, kind):
    """Names are enough; nothing is opened."""
    assert kind_of(path) == kind


def test_source_weighs_most_and_nothing_weighs_nothing():
    """Kinds are doubts, not filters."""
    worths = [worth_of(kind) for kind in ("example", "test", "settings", "made", "doc")]
    assert all(0 < worth < worth_of("source") for worth in worths)


def test_tests_weigh_nearly_as_much_as_source_where_they_are_asked_for():
    """Somebody who asks about tests gets tests."""
    assert worth_of("test", {"test"}) > worth_of("test")
    assert worth_of("doc", {"test"}) == worth_of("doc")

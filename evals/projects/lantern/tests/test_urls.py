"""Finding and comparing links."""

from lantern.urls import find_links, host_of, normalise


def test_inline_links_are_found_once():
    """In the order they stand."""
    assert find_links("[a](https://a.example) [b](https://b.example) [a](https://a.example)") == [
        "https://a.example",
        "https://b.example",
    ]


def test_reference_links_are_found():
    """Also those below the text."""
    assert find_links("[a]: https://a.example/x") == ["https://a.example/x"]


def test_hosts_are_compared_in_lower_case():
    """Hosts have no case."""
    assert normalise("https://A.example/X#y") == "https://a.example/X"


def test_a_relative_link_has_no_host():
    """It leads to a file."""
    assert host_of("../notes.md") == ""

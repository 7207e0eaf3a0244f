"""URLs are read strictly."""

from __future__ import annotations

import pytest

from agi.errors import Invalid
from agi.net.url import Url, is_loopback, split_url


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://example.com", Url("http", "example.com", 80, "/")),
        ("HTTPS://Example.COM/v1/Chat?q=A", Url("https", "example.com", 443, "/v1/Chat?q=A")),
        ("http://localhost:11434/api/", Url("http", "localhost", 11434, "/api/")),
        ("http://example.com?x=1", Url("http", "example.com", 80, "/?x=1")),
        ("http://example.com/a#part", Url("http", "example.com", 80, "/a")),
        ("http://example.com?to=http://a@b/", Url("http", "example.com", 80, "/?to=http://a@b/")),
        ("http://[::1]:8080/x", Url("http", "::1", 8080, "/x")),
        ("https://[2001:DB8::1]/", Url("https", "2001:db8::1", 443, "/")),
        ("http://example.com./", Url("http", "example.com.", 80, "/")),
    ],
)
def test_a_url_is_split_into_what_the_wire_needs(url: str, parts: Url) -> None:
    """Scheme and host are lower-cased, the port filled in, the fragment left out and the rest kept as written."""
    assert split_url(url) == parts


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://user:secret@example.com/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:/",
        "http://example.com:8a/",
        "http://exa mple.com/",
        "http://example.com/a b",
        "http://example.com/\r\nx: y",
        "http://example.com/\0",
        "http://exämple.com/",
        "http://example.com/ä",
        "http://exam\\ple.com/",
        "http://a..b/",
        "http://" + "a" * 64 + ".com/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[fe80::1%25eth0]/",
        "http://[127.0.0.1]/",
        "http://::1/",
    ],
)
def test_a_url_that_is_not_fit_for_the_wire_is_refused(url: str) -> None:
    """Nothing is repaired or guessed, and the message does not repeat what may hold a secret."""
    with pytest.raises(Invalid) as caught:
        split_url(url)
    assert "secret" not in str(caught.value)
    assert caught.value.hint


def test_the_host_header_names_the_port_only_where_it_matters() -> None:
    """Servers compare the host header, so the usual port is left out."""
    urls = ["https://a.example/", "https://a.example:80/", "http://[::1]/", "http://[::1]:81/"]
    assert [split_url(url).authority for url in urls] == ["a.example", "a.example:80", "[::1]", "[::1]:81"]


@pytest.mark.parametrize("host", ["localhost", "api.localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_names_of_this_machine_are_loopback(host: str) -> None:
    """Judged by name, without asking anyone."""
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["127.evil.example", "localhost.example", "10.0.0.1", "::2", "1127.0.0.1"])
def test_names_that_only_look_local_are_not_loopback(host: str) -> None:
    """Whoever registers such a name must not gain from it."""
    assert not is_loopback(host)

"""Which way a request takes."""

from __future__ import annotations

import pytest

from agi.errors import ConfigError
from agi.net.route import Proxies, Proxy, Route
from agi.net.url import split_url


def proxy_for(url: str, **env: str) -> Proxy | None:
    return Proxies.from_env(env).route(split_url(url)).proxy


def test_without_variables_every_request_goes_straight() -> None:
    """No proxy is made up."""
    assert Proxies.from_env({}).route(split_url("https://a.example/x")) == Route("https", "a.example", 443)


def test_each_scheme_has_its_own_proxy() -> None:
    """HTTP_PROXY is for http, HTTPS_PROXY for https; the lower-case spelling wins and may empty the other."""
    assert proxy_for("http://a.example/", HTTP_PROXY="http://p:3128") == Proxy("p", 3128)
    assert proxy_for("https://a.example/", HTTP_PROXY="http://p:3128") is None
    assert proxy_for("https://a.example/", HTTPS_PROXY="p:1", https_proxy="q:2/") == Proxy("q", 2)
    assert proxy_for("https://a.example/", HTTPS_PROXY="p:1", https_proxy="") is None


def test_a_proxys_user_and_password_become_basic_credentials() -> None:
    """They are unquoted first, and never shown."""
    proxy = proxy_for("http://a.example/", HTTP_PROXY="http://me:p%40ss@p:3128")
    assert proxy == Proxy("p", 3128, "Basic bWU6cEBzcw==")
    assert "bWU6" not in repr(proxy)


@pytest.mark.parametrize("value", ["socks5://p:1", "https://p:1", "http://me:secret@", "http://p:port", "http://p q"])
def test_a_proxy_that_cannot_be_used_is_a_configuration_error(value: str) -> None:
    """The message names the variable and keeps its value to itself."""
    with pytest.raises(ConfigError, match="HTTPS_PROXY") as caught:
        Proxies.from_env({"HTTPS_PROXY": value})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "x.localhost"])
def test_loopback_never_goes_through_a_proxy(host: str) -> None:
    """A proxy elsewhere could only reach its own loopback, and would learn what we said."""
    assert proxy_for(f"http://{host}:8080/", HTTP_PROXY="http://p:3128") is None


@pytest.mark.parametrize(
    ("entries", "url"),
    [
        ("*", "http://a.example/"),
        ("a.example", "http://a.example/"),
        ("example", "http://a.example/"),
        (".a.example", "http://b.a.example/"),
        ("*.a.example", "http://b.a.example/"),
        ("x.example, A.Example", "http://a.example/"),
        ("x.example a.example", "http://a.example/"),
        ("a.example:81", "http://a.example:81/"),
        ("10.0.0.0/8", "http://10.1.2.3/"),
        ("10.1.2.3", "http://10.1.2.3/"),
        ("[fd00::1]:81", "http://[fd00::1]:81/"),
        ("fd00::1", "http://[fd00::1]/"),
        ("fd00::/8", "http://[fd00::1]/"),
    ],
)
def test_a_host_that_no_proxy_covers_is_reached_directly(entries: str, url: str) -> None:
    """Names cover their subdomains, ports and networks narrow it down, a star means all."""
    assert proxy_for(url, HTTP_PROXY="http://p:3128", NO_PROXY=entries) is None


@pytest.mark.parametrize(
    ("entries", "url"),
    [
        ("ample", "http://a.example/"),
        ("b.example", "http://a.example/"),
        ("a.example:82", "http://a.example:81/"),
        ("10.0.0.0/8", "http://11.1.2.3/"),
        ("10.0.0.0/8", "http://a.example/"),
        ("nonsense/8", "http://10.1.2.3/"),
        (".", "http://a.example/"),
        (",,", "http://a.example/"),
    ],
)
def test_other_hosts_still_go_through_the_proxy(entries: str, url: str) -> None:
    """A part of a name is not a match, and nonsense matches nothing."""
    assert proxy_for(url, HTTP_PROXY="http://p:3128", NO_PROXY=entries) == Proxy("p", 3128)

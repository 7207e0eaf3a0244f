"""Which hosts may be reached: by name, exactly, and only out in the internet."""

import pytest

from agi.errors import Invalid
from agi.sandbox.hosts import Hosts, is_public

HOSTS = Hosts(["good.example", ".docs.example", "odd.example:8443"], ["bad.docs.example", "good.example:80"])


@pytest.mark.parametrize(
    ("host", "port"),
    [("good.example", 443), ("a.docs.example", 80), ("a.b.docs.example", 443), ("odd.example", 8443)],
)
def test_what_is_on_the_list_may_be_reached(host, port):
    """A name, all below a name, or a name at its own port."""
    assert HOSTS.refusal(host, port) == ""


@pytest.mark.advisory("CVE-2026-24052")
@pytest.mark.threat("T31")
@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("good.example.evil.example", 443),
        ("evil-good.example", 443),
        ("xgood.example", 443),
        ("evil.example#good.example", 443),
        ("user@good.example", 443),
        ("good.example@evil.example", 443),
        ("good.example.", 443),
        ("good.example/x", 443),
        ("good.example\\evil.example", 443),
        ("good.example%00.evil.example", 443),
        ("GOOD.example", 443),
        ("gооd.example", 443),
        ("docs.example", 443),
        ("xdocs.example", 443),
        ("good.example", 22),
        ("good.example", 80),
        ("odd.example", 443),
        ("bad.docs.example", 443),
        ("", 443),
        (" good.example", 443),
        ("good..example", 443),
        ("-good.example", 443),
        ("a" * 300 + ".docs.example", 443),
        ("127.0.0.1", 443),
        ("2130706433", 443),
        ("0x7f000001", 443),
        ("127.1", 443),
        ("[::1]", 443),
        ("[::ffff:127.0.0.1]", 443),
        ("::1", 443),
        ("169.254.169.254", 80),
        ("localhost", 80),
        ("*", 443),
    ],
)
def test_what_only_looks_like_it_may_not(host, port):
    """Suffixes without a dot, users, fragments, odd spellings, addresses in any notation, other ports."""
    assert HOSTS.refusal(host, port)


@pytest.mark.parametrize(
    "entry", ["*", "", ".", "*.example", "10.0.0.1", "host:0", "host:x", "a b", "http://x", "[::1]"]
)
def test_a_list_says_what_it_means(entry):
    """There is no name for everything, and an entry that could never match is a mistake."""
    with pytest.raises(Invalid) as refused:
        Hosts([entry])
    assert refused.value.hint


@pytest.mark.threat("T31")
@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
        *("2002:7f00:1::", "2002:a00:1::", "not an address", ""),
        *("192.0.0.1", "192.0.0.192", "168.63.129.16", "::ffff:168.63.129.16", "3fff::1", "fec0::1", "5f00::1"),
        *("::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1", "2001:0:7f00:1::", "192.88.99.1", "100::1"),
    ],
)
def test_an_address_of_ones_own_is_not_public(address):
    """Loopback, private, link-local, shared and reserved ones, also where another notation hides them."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.215.14", "192.0.1.1", "168.63.129.17", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"],
)
def test_an_address_out_there_is_public(address):
    """So is the newer notation of an older one."""
    assert is_public(address)

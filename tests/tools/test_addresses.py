"""Which addresses may be reached."""

import pytest

from agi.errors import Invalid
from agi.tools.addresses import is_public, refuse_host


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_are_public(address):
    """Of both kinds, and one wrapped in the other."""
    assert is_public(address)


@pytest.mark.threat("T31")
@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.0.1", "0.0.0.0", "0.1.2.3", "::1", "::"),
        *("10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12::1", "fec0::1"),
        *("169.254.169.254", "fe80::1", "fe80::1%eth0", "100.64.0.1", "100.127.255.254"),
        *("224.0.0.1", "239.1.1.1", "ff02::1", "255.255.255.255", "240.0.0.1", "192.0.0.1", "198.18.0.1"),
        *("192.0.0.192", "168.63.129.16", "192.88.99.1", "3fff::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1"),
        *("2002:7f00:1::", "2002:a00:1::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2001:0:1::1", "2001:db8::1"),
        *("localhost", "", "1.1.1", "0x7f.1", "2130706433"),
    ],
)
def test_all_others_are_not(address):
    """Loopback, private, link-local, carrier, multicast, reserved; also in disguise."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "2130706433",
            "0x7f000001",
            "017700000001",
            "0177.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.0.0.1",
            "1.2.3.4.5",
            "10.0.0.010",
        ),
        *(
            "localhost",
            "a.localhost",
            "localhost.",
            "printer.local",
            "metadata.google.internal",
            "x.lan",
            "h.home.arpa",
        ),
    ],
)
def test_odd_numbers_and_local_names_are_refused(host):
    """Before anything is looked up."""
    with pytest.raises(Invalid) as caught:
        refuse_host(host)

    assert caught.value.code == "address_refused"


@pytest.mark.parametrize(
    "host", ["example.org", "example.org.", "1.2.3.4", "::1", "local.example.org", "4chan.example", "a.1x"]
)
def test_other_hosts_are_judged_by_where_they_lead(host):
    """Their addresses are looked at."""
    refuse_host(host)

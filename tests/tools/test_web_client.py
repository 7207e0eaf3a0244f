"""Getting pages: what is connected to is what was judged, at every step."""

import asyncio
import contextlib
import gzip
import ssl
import subprocess

import pytest

from agi.errors import Invalid
from agi.net.errors import NetError
from agi.net.http import Proxies
from agi.net.route import Proxy
from agi.tools import web_client
from agi.tools.web_client import WebClient, wire_form


class Web:
    """A server on loopback that stands for the public web: it says what it is told to, and remembers who asked."""

    def __init__(self):
        self.pages = {}
        self.asked = []
        self.looked_up = []
        self.names = {}
        self.serving = set()

    async def start(self, tls=None):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self):
        self.server.close()
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)
        await self.server.wait_closed()

    async def _serve(self, reader, writer):
        self.serving.add(asyncio.current_task())
        try:
            await self._answer(reader, writer)
        finally:
            writer.transport.abort()
            with contextlib.suppress(Exception):
                await writer.wait_closed()

    async def _answer(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.asked.append(head)
            page = self.pages.get(head.split(" ")[1], b"HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\nno")
            if callable(page):
                await page(writer)
            else:
                writer.write(page)
            await writer.drain()
            writer.write_eof() if writer.can_write_eof() else writer.close()
            await reader.read()

    async def look_up(self, host, port):
        self.looked_up.append(host)
        found = self.names.get(host, ["127.0.0.1"])
        if not found:
            raise OSError("no such name")
        return found.pop(0) if isinstance(found[0], list) else found

    def client(self, **given):
        """A client for which this server is public, and nothing else on loopback."""
        return WebClient(**{"resolve": self.look_up, "is_allowed": lambda address: address == "127.0.0.1", **given})

    def url(self, path="/", host="example.org", scheme="http"):
        return f"{scheme}://{host}:{self.port}{path}"


def page(body=b"hello", status="200 OK", **headers):
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{lines}\r\n".encode() + body


def redirect(where, status="302 Found"):
    return page(b"", status, location=where)


@pytest.fixture
async def web():
    """A web of one server."""
    found = Web()
    await found.start()
    yield found
    await found.stop()


async def test_a_page_comes_back_as_it_is(web):
    """With where it came from; the name is told to the server, and nothing else of ours."""
    web.pages["/a?b=c"] = page(b"hi", content_type="text/plain")

    fetched = await web.client().get(web.url("/a?b=c#part"))

    assert (fetched.status, fetched.body, fetched.content_type) == (200, b"hi", "text/plain")
    assert fetched.url == web.url("/a?b=c#part")
    assert f"host: example.org:{web.port}\r\n" in web.asked[0]
    assert "cookie" not in web.asked[0].lower()
    assert "authorization" not in web.asked[0].lower()


async def test_redirects_are_followed_and_each_is_judged(web):
    """Relative or not, up to five."""
    web.pages["/1"] = redirect("/2")
    web.pages["/2"] = redirect(web.url("/3", host="other.example"), "308 Permanent")
    web.pages["/3"] = page(b"there")

    fetched = await web.client().get(web.url("/1"))

    assert fetched.body == b"there"
    assert fetched.redirects == (web.url("/1"), web.url("/2"))
    assert web.looked_up == ["example.org", "example.org", "other.example"]


async def test_a_circle_of_redirects_ends(web):
    """After five."""
    web.pages["/"] = redirect("/")

    with pytest.raises(NetError, match="More than 5 redirects"):
        await web.client().get(web.url())
    assert len(web.asked) == 6


@pytest.mark.threat("T31")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1:8787/v1/sessions",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://192.168.0.1/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
        "http://0.0.0.0/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://localhost/",
        "http://localhost./",
        "http://a.localhost/",
        "http://metadata.google.internal/",
        "https://127.0.0.1/",
    ],
)
async def test_what_is_not_public_is_refused(url):
    """By the client as it is used: no option, no exception."""
    with pytest.raises(Invalid) as caught:
        await WebClient().get(url)

    assert caught.value.code == "address_refused"


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/",
        "gopher://example.org/",
        "//example.org/",
        "example.org",
        "javascript:alert(1)",
        "http://user:pw@example.org/",
        "http://good.example@127.0.0.1/",
        "http://example.org:0/",
        "http://exa mple.org/",
        "http:///x",
        "http://",
        "http://a..b/",
        "http://example.org\r\nx: y/",
    ],
)
async def test_what_is_no_plain_web_address_is_refused(url):
    """Before anything is looked up."""
    with pytest.raises(Invalid):
        await WebClient().get(url)


@pytest.mark.threat("T31")
@pytest.mark.parametrize(
    "where",
    ["http://169.254.169.254/", "http://10.0.0.1/", "http://2130706433/", "http://[::1]/", "file:///etc/passwd"],
)
async def test_a_redirect_to_what_is_not_public_is_refused(web, where):
    """The first address was fine; that does not help the second."""
    web.pages["/"] = redirect(where)

    with pytest.raises(Invalid):
        await web.client().get(web.url())
    assert len(web.asked) == 1


async def test_a_name_is_refused_if_any_of_its_addresses_is(web):
    """It could be the one that is taken next time."""
    web.names["example.org"] = ["93.184.216.34", "127.0.0.1"]

    with pytest.raises(Invalid, match="not a public address"):
        await WebClient(resolve=web.look_up).get(web.url())
    assert web.asked == []


@pytest.mark.threat("T31")
async def test_a_name_that_changes_its_mind_is_looked_up_once(web):
    """What was judged is what is connected to: there is no second question that could be answered otherwise."""
    web.names["example.org"] = [["127.0.0.1"], ["169.254.169.254"]]
    web.pages["/"] = page(b"first")

    fetched = await web.client().get(web.url())

    assert fetched.body == b"first"
    assert web.looked_up == ["example.org"]


async def test_the_next_address_is_tried_where_one_does_not_answer(web):
    """All of them were judged."""
    web.names["example.org"] = ["127.0.0.2", "127.0.0.1"]
    web.pages["/"] = page()

    fetched = await web.client(is_allowed=lambda address: True).get(web.url())

    assert fetched.body == b"hello"


async def test_a_name_without_an_address_is_told(web):
    """As one that is not known."""
    web.names["gone.example"] = []

    with pytest.raises(NetError, match=r"gone\.example is not known"):
        await web.client().get(web.url(host="gone.example"))


async def test_size_and_time_are_bounded(web):
    """A page without end is cut; one that never comes is given up."""

    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async def silent(writer):
        await asyncio.sleep(60)

    web.pages["/endless"], web.pages["/silent"] = endless, silent
    web.pages["/bomb"] = page(gzip.compress(b"\0" * 50_000_000), content_encoding="gzip")

    for path in ("/endless", "/bomb"):
        fetched = await web.client().get(web.url(path), limit=100_000)
        assert (len(fetched.body), fetched.truncated) == (100_000, True)
    with pytest.raises(NetError, match=r"more than 0\.2 s"):
        await web.client(seconds=0.2).get(web.url("/silent"))


async def test_a_server_that_is_none_is_told(web):
    """Garbage, and a connection that breaks."""

    async def cut(writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")

    web.pages["/garbage"], web.pages["/cut"] = b"\0\0garbage\r\n\r\n", cut

    for path in ("/garbage", "/cut"):
        with pytest.raises(NetError):
            await web.client().get(web.url(path))


@pytest.fixture
def certificate(tmp_path):
    """A certificate for example.org that its own file vouches for."""
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=example.org -addext subjectAltName=DNS:example.org"
    )
    subprocess.run(
        [*command.split(), "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], check=True, capture_output=True
    )
    return tmp_path


async def test_under_tls_the_certificate_must_be_the_names(certificate):
    """Although an address is connected to."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert", certificate / "key")
    web = Web()
    await web.start(tls=context)
    web.pages["/"] = page(b"secure")
    trusting = {"ca_file": str(certificate / "cert")}
    try:
        fetched = await web.client(**trusting).get(web.url(scheme="https"))
        with pytest.raises(NetError, match="not valid for"):
            await web.client(**trusting).get(web.url(scheme="https", host="other.example"))
        with pytest.raises(NetError, match=r"self.signed"):
            await web.client().get(web.url(scheme="https"))
    finally:
        await web.stop()

    assert fetched.body == b"secure"


async def test_a_proxy_is_used_only_if_it_is_given(web):
    """It then looks the name up; what can only mean this machine is refused before."""
    web.pages["http://example.org/x"] = page(b"by proxy")
    client = WebClient(proxies=Proxies(http=Proxy("127.0.0.1", web.port)), resolve=web.look_up)

    fetched = await client.get("http://example.org/x")
    for url in ("http://169.254.169.254/", "http://10.0.0.1/", "http://printer.local/", "http://[::ffff:10.0.0.1]/"):
        with pytest.raises(Invalid):
            await client.get(url)

    assert fetched.body == b"by proxy"
    assert web.looked_up == []
    assert len(web.asked) == 1


async def test_the_system_is_asked_for_addresses():
    """By default."""
    assert "127.0.0.1" in await web_client.look_up("127.0.0.1", 80)


@pytest.mark.parametrize(
    ("url", "wire"),
    [
        (" https://example.org/a b ", "https://example.org/a%20b"),
        ("https://bücher.example/größe?q=ä#x", "https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe?q=%C3%A4"),
    ],
)
def test_an_address_is_written_as_it_goes_over_the_wire(url, wire):
    """People write it otherwise."""
    assert wire_form(url) == wire

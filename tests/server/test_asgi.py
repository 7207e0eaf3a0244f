"""How a path finds who answers it, without a framework."""

from __future__ import annotations

import pytest

from agi.server.asgi import Later, Paths


def answering(name, heard):
    async def app(scope, receive, send):
        heard.append((name, scope["path_params"]))

    return app


@pytest.fixture
def heard():
    return []


@pytest.fixture
def paths(heard):
    paths = Paths(otherwise=answering("nobody", heard))
    paths.add("/", answering("start", heard))
    paths.add("/things/all", answering("all", heard))
    paths.add("/things/{thing}", answering("thing", heard))
    paths.add("/things/{thing}/parts/{part}", answering("part", heard))
    paths.add("/files/{name:path}", answering("file", heard))
    paths.add("/talk", answering("talk", heard), "websocket")
    return paths


@pytest.mark.parametrize(
    ("kind", "path", "found"),
    [
        ("http", "/", ("start", {})),
        ("http", "/things/all", ("all", {})),
        ("http", "/things/a%b", ("thing", {"thing": "a%b"})),
        ("http", "/things/all\n", ("thing", {"thing": "all\n"})),
        ("http", "/things/1/parts/2", ("part", {"thing": "1", "part": "2"})),
        ("http", "/files/css/page.css", ("file", {"name": "css/page.css"})),
        ("http", "/files/", ("file", {"name": ""})),
        ("websocket", "/talk", ("talk", {})),
    ],
)
async def test_a_path_is_answered_by_the_first_that_matches_it(paths, heard, kind, path, found):
    """Segments in braces are told to the application by their names."""
    await paths({"type": kind, "path": path}, None, None)

    assert heard == [found]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("http", ""),
        ("http", "//"),
        ("http", "/things"),
        ("http", "/things/"),
        ("http", "/things/1/"),
        ("http", "/things//parts/2"),
        ("http", "/files"),
        ("http", "/talk"),
        ("websocket", "/things/all"),
        ("websocket", "/files/a"),
    ],
)
async def test_what_matches_nothing_is_nobodys(paths, heard, kind, path):
    """No segment may be empty, nothing is added or cut off, and the two kinds do not answer for each other."""
    await paths({"type": kind, "path": path}, None, None)

    assert heard == [("nobody", {})]


async def test_an_application_is_made_when_it_is_first_asked_and_only_once(heard):
    """What few clients want costs nothing until one comes."""
    made = []

    def make():
        made.append(True)
        return answering("it", heard)

    app = Later(make)
    assert not made

    for _ in range(2):
        await app({"path_params": {}}, None, None)

    assert (len(made), heard) == (1, [("it", {})] * 2)

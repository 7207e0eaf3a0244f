"""diagram: a picture where there is a renderer, checked source where there is none."""

import os

import pytest

from agi.tools import diagram
from agi.workspace.processes import find_program

GRAPH = "digraph { a -> b }"
FLOW = "flowchart TD\n  a --> b\n"


@pytest.fixture
def renderer(tmp_path, monkeypatch):
    """Put a program in a renderer's place, outside the workspace; none at all to begin with."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}")

    def install(name, script):
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)
        find_program.cache_clear()

    yield install
    find_program.cache_clear()


@pytest.mark.parametrize(("form", "source", "ending"), [("dot", GRAPH, ".dot"), ("mermaid", FLOW, ".mmd")])
async def test_without_a_renderer_the_checked_source_is_kept(desk, renderer, form, source, ending):
    """And it is said what is missing."""
    find_program.cache_clear()
    result = await desk.use("diagram", source=source, format=form)

    assert result.ok
    assert "is not installed, so nothing was drawn" in result.parts[0].text
    assert result.artifact.path.endswith(ending)
    assert (desk.session / result.artifact.path).read_text() == source
    assert result.result == {"format": form, "rendered": False, "path": result.artifact.path}


async def test_a_renderer_is_given_the_source_and_its_picture_is_kept(desk, renderer):
    """By its input and output: no file is named, and what Graphviz could read is shut off."""
    renderer("dot", '[ "$1" = -Tsvg ] && echo "<svg>$(/bin/cat) $SERVER_NAME</svg>"')

    result = await desk.use("diagram", source=GRAPH, format="dot")

    assert result.artifact.mime == "image/svg+xml"
    assert (desk.session / result.artifact.path).read_text() == f"<svg>{GRAPH} agi</svg>\n"
    assert result.result["rendered"] is True


@pytest.mark.parametrize(
    ("script", "why"),
    [("echo broken >&2; exit 1", "could not be drawn: broken"), ("echo no picture", "drew nothing")],
)
async def test_a_renderer_that_fails_is_told(desk, renderer, script, why):
    """In its own words."""
    renderer("mmdc", script)

    assert why in (await desk.use("diagram", source=FLOW, format="mermaid")).error


async def test_a_renderer_that_never_ends_is_stopped(desk, renderer, monkeypatch):
    """Or one that draws without end."""
    monkeypatch.setattr(diagram, "TIMEOUT_S", 0.2)
    renderer("dot", "while :; do :; done")
    assert "took too long" in (await desk.use("diagram", source=GRAPH, format="dot")).error

    monkeypatch.setattr(diagram, "TIMEOUT_S", 20)
    monkeypatch.setattr(diagram, "LARGEST_PICTURE", 10_000)
    renderer("dot", "while :; do echo '<svg>'; done")
    assert "more than 10,000 bytes" in (await desk.use("diagram", source=GRAPH, format="dot")).error


async def test_a_renderer_inside_the_workspace_is_not_run(desk, renderer, monkeypatch):
    """The project may be hostile."""
    evil = desk.write("dot", "#!/bin/sh\ntouch ran\n")
    evil.chmod(0o755)
    monkeypatch.setenv("PATH", f"{desk.root}:{os.environ['PATH']}")
    find_program.cache_clear()

    assert "is not installed" in await desk.text("diagram", source=GRAPH, format="dot")
    assert not (desk.root / "ran").exists()


@pytest.mark.parametrize(
    "given",
    [{"source": "x", "format": "dot"}, {"source": "x", "format": "mermaid"}, {"source": "a\0", "format": "dot"}],
)
async def test_what_is_no_diagram_is_refused_before_anything_runs(desk, renderer, given):
    """With the line."""
    renderer("dot", "echo '<svg>'")

    assert not (await desk.use("diagram", **given)).ok


@pytest.mark.skipif(find_program("dot", os.environ["PATH"]) is None, reason="Graphviz (dot) is not on PATH")
async def test_graphviz_draws(desk):
    """The real one."""
    result = await desk.use("diagram", source=GRAPH, format="dot")

    assert b"<svg" in (desk.session / result.artifact.path).read_bytes()

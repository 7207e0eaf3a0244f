"""diagram: mermaid or DOT source as a picture where a renderer is installed, else as checked source.

May import: errors, protocol, tools, workspace.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.errors import Invalid
from agi.protocol.parts import Artifact, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.inputs import given
from agi.tools.output import ArtifactFile
from agi.tools.schema import input_schema, read_input
from agi.workspace.processes import capture, child_environment, find_program

TIMEOUT_S = 60.0
LARGEST_PICTURE = 16 << 20

_RENDERERS = {"dot": ("dot", "-Tsvg"), "mermaid": ("mmdc", "--quiet", "-i", "-", "-o", "-", "-e", "svg")}
_PACKAGES = {"dot": "Graphviz (dot)", "mermaid": "mermaid-cli (mmdc)"}
_ENDINGS = {"dot": "dot", "mermaid": "mmd"}
_SHUT_IN = {"SERVER_NAME": "agi", "GV_FILE_PATH": "/var/empty"}
"""Graphviz then reads no file that the source names."""


class DiagramInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to draw."""

    source: Annotated[str, Meta(min_length=1, max_length=200_000, description="The diagram, as text.")]
    format: Annotated[Literal["mermaid", "dot"], Meta(description="The language it is written in.")]


class DiagramTool:
    """Draws diagrams."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="diagram",
            description="Draw a diagram from mermaid or DOT source: an SVG if a renderer is installed, else the source "
            "after a check.",
            input_schema=input_schema(DiagramInput),
            kind=ToolKind.EXEC,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Check the source, then draw it."""
        asked = read_input(call, DiagramInput)
        if "\0" in asked.source:
            raise Invalid("The source holds a NUL character.", hint="Write it without.", code="diagram_invalid")
        _check(asked.format, asked.source)
        program, *options = _RENDERERS[asked.format]
        env = {**child_environment(os.environ, os.getpid()), **_SHUT_IN}
        found = find_program(program, env["PATH"], str(context.workspace.root))
        if found is None:
            return _checked_only(context, call, asked)
        picture, problem = await _drawn(context, [found, *options], env, asked.source)
        if problem:
            return failed(call, f"The diagram could not be drawn: {problem}.")
        stored = _stored(context, "diagram.svg", "image/svg+xml", picture)
        return _result(call, asked, f"Drawn as {stored.path} ({stored.size:,} bytes).", stored, rendered=True)


async def _drawn(context: ToolContext, argv: list[str], env: dict[str, str], source: str) -> tuple[bytes, str]:
    """Run the renderer, shut in like every command; gives the picture, or why there is none."""
    with context.workspace.pinned() as folder, given(source.encode()) as stdin:
        answer = await capture(
            argv,
            cwd=folder,
            env=env,
            timeout_s=TIMEOUT_S,
            limit=LARGEST_PICTURE,
            stdin=stdin,
            cell=context.cell,
        )
    if answer.timed_out or answer.truncated:
        return b"", "it took too long" if answer.timed_out else f"it has more than {LARGEST_PICTURE:,} bytes"
    if answer.exit_code != 0 or b"<svg" not in answer.stdout:
        return b"", answer.stderr.decode(errors="replace").strip()[:2000] or "the renderer drew nothing"
    return answer.stdout, ""


def _checked_only(context: ToolContext, call: ToolCall, asked: DiagramInput) -> ToolResult:
    stored = _stored(context, f"diagram.{_ENDINGS[asked.format]}", "text/plain", asked.source.encode())
    text = (
        f"{_PACKAGES[asked.format]} is not installed, so nothing was drawn. The source is valid as far as could be "
        f"checked, and is kept as {stored.path}."
    )
    return _result(call, asked, text, stored, rendered=False)


def _result(call: ToolCall, asked: DiagramInput, text: str, stored: Artifact, *, rendered: bool) -> ToolResult:
    return ToolResult(
        id=call.id,
        ok=True,
        parts=(Text(text=text),),
        result={"format": asked.format, "rendered": rendered, "path": stored.path},
        artifact=stored,
        artifacts=(stored.path,),
    )


def _stored(context: ToolContext, name: str, mime: str, data: bytes) -> Artifact:
    file = ArtifactFile(context, name, mime=mime)
    try:
        file.write(data)
    finally:
        file.close()
    return file.artifact()


def _check(kind: str, source: str) -> None:
    """Raise Invalid for what is no diagram of its kind."""
    # Late: the grammars take milliseconds to compile, and every start of every agent would wait for them.
    if kind == "dot":
        from agi.tools.dot import check_dot

        check_dot(source)
    else:
        from agi.tools.mermaid import check_mermaid

        check_mermaid(source)

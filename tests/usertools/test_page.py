"""The example on the page about user tools is one that works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "user-tools.md"


@pytest.fixture
def example(project):
    """The tool of the page, written as the page says."""
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    project.tool("todo-count", blocks["python"], blocks["text"])
    (project.root / "src").mkdir()
    (project.root / "src/a.py").write_text("# TODO: one\n# TODO: two\n")
    (project.root / "src/b.py").write_text("pass\n")
    return project


async def test_it_counts(example):
    """In a folder, in all, or by file; and says what it looks at."""
    assert (await example.use("todo-count", folder="src")).result == {"value": {"total": 2}}
    assert (await example.use("todo-count", folder="src", by="file")).result == {"value": {"src/a.py": 2}}
    assert any("src/b.py: 0" in text for _, text in example.heard)


async def test_it_is_described_as_the_page_says(example):
    """Its prompt, its arguments, their meaning."""
    definition = (await example.only()).definition

    assert definition.description.startswith("Count the TODO comments")
    assert definition.input_schema["properties"] == {
        "folder": {"type": "string", "description": "A folder, from the root of the project.", "default": "."},
        "by": {"type": "string", "enum": ["file", "total"], "default": "total"},
    }


async def test_it_says_what_is_wrong(example):
    """In words for the model."""
    assert (await example.use("todo-count", folder="gone")).error == (
        "There is no folder gone. Name one that repo_tree shows."
    )
    assert "must be one of 'file', 'total'" in (await example.use("todo-count", by="line")).error

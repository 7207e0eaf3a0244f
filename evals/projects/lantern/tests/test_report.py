"""Reports, as text and as JSON."""

import json

from lantern.report import DeadLink, JsonReport, TextReport

LINK = DeadLink("a.md", 3, "https://gone.example", "404")


def test_text_names_file_and_line():
    """So that editors can jump there."""
    assert TextReport().render([LINK]) == "a.md:3: https://gone.example (404)"


def test_json_can_be_read_back():
    """All fields are there."""
    assert json.loads(JsonReport().render([LINK]))[0]["reason"] == "404"

"""What a command printed is shown without acting and without hiding."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agi.rendering import output


def test_sequences_for_terminals_are_left_out_and_progress_is_its_last_state():
    """Colours, titles, links; carriage returns overwrite."""
    said = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\\n10%\r50%\r100%\nend\r\n"
    assert output.plain(said) == "red link\n100%\nend\n"


def test_what_hides_is_written_out():
    """Also what would turn the direction of a line."""
    assert output.plain("a\u202eb\u200bc\x08d\te") == "a\\u202eb\\u200bc\\x08d\te"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=100) | st.sampled_from(["<script>", "</pre><script>", "&lt;", "<!--"]))
def test_it_is_text_and_nothing_else(look, said):
    """One element, and in it what was said."""
    seen = look(output.html(said))
    assert [tag for tag, _ in seen.elements] == ["pre"]
    assert seen.text.strip("\n") == output.plain(said).strip("\n")

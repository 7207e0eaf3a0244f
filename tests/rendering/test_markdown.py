"""Markdown becomes HTML in which nothing acts, in a time that grows with its length only."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.rendering.markdown import LONGEST_BLOCK, html

SESSION = "sess_" + "0a" * 16
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)>",
    "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<form action=//evil><button>go</button></form>",
    "<style>@import '//evil'</style>",
    "<base href=//evil>",
    "<meta http-equiv=refresh content='0;url=//evil'>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a id=location name=body>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](\\x01javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](data:image/svg+xml;base64,PHN2Zz4=)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/v1/sessions)",
    "[x](#/s/other)",
    "[x](blob:http://a/b)",
    "<javascript:alert(1)>",
    '[x](https://a "onmouseover=alert(1)")',
    '[x](https://a"onmouseover="alert(1))',
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    "![x](data:image/png;base64,AAAA)",
    "![<script>](x)",
    "![x](/v1/sessions/../../healthz)",
    f"![x](/v1/sessions/{SESSION}/attachments/..%2f..%2fx)",
    f"![x](/v1/sessions/{SESSION}/attachments/a.png?x=1)",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "```\x00\nx\n```",
    "`<script>`",
    "    <script>alert(1)</script>",
    "| <script> |\n|---|\n| <img onerror=x> |",
    "&lt;script&gt; &#60;script&#62; &amp;lt;",
    "&#0; &#xD800; &#x110000; &nbsp;",
    "x\u202ey \u0000 \ufeff \ud800",
    "[a]: javascript:alert(1)\n\n[a]",
    "<!-- --><script>alert(1)</script>",
    "<![CDATA[<script>]]>",
    "<?php echo 1 ?>",
    "<!DOCTYPE html><script>",
    "</div></body></html><script>alert(1)</script>",
]

PIECES = ["# ", "- ", "> ", "1. ", "```", "\n", "\n\n", "    ", "*", "_", "[", "](", ")", "!", "<", ">", '"', "&", "|"]
PIECES += ["---", "\t", "\r", "\\", "~~", "javascript:", "https://a", "x", "`", "onerror=", "style="]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_strangers_text_acts(look, text):
    """Only what is on the list comes out, wherever the text stands."""
    for around in (text, f"- {text}\n", f"> {text}\n", f"# {text}\n", f"**{text}**", f"| a |\n|--|\n| {text} |\n"):
        seen = look(html(around))
        assert not any(tag == "img" for tag, _ in seen.elements)


@settings(max_examples=250, deadline=None)
@given(
    st.lists(
        st.sampled_from([*HOSTILE, *PIECES]) | st.text(max_size=8),
        max_size=14,
    ).map("".join)
)
def test_only_what_is_on_the_list_comes_out_of_any_text(look, text):
    """Seen by another parser; elements are closed where they were opened."""
    look(html(text))


def test_what_people_write_is_shown_as_they_mean_it(look):
    """Headings, lists, tables, code, links, emphasis."""
    text = "# One\n\n- a\n- **b**\n\n| x | y |\n|---|---|\n| 1 | ~~2~~ |\n\n[site](https://a.example 'tip') and <b>\n"
    seen = look(html(text))
    tags = [tag for tag, _ in seen.elements]

    assert {"h3", "ul", "li", "strong", "table", "th", "td", "s", "a"} <= set(tags)
    assert ("a", {"href": "https://a.example", "title": "tip", "rel": "noopener noreferrer nofollow"}.items()) in [
        (tag, {key: value for key, value in attrs.items() if key != "target"}.items()) for tag, attrs in seen.elements
    ]
    assert "<b>" in seen.text


def test_headings_of_a_text_stand_below_those_of_the_page(look):
    """The page's first heading stays the only one, whatever a model writes; deeper levels are still told apart."""
    seen = look(html("".join(f"{'#' * level} {level}\n\n" for level in range(1, 7)) + "One\n===\n\nTwo\n---\n"))

    headings = [
        ("h3", {}),
        ("h4", {}),
        ("h5", {}),
        ("h6", {}),
        ("h6", {"aria-level": "7"}),
        ("h6", {"aria-level": "8"}),
    ]
    assert [(tag, dict(attrs)) for tag, attrs in seen.elements] == [*headings, ("h3", {}), ("h4", {})]


def test_pictures_that_a_session_keeps_are_shown_and_all_others_are_links(look):
    """Loading one from elsewhere would tell somebody that the text was read."""
    own = f"/v1/sessions/{SESSION}/attachments/0123-a.png"
    made = f"/v1/sessions/{SESSION}/artifacts/turn_{'0' * 32}/chart.png"
    seen = look(html(f"![chart]({own}) ![b]({made}) ![far](https://evil.example/p.png)"))

    assert [attrs["src"] for tag, attrs in seen.elements if tag == "img"] == [own, made]
    assert [attrs["href"] for tag, attrs in seen.elements if tag == "a"] == ["https://evil.example/p.png"]


def test_code_in_a_fence_is_coloured_by_classes(look):
    """With the language that the fence names."""
    seen = look(html("```python title=x\nreturn 1\n```\n"))
    assert ("pre", {"class": "code", "data-language": "Python"}) in seen.elements
    assert ("span", {"class": "t-k"}) in seen.elements


ATTACKS = {
    "quotes": ">" * 20_000,
    "lists": "".join(" " * n + "- x\n" for n in range(200)),
    "brackets": "[" * 20_000,
    "links": "[a](" * 5_000,
    "pictures": "![" * 10_000 + "](" * 5_000,
    "stars": "*a " * 6_000,
    "stars and lines": "*_" * 10_000 + "a" + "_*" * 10_000,
    "ticks": "".join("`" * n + " " for n in range(1, 190)),
    "angles": "<" * 20_000,
    "entities": "&" * 20_000,
    "entities without end": "&#" + "1" * 20_000,
    "backslashes": "\\" * 20_000,
    "tildes": "~~a" * 6_000,
    "table": "|a" * 2_000 + "\n" + "|-" * 2_000 + "\n" + ("|b" * 2_000 + "\n") * 3,
    "references": "[a]: x\n" * 3_000 + "[a]" * 3_000,
    "addresses": "<http://a" * 2_000,
    "mail": "a@" * 10_000,
    "headings": "# a\n" * 20_000,
    "unclosed fences": "```\n" * 20_001,
    "comments in code": "```c\n" + "/*\n" * 30_000,
    "strings in code": "```python\n" + '"""\n"\n' * 15_000,
    "one line": "x" * 1_000_000,
    "many lines": "word word word word\n" * 50_000,
    "beyond": "a\n\n" * 400_000,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_the_time_it_takes_fails(look, name):
    """What is long or deep is shown plainly; no text takes many seconds."""
    began = time.perf_counter()
    look(html(ATTACKS[name]))
    assert time.perf_counter() - began < 20


def test_a_very_long_block_is_shown_as_it_is(look):
    """Its text is all there."""
    text = "*a* " * (LONGEST_BLOCK // 4 + 1)
    seen = look(html(text))
    assert seen.text.strip() == text.strip()
    assert ("pre", {"class": "plain"}) in seen.elements


@pytest.mark.parametrize("around", ["", "> ", "- "])
def test_a_table_of_cells_left_out_makes_no_more_than_it_says(around: str) -> None:
    """Cells that are missing are filled in; thousands of them are not."""
    text = "\n".join(around + line for line in ("|a" * 200 + "|", "|-" * 200 + "|", *("|x|",) * 300))

    assert len(html(text)) < 20 * len(text)


def test_a_large_table_whose_cells_are_there_is_a_table() -> None:
    """Only what is left out counts."""
    text = "\n".join(["|a|b|c|", "|-|-|-|", *("|x|y|z|",) * 2000])

    assert html(text).count("<tr>") == 2001

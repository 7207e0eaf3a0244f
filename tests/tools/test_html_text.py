"""A page of HTML as text."""

import threading
import time

import pytest

from agi.tools import html_text
from agi.tools.html_text import page_text

URL = "https://example.org/docs/page"


def text(source):
    return page_text(source, URL).text


def test_a_page_is_readable():
    """Headings, paragraphs, lists, links, code and tables keep their marks."""
    page = page_text(
        """<!doctype html><html><head><title>The
        Title</title><style>p {}</style></head><body>
        <h1>Head</h1><p>One  <b>bold</b>
        word &amp; <a href="../x?a=1&amp;b=2">a link</a>.</p>
        <ul><li>first<li>second <code>f(x)</code></ul>
        <pre><code>def f():
    return  1</code></pre>
        <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
        <img src="x" alt="A picture"><br>after</body></html>""",
        URL,
    )

    assert page.title == "The Title"
    assert page.text == "\n".join(
        [
            "# Head",
            "",
            "One **bold** word & [a link](https://example.org/x?a=1&b=2).",
            "",
            "- first",
            "- second `f(x)`",
            "",
            "```",
            "`def f():",
            "    return  1`",
            "```",
            "",
            "| a | b",
            "| 1 | 2",
            "",
            "![A picture]",
            "after",
        ]
    )


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert('x')</script>",
        "<style>p { color: red }</style>",
        "<noscript>x</noscript><template>x</template><svg><text>x</text></svg>",
        "<script>if (a < b) '</p>' + \"<script>\"</script>",
        "<select><option>x</select><button>x</button>",
        "<!-- x --><![CDATA[ x ]]><?php x ?>",
    ],
)
def test_what_is_no_text_is_left_out(source):
    """Scripts, styles, choices, comments."""
    assert text(f"<p>before</p>{source}<p>after</p>") in ("before\n\nafter", "before\n\n ]]>\n\nafter")


@pytest.mark.parametrize("href", ["javascript:alert(1)", "data:text/html,x", "#part", "", "x" * 1000, "http://[bad"])
def test_a_link_that_leads_to_no_page_is_only_its_text(href):
    """Nothing to follow."""
    assert text(f'<a href="{href}">word</a>') == "word"


def test_the_main_part_is_shown_alone():
    """Where the page says which it is, and there is enough of it."""
    long = "The article. " * 30
    page = f"<nav>menu</nav><main><p>{long}</p></main><footer>legal</footer>"

    assert text(page) == long.strip()
    assert text(page.replace("main", "article")) == long.strip()
    assert "menu" in text(page + f"<main>{long}</main>")
    assert "menu" in text("<nav>menu</nav><main>short</main>")


@pytest.mark.parametrize(
    "source",
    [
        *("<a " * 100_000, "<!--" * 100_000, "<" * 200_000, "&" * 500_000, "<p>" * 50_000, '<a href="' * 50_000),
        *("</" * 200_000, "<script>" * 100_000, "<b>x</b>" * 50_000, "<![CDATA[" * 100_000, "<div " + "a=b " * 100_000),
    ],
    ids=lambda source: source[:6],
)
def test_no_page_takes_long(source):
    """Malformed without end, or nested without end."""
    began = time.monotonic()

    page_text(source, URL)

    assert time.monotonic() - began < html_text.TIME_LIMIT_S + 3


def test_time_is_bounded_and_a_call_can_be_called_off(monkeypatch):
    """What was read until then is given, and it is said."""
    monkeypatch.setattr(html_text, "TIME_LIMIT_S", -1.0)
    assert page_text("<p>x", URL) == html_text.Page("", "", whole=False)

    monkeypatch.setattr(html_text, "TIME_LIMIT_S", 5.0)
    stop = threading.Event()
    stop.set()
    assert not page_text("<p>x", URL, stop).whole

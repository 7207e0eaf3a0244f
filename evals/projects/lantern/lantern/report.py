"""What was found, for people and for programs."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class DeadLink:
    """A link that leads nowhere."""

    file: str
    line: int
    url: str
    reason: str


class TextReport:
    """One line a link."""

    def render(self, links: list[DeadLink]) -> str:
        """The report as text."""
        return "\n".join(f"{link.file}:{link.line}: {link.url} ({link.reason})" for link in links)


class JsonReport:
    """A list of objects."""

    def render(self, links: list[DeadLink]) -> str:
        """The report as JSON."""
        return json.dumps([asdict(link) for link in links], indent=2)


REPORTS = {"text": TextReport, "json": JsonReport}

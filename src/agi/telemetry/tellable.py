"""Which names may be told of: those of tools there are, and of models that answered. Everything else is `other`.

A model can call a tool by any name, and a client ask for any model: such a name is something that was said. Codes of
errors, stop reasons, risks and causes are words of our own, whatever a provider says. May import: protocol,
telemetry.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TypeVar

from agi.protocol import events as ev
from agi.telemetry.families import OTHER

T = TypeVar("T")

PROVIDERS = {
    "google": "gcp.gemini",
    "gemini": "gcp.gemini",
    "google-cloud": "gcp.vertex_ai",
    "vertex": "gcp.vertex_ai",
    "azure": "azure.ai.openai",
    "azure-openai": "azure.ai.openai",
    "azure-responses": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock-mantle": "aws.bedrock",
    "grok": "x_ai",
    "xai": "x_ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "watsonx": "ibm.watsonx.ai",
}
"""What OpenTelemetry's conventions call a provider where they call it otherwise."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
MOST = 10_000
"""How many names of one kind are kept; what comes later is not told."""


def no_tools() -> Container[str]:
    """What is known of tools before anything happened."""
    return ()


class Tellable:
    """What one observer of the log may name."""

    def __init__(self, tools: Callable[[], Container[str]] = no_tools) -> None:
        self._there_are = tools
        """Asked late: a daemon that answers nobody has no need of tools."""
        self._ran: set[str] = set()
        self._answered: set[tuple[str, str]] = set()

    def hear(self, event: ev.Event) -> None:
        """Learn from what cannot have happened with a name that somebody made up."""
        data = event.data if event.type in _TELLING else None
        if isinstance(data, ev.ToolCallStarted):
            _keep(self._ran, data.tool_call.name)
        elif isinstance(data, ev.ApprovalRequested):
            _keep(self._ran, data.name)
        elif isinstance(data, ev.UsageRecorded):
            _keep(self._answered, (data.provider, data.model))
        elif isinstance(data, ev.ModelOutputCompleted) and data.message.parts:
            _keep(self._answered, (data.message.provider, data.message.model))

    def tool(self, name: str) -> str:
        """The name of a tool: one that there is, or that ran."""
        return name if name in self._ran or name in self._there_are() else OTHER

    def model(self, provider: str, model: str) -> str:
        """The name of a model: one that answered."""
        return model if (provider, model) in self._answered else OTHER


def provider(name: str) -> str:
    """What a provider is called in spans; its name in the configuration where the conventions have none for it."""
    return PROVIDERS.get(name, name)


def method(name: str) -> str:
    """The method of a request."""
    return name if name in METHODS else OTHER


def _keep(names: set[T], name: T) -> None:
    if len(names) < MOST:
        names.add(name)


_TELLING = frozenset(
    kind.TYPE for kind in (ev.ToolCallStarted, ev.ApprovalRequested, ev.UsageRecorded, ev.ModelOutputCompleted)
)

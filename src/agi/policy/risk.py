"""How much harm a call could do: low, medium or high; high is the destructive class, and what cannot be read.

What goes through our own tools is kept as a diff and can be undone; what a shell command deletes cannot, so the class
is about commands. It is a net against accidents, not a wall: that is the sandbox. May import: protocol, policy.
"""

from __future__ import annotations

from agi.policy.covering import only_reads
from agi.policy.destructive import seen_destroys
from agi.policy.subjects import Subject
from agi.protocol.sessions import Risk
from agi.protocol.tools import ToolKind


def risk_of(subject: Subject) -> Risk:
    """Rate a call: reading is low, changing and running medium; high is the destructive class and nothing else."""
    definition = subject.definition
    if definition.kind is ToolKind.READ:
        return "medium" if definition.requires_approval else "low"
    if is_destructive(subject):
        return "high"
    return "low" if _only_reads(subject) else "medium"


def is_destructive(subject: Subject) -> bool:
    """Tell whether a call runs a command that could destroy something; what cannot be read counts as such."""
    if subject.definition.kind is not ToolKind.EXEC:
        return False
    if subject.text is None or subject.seen is None:
        return bool(subject.unclear)
    return seen_destroys(subject.text, subject.seen)


def _only_reads(subject: Subject) -> bool:
    line = subject.seen.line if subject.seen else None
    if line is None or line.functions or line.evaluates or line.sets or not line.commands:
        return False
    return all(only_reads(command) for command in line.commands)

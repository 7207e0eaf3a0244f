"""`agi`: a local-first agent harness. A session is an append-only log of events; everything else is a view of it."""

__version__ = "0.1.0"

"""What the log amounts to: the session's state, seed 004's tables, messages with their parts, turns, attachments.

Promise: everything here can be thrown away and made again from the events. Written inside the events' own transaction,
so it is never ahead of the log or behind it. May import: errors, protocol, eventlog.
"""

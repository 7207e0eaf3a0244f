"""The words of the system: ids, times, parts, messages, tools, events, commands, sessions. Values only, no I/O.

Every other room, every file on disk and every client speaks in these. They are msgspec structs, and the one schema:
log, wire and OpenAPI document are made from them. May import: errors.
"""

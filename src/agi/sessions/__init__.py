"""Who is alive: running turns, approvals, queued messages; the verbs every surface calls.

Promise: a turn belongs to this room, not to a connection. Whatever is running, waiting or queued is what the log shows,
so clients may come and go, and a killed process goes on where it was. May import: everything but server and client.
"""

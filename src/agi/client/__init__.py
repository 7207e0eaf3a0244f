"""One typed client, two transports: a daemon over HTTP, or the harness in this process.

The faces (cli, tui, web) speak through it and know nothing deeper. May import: errors, protocol, config, trust, net.
Only `inprocess`, which is imported late, reaches for the rooms behind.
"""

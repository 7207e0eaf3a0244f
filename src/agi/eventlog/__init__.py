"""The truth: an append-only log of events per session, in SQLite, with readable mirrors beside it.

Promise: an event gets its number by being written durably; only then does anyone hear of it; nobody hears it twice or
misses it. Knows nothing of what events mean: tables made from them are handed in as a Projection.
May import: errors, protocol.
"""

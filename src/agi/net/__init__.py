"""The wire: a small HTTP/1.1 client and a reader of event streams, light enough for a one-shot.

The promise: bytes arrive as the peer sent them or an error says what went wrong; nothing is verified less than it
should be, nothing is sent twice unasked, and no message repeats a header, a body or a query.
It knows nothing of models, sessions or our own API. May import: errors.
"""

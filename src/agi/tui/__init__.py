"""The terminal interface, `agi tui`: a face that knows the client and the words of the protocol, and nothing deeper.

Everything in here but `fit`, `safe`, `entries`, `conversation`, `status` and their like needs the extra `agi[tui]`.
"""

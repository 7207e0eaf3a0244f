"""What can be measured of the harness while it runs: numbers, and spans for whoever collects them.

Both are views of the log: they are made from the events this process has written, never from what was said or shown.
No prompt, answer, argument or output is ever part of them. May import: protocol, config.
"""

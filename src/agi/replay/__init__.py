"""Sessions played again, offline, from what their log holds; and judged again by other rules.

The loop that runs is the real one; models, tools and people answer from the record. Nothing is asked of a network, run
or written. May import: errors, protocol, config, eventlog, models.base, policy, tools.base, views, loop, sessions.
"""

"""The sandbox: what a command can reach, kept in by the kernel; see `cell` for the way in, `base` for the words.

May import: errors, protocol, config.
"""

"""Tools of a project's own: found, described and run outside this process; see `loading` for the way in.

May import: errors, protocol, config, sandbox, workspace, tools.
"""

"""Tools of MCP servers: programs of the user's or a trusted project's, started when needed and watched over.

The client side of the Model Context Protocol. May import: errors, protocol, config, net, sandbox, workspace, tools.
"""

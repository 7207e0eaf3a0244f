"""Finds dead links in Markdown files."""

__version__ = "0.9.4"

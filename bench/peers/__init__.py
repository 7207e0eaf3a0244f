"""Ours beside the programs a user would pick instead: one driver a file, asked the same by one scripted provider."""

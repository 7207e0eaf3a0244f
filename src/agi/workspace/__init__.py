"""The user's folder: safe paths, whole-file replacement, git, commands and diffs."""

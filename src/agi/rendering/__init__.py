"""Text of models, tools and files as HTML that is safe to put into a page: markdown, code, output, diffs.

Pure functions from text to text. What a page may show is one list, in `sanitising`.
"""

"""The command line: one command a file. It knows the client and the words, nothing deeper; only `serve` reaches on.

`main`, `options`, `exits`, `words` and `output` are read at every start, so they import next to nothing.
"""

"""Files people and tools show to models: what they are by their bytes, and in what form they can be shown.

Pure functions over bytes; nothing here knows sessions, providers or messages. May import: errors.
"""

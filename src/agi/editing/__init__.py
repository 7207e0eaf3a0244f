"""How files are changed: read without loss, matched, worked out in memory, put in place together."""

"""What a shell line says: the commands in it, the files they open, and what they start in turn."""

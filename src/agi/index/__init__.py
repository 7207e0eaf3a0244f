"""What a workspace's source says: its symbols and who uses whom, kept up to date and ranked."""

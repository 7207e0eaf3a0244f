"""Skills: folders of instructions that a project or a user keeps for agents; found, ranked, loaded when needed."""

"""Who an agent is: prompt, tools, limits; those built in and those a project adds. Running one is done elsewhere."""

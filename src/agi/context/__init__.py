"""What the model is shown: the system text, made of named sections, and attachments as it takes them.

Choosing files and compacting come to live here.

Promise: the same session gives the same bytes from call to call. May import: errors, protocol, media, models, agents,
workspace.
"""

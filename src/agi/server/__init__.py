"""The front door: HTTP routes and streams, one file per surface, behind the guard.

Promise: edges translate, the middle decides. Nothing here holds session state or rules of its own: requests become
commands for `sessions`, events become the words of each surface. May import: everything below; nobody imports it but
`agi serve` and `testing`.
"""

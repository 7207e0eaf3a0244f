"""Pieces to test with: a provider on loopback that plays a script. Ships with the package, so others may use it too.

Nothing of the product imports this room; it may import any other.
"""

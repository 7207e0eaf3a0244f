"""What files held before they were changed: kept by content around every call, and put back whole.

Knows neither log nor session beyond their ids. May import: errors, protocol, workspace.
"""

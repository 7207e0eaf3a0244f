"""What needs asking: pure rules over values that answer allow, ask or deny. Nothing here waits, reads or runs."""

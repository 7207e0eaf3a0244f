"""What the harness costs, as ratios to a bare floor measured in the same run: `make bench`.

Machines are noisy, so nothing here is asserted; every figure says how it was taken.
"""

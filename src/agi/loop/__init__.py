"""How one turn goes: ask the model, gate and run its calls, feed the results back, verify, stop.

Promise: given the events so far, the next step follows, so a turn cut off anywhere can go on. Does no I/O of its own:
model, tools, people and log are ports handed in. May import: errors, protocol, policy, models.base, views.state.
"""

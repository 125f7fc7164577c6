"""The same answers by plain sweeps over all states at once, as a graphics card likes them.

`devices` says where they run, `tables` lays the model out, `sweeps` are the computation, in JAX,
and `search` is what the planner calls. JAX is imported by `devices` when it is asked for, and by
`sweeps` and `search`; nothing imports these two unless a device is asked for.
"""

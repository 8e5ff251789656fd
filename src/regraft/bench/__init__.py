"""The figures that the design promises, measured: a module each, whose `run(quick)` returns them by name."""

"""Microseconds from publisher to subscriber at a tenth of the load that each system can carry, ours beside the others.

The load of each is a tenth of what it carried just before. What is measured is the time from just before `publish` in
the one process to the callback in the other.
"""

from regraft.bench.contestants import SYSTEMS, free_port, race, server
from regraft.bench.relay import left_out

SECONDS = 5.0


def run(quick: bool = False) -> dict[str, float | int | str]:
    """Figures by name, units last; `quick` makes the runs short."""
    figures: dict[str, float | int | str] = {}
    for system in [system for system in SYSTEMS if not left_out(system, "latency", figures)]:
        port = free_port()
        with server(system, port):
            count = 3_000 if quick else 40_000 if system == "mosquitto" else 200_000
            rate_hz = race(system, count, 0.0, ports=(port, port))["per_s"] / 10
            found = race(system, int(rate_hz * (0.2 if quick else SECONDS)) + 1, rate_hz, ports=(port, port))
        figures[f"latency_{system}_load_per_s"] = rate_hz
        figures[f"latency_{system}_p50_us"] = found["p50_us"]
        figures[f"latency_{system}_p99_us"] = found["p99_us"]
    return figures

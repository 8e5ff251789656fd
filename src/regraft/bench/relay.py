"""Messages a second from one publisher to subscribers by way of a broker, ours beside what a user would take instead.

Loopback, a process each (`contestants.py`). Also of ours: fan-out to several subscribers, a chain of five brokers, and
a broker that holds 10,000 other filters. The contestants take turns, and the best of each counts, as noise only adds.
"""

import asyncio
from itertools import pairwise

from regraft.bench.contestants import STARTED_WITHIN_S, SYSTEMS, free_port, missing, race, server
from regraft.net.bus import Bus
from regraft.net.loops import new_loop
from regraft.net.processes import Processes
from regraft.net.settings import Topology, on_free_ports, split_address

OTHER_FILTERS = 10_000
CHAIN = 5
FAN_OUTS = (10, 100)


def run(quick: bool = False) -> dict[str, float | int | str]:
    """Figures by name, units last; `quick` makes the runs short."""
    count, turns = (5_000, 1) if quick else (400_000, 3)
    figures: dict[str, float | int | str] = {}
    there = [system for system in SYSTEMS if not left_out(system, "relay", figures)]
    for _ in range(turns):
        for system in there:
            port = free_port()
            with server(system, port):
                found = race(system, count // 10 if system == "mosquitto" else count, 0.0, ports=(port, port))
            name = f"relay_{system}_per_s"
            figures[name] = max(float(figures.get(name, 0.0)), found["per_s"])
            figures[f"relay_{system}_lost"] = int(found["lost"])
    ours = float(figures["relay_regraft_per_s"])
    for system in there[1:]:
        figures[f"relay_to_{system}_ratio"] = ours / float(figures[f"relay_{system}_per_s"])
    port = free_port()
    with server("regraft", port):
        figures["relay_among_filters_per_s"] = among = _among_filters(port, 100 if quick else OTHER_FILTERS, count)
        figures["relay_among_filters_ratio"] = among / ours
    for fan_out in FAN_OUTS[:1] if quick else FAN_OUTS:
        port = free_port()
        with server("regraft", port):
            found = race("regraft", max(count // fan_out // 2, 500), 0.0, subscribers=fan_out, ports=(port, port))
            figures[f"relay_fan_out_{fan_out}_deliveries_per_s"] = found["per_s"] * fan_out
    figures[f"relay_chain_of_{CHAIN}_per_s"] = _chain(count)
    return figures


def left_out(system: str, what: str, figures: dict[str, float | int | str]) -> bool:
    """Whether it cannot run here; the figures say why."""
    reason = missing(system)
    if reason:
        figures[f"{what}_{system}_left_out"] = reason
    return bool(reason)


def _among_filters(port: int, others: int, count: int) -> float:
    """While another client has so many filters at the broker."""

    async def run() -> float:
        async with Bus(f"regraft://127.0.0.1:{port}", "others", STARTED_WITHIN_S) as bus:
            for number in range(others):
                bus.subscribe(f"symbol = 'S{number % 997}' AND price > {number}")
            await bus.flush()
            return (await asyncio.to_thread(race, "regraft", count, 0.0, ports=(port, port)))["per_s"]

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(run())


def _chain(count: int) -> float:
    names = [f"b{number}" for number in range(CHAIN)]
    links = tuple(f"{a}-{b}" for a, b in pairwise(names))

    async def run() -> float:
        settings = on_free_ports(Topology(links).settings())
        async with Processes(settings, lambda _, line: None) as brokers:
            await brokers.whole(STARTED_WITHIN_S)
            first, last = (split_address(brokers.settings[name].listen)[1] for name in (names[0], names[-1]))
            return (await asyncio.to_thread(race, "regraft", count, 0.0, ports=(first, last)))["per_s"]

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(run())

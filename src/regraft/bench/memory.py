"""What a broker needs: with 100,000 filters, and for each client that is connected and idle.

Resident memory as the kernel counts it (Linux). The filters are one client's, two constraints each. The limit on open
files is raised as far as it may be, and with it goes how many idle clients there are.
"""

import asyncio
import resource
from pathlib import Path

from regraft.bench.contestants import STARTED_WITHIN_S, free_port, server
from regraft.net.bus import Bus
from regraft.net.loops import new_loop

FILTERS = 100_000
CLIENTS = 10_000
SPARE_FILES = 200
KIB, MIB = 1_024, 1_048_576


def run(quick: bool = False) -> dict[str, float | int | str]:
    """Figures by name, units last; `quick` makes the runs short."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    clients = min(200 if quick else CLIENTS, most - SPARE_FILES)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        port = free_port()
        with server("regraft", port) as process:
            filters_mib = runner.run(_with_filters(port, process, 1_000 if quick else FILTERS)) / MIB
        port = free_port()
        with server("regraft", port) as process:
            client_bytes = runner.run(_with_clients(port, process, clients))
    return {
        "memory_broker_100k_filters_mib": filters_mib,
        "memory_idle_clients": clients,
        "memory_idle_client_kib": client_bytes / KIB,
    }


async def _with_filters(port: int, process: int, count: int) -> int:
    async with Bus(f"regraft://127.0.0.1:{port}", "", STARTED_WITHIN_S) as bus:
        for number in range(count):
            bus.subscribe(f"symbol = 'S{number % 997}' AND price > {number}")
            if number % 1_000 == 0:
                await bus.flush()
        await bus.flush()
        return _resident_bytes(process)


async def _with_clients(port: int, process: int, count: int) -> float:
    before = _resident_bytes(process)
    buses = [Bus(f"regraft://127.0.0.1:{port}", "", STARTED_WITHIN_S) for _ in range(count)]
    for at in range(0, count, 500):
        await asyncio.gather(*(bus.__aenter__() for bus in buses[at : at + 500]))
    used = _resident_bytes(process) - before
    for at in range(0, count, 500):
        await asyncio.gather(*(bus.close() for bus in buses[at : at + 500]))
    return used / count


def _resident_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * KIB

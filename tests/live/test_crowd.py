"""Many clients at one broker: idle they cost little, and all at once they come back."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from live.conftest import Live, overlay
from regraft.net.bus import Bus
from regraft.net.operating import look_at

CLIENTS = 1_000
KIBIBYTE = 1_024


def resident_bytes(process: int) -> int:
    return int(Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()[0]) * KIBIBYTE


def test_a_thousand_clients_come_back_at_once_after_their_broker_was_killed(live: Live) -> None:
    async def test() -> None:
        async with overlay("a-b") as brokers, AsyncExitStack() as stack:
            process = (await look_at(brokers.addresses)).brokers["a"].process
            before = resident_bytes(process)
            buses = [Bus(brokers.url("a"), f"client{number}", 30.0) for number in range(CLIENTS)]
            await asyncio.gather(*(stack.enter_async_context(bus) for bus in buses))
            assert (resident_bytes(process) - before) / CLIENTS < 20 * KIBIBYTE
            subscriptions = [bus.subscribe(f"number >= {number % 50}") for number, bus in enumerate(buses)]
            await asyncio.gather(*(subscription.in_force() for subscription in subscriptions))
            await brokers.kill("a")
            await brokers.start("a")
            await brokers.whole(30.0)
            await asyncio.gather(*(subscription.in_force() for subscription in subscriptions))
            assert (await look_at(brokers.addresses)).brokers["a"].clients == CLIENTS
            async with Bus(brokers.url("b"), "publisher", 10.0) as publisher:
                await publisher.publish({"number": 100}, acknowledged=True)
                got = await asyncio.gather(*(anext(subscription) for subscription in subscriptions))
                assert [event.attributes for event in got] == [{"number": 100}] * CLIENTS

    live(test())

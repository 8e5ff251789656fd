"""Durable clients that move between live brokers: everything comes once and in order, whoever is killed meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

import regraft
from effort import quick_first
from live.conftest import Live, Running, overlay
from regraft.errors import UsageError
from regraft.net.bus import Bus
from regraft.net.durable import DurableBus
from regraft.net.operating import exchange, look_at
from regraft.net.subscription import Subscription

WITHIN_S = 60.0
ALL = "number >= 0"


def durable(brokers: Running, broker: str, **keys: Any) -> DurableBus:
    return DurableBus(brokers.url(broker), "desk", WITHIN_S, **keys)


@asynccontextmanager
async def publishing(brokers: Running, broker: str, *, acknowledged: bool) -> AsyncIterator[list[int]]:
    """One event after the other, until the block ends; the list holds how many."""
    count = [0]
    stop = asyncio.Event()

    async def publish(bus: Bus) -> None:
        while not stop.is_set():
            await bus.publish({"number": count[0]}, acknowledged=acknowledged)
            count[0] += 1
            await asyncio.sleep(0.002)
        await bus.flush()

    async with Bus(brokers.url(broker), "p", WITHIN_S) as bus:
        task = asyncio.create_task(publish(bus))
        yield count
        stop.set()
        await task


async def numbers(subscription: Subscription, count: int) -> list[object]:
    """All that comes until nobody is owed anything more."""
    found: list[object] = []
    while len(found) < count:
        found.append((await asyncio.wait_for(anext(subscription), WITHIN_S)).attributes["number"])
    await asyncio.sleep(0.2)
    return found + [event.attributes["number"] for event in subscription._queue]


def test_a_client_that_moves_again_and_again_gets_everything_once_and_in_order(live: Live) -> None:
    async def test() -> None:
        async with overlay("a-b b-c b-d") as brokers, durable(brokers, "a") as bus:
            subscription = await bus.subscribe(ALL).in_force()
            async with publishing(brokers, "d", acknowledged=False) as count:
                for place in "cacd":
                    await asyncio.sleep(0.05)
                    arrived = await bus.move(brokers.url(place))
                    assert (arrived.outcome, arrived.dropped) == ("whole", 0)
                    assert bus.broker == place
                await asyncio.sleep(0.05)
            assert await numbers(subscription, count[0]) == list(range(count[0]))
            assert (await look_at(brokers.addresses)).total("hand_offs_not_whole") == 0
            sessions = {name: status.sessions for name, status in (await look_at(brokers.addresses)).brokers.items()}
            assert sessions == {"a": 0, "b": 0, "c": 0, "d": 1}, "nobody keeps anything for it where it has been"

    live(test())


def test_a_client_moves_while_a_link_is_exchanged(live: Live) -> None:
    async def test() -> None:
        async with overlay("a-b b-c b-d") as brokers, durable(brokers, "a") as bus:
            subscription = await bus.subscribe(ALL).in_force()
            async with publishing(brokers, "d", acknowledged=False) as count:
                await asyncio.sleep(0.1)
                outcomes = await asyncio.gather(
                    exchange(brokers.addresses, ("b", "c"), ("a", "c"), "coordinated", "fifo", WITHIN_S),
                    bus.move(brokers.url("c")),
                )
                assert outcomes[1].outcome == "whole"
                await asyncio.sleep(0.1)
            assert await numbers(subscription, count[0]) == list(range(count[0]))

    live(test())


def test_another_process_goes_on_at_another_broker(live: Live) -> None:
    async def test() -> None:
        async with overlay("a-b") as brokers, regraft.connect(brokers.url("b"), "p") as publisher:
            async with durable(brokers, "a") as bus:
                await bus.subscribe(ALL).in_force()
            for number in range(10):
                await publisher.publish({"number": number}, acknowledged=True)
            place = f"a@{brokers.settings['a'].listen}"
            async with durable(brokers, "b", came_from=[place], filters=[ALL]) as bus:
                subscription = bus.subscribe(ALL)
                assert await numbers(subscription, 10) == list(range(10))
                assert bus.arrived is not None
                assert bus.arrived.outcome == "whole"
                await bus.publish({"number": 10}, acknowledged=True)
                assert await numbers(subscription, 1) == [10], "it may publish where it has arrived"

    live(test())


def test_what_a_broker_that_is_gone_for_good_cannot_hand_over_is_reported(live: Live) -> None:
    async def test() -> None:
        core = {"claims_max": 3}
        async with overlay("a-b b-c", core=core) as brokers, durable(brokers, "c") as bus:
            subscription = await bus.subscribe(ALL).in_force()
            await brokers.kill("c")
            arrived = await bus.move(brokers.url("a"))
            assert arrived.outcome == "unanswered"
            async with regraft.connect(brokers.url("b"), "p") as publisher:
                await publisher.publish({"number": 7})
                assert await numbers(subscription, 1) == [7], "and it goes on"

    live(test())


def test_who_is_not_durable_does_not_move(live: Live) -> None:
    with pytest.raises(UsageError, match="durable"):
        regraft.connect("regraft://127.0.0.1:1", came_from=["a@127.0.0.1:2"])


@pytest.mark.parametrize("seed", quick_first(range(6), 1))
def test_nothing_acknowledged_is_lost_whoever_is_killed_in_a_hand_off(live: Live, seed: int) -> None:
    """The old broker, the new one, or the one between, at any moment; it comes back."""

    async def test() -> None:
        dice = Random(seed)
        async with overlay("a-b b-c b-d") as brokers, durable(brokers, "a") as bus:
            subscription = await bus.subscribe(ALL).in_force()
            async with publishing(brokers, "d", acknowledged=True) as count:
                for place, victim in zip("ca", dice.sample("abc", 2), strict=True):
                    await asyncio.sleep(dice.uniform(0.0, 0.1))
                    moving = asyncio.create_task(bus.move(brokers.url(place)))
                    await asyncio.sleep(dice.uniform(0.0, 0.15))
                    await brokers.kill(victim)
                    await asyncio.sleep(dice.uniform(0.0, 0.2))
                    await brokers.start(victim)
                    assert (await asyncio.wait_for(moving, WITHIN_S)).outcome == "whole"
                    await brokers.whole(WITHIN_S)
                await asyncio.sleep(0.1)
            assert await numbers(subscription, count[0]) == list(range(count[0]))

    live(test())

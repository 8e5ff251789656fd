"""Acknowledged means settled: nothing that was acknowledged is lost at a durable session, nothing comes twice."""

import asyncio
import contextlib
from contextlib import AsyncExitStack
from random import Random

import pytest

import regraft
from live.conftest import Live, Running, overlay
from live.test_sessions import ALL, WITHIN_S, durable, nothing_more, take
from regraft.errors import NetworkError, RegraftError
from regraft.model.trees import component
from regraft.net.bus import Bus
from regraft.net.drawing import status_table
from regraft.net.operating import exchange, join_link, look_at, until_whole
from regraft.net.subscription import Subscription
from regraft.net.trial import draw_exchange

IN_FLIGHT = 100
KILLS = 2  # of one overlay


class Publishing:
    """Publishes without end, so many at a time; `acknowledged` are the numbers that nothing may lose."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.acknowledged: list[int] = []
        self.count = 0
        self._stop = asyncio.Event()
        self._tasks = [asyncio.create_task(self._publish()) for _ in range(IN_FLIGHT)]

    async def _publish(self) -> None:
        while not self._stop.is_set():
            number = self.count
            self.count += 1
            try:
                await self.bus.publish({"number": number, "by": self.bus.name}, b"x" * 20, acknowledged=True)
            except NetworkError:
                return  # the test has failed, and the bus is closed
            self.acknowledged.append(number)
            await asyncio.sleep(0.002)

    async def stop(self) -> None:
        self._stop.set()
        async with asyncio.timeout(60.0):
            await asyncio.gather(*self._tasks)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--kills") // KILLS))


def test_whoever_is_killed_nothing_acknowledged_is_lost_and_nothing_comes_twice(live: Live, seed: int) -> None:
    """Publishers and durable subscribers on a line, and brokers of it killed at times drawn from a seed."""

    async def test() -> None:
        dice = Random(seed)
        async with AsyncExitStack() as stack:
            brokers = await stack.enter_async_context(overlay("a-b b-c c-d"))
            publishers = [
                await stack.enter_async_context(regraft.connect(brokers.url(name), f"p{name}")) for name in "ac"
            ]
            subscribers = [await stack.enter_async_context(durable(brokers, name, f"s{name}")) for name in "bd"]
            subscriptions = [await bus.subscribe(ALL).in_force() for bus in subscribers]
            await a_round(brokers, dice.sample("abcd", KILLS), publishers, subscriptions, dice)

    live(test())


@pytest.mark.long
def test_whoever_is_killed_in_an_exchange_nothing_acknowledged_is_lost_and_nothing_comes_twice(
    live: Live, seed: int
) -> None:
    async def test() -> None:
        dice = Random(seed)
        async with AsyncExitStack() as stack:
            brokers = await stack.enter_async_context(overlay("a-b b-c b-d"))
            publisher = await stack.enter_async_context(regraft.connect(brokers.url("a"), "p"))
            subscribers = [await stack.enter_async_context(durable(brokers, name, f"s{name}")) for name in "bcd"]
            subscriptions = [await bus.subscribe(ALL).in_force() for bus in subscribers]
            publishing = Publishing(publisher)
            for _ in range(KILLS):
                await kill_in_an_exchange(brokers, dice)
            await publishing.stop()
            for subscription in subscriptions:
                assert await take(subscription, publishing.count) == list(range(publishing.count))
                await nothing_more(subscription)

    live(test())


async def kill_in_an_exchange(brokers: Running, dice: Random) -> None:
    removed, added = draw_exchange((await look_at(brokers.addresses)).tree(), dice)
    protocol = dice.choice(["coordinated", "graft"])
    changing = asyncio.create_task(exchange(brokers.addresses, removed, added, protocol, "fifo", 5.0))
    await asyncio.sleep(dice.uniform(0.0, 0.06))
    victim = dice.choice("bcd")
    await brokers.kill(victim)
    changing.cancel()
    with contextlib.suppress(RegraftError, asyncio.CancelledError):
        await changing
    await brokers.start(victim)
    tree = (await until_whole(brokers.addresses, WITHIN_S)).tree()
    while len(part := component(tree, "a")) < len(tree):  # the exchange was too far gone to be undone
        await join_link(brokers.addresses, ("a", next(name for name in tree if name not in part)), WITHIN_S)
        tree = (await look_at(brokers.addresses)).tree()


async def a_round(
    brokers: Running, victims: list[str], publishers: list[Bus], subscriptions: list[Subscription], dice: Random
) -> None:
    publishing = [Publishing(bus) for bus in publishers]
    for victim in victims:
        await asyncio.sleep(dice.uniform(0.05, 0.3))
        await brokers.kill(victim)
        await asyncio.sleep(dice.choice([0.0, 0.2]))
        await brokers.start(victim)
        await brokers.whole(WITHIN_S)
    for each in publishing:
        await each.stop()
    for subscription in subscriptions:
        got: dict[str, list[object]] = {each.bus.name: [] for each in publishing}
        while any(len(got[each.bus.name]) < each.count for each in publishing):
            event = await asyncio.wait_for(anext(subscription), WITHIN_S)
            got[event.publisher].append(event.attributes["number"])
        await asyncio.sleep(0.1)
        assert not subscription._queue, "nothing more"
        for each in publishing:
            assert got[each.bus.name] == list(range(each.count)), "once, and in order"
    assert all(len(each.acknowledged) == each.count > 100 for each in publishing)


def test_an_event_is_acknowledged_when_a_session_far_away_has_it_on_disk(live: Live) -> None:
    async def test() -> None:
        async with overlay("a-b b-c") as brokers, regraft.connect(brokers.url("a"), "p") as publisher:
            async with durable(brokers, "c") as bus:
                await bus.subscribe(ALL).in_force()
            for number in range(20):
                await publisher.publish({"number": number}, acknowledged=True)
            await asyncio.gather(*(brokers.kill(name) for name in "abc"))  # at once
            await asyncio.gather(*(brokers.start(name) for name in "abc"))
            await brokers.whole(WITHIN_S)
            async with durable(brokers, "c") as bus:
                assert await take(bus.subscribe(ALL), 20) == list(range(20))

    live(test())


async def held(brokers: Running, broker: str) -> int:
    return (await look_at([brokers.settings[broker].listen])).brokers[broker].events_held


@pytest.mark.long
def test_acknowledged_events_wait_for_a_neighbour_that_is_missing_but_not_for_ever(live: Live) -> None:
    async def test() -> None:
        async with (
            overlay("a-b b-c", sessions={"returns_within_s": 2.0}) as brokers,
            regraft.connect(brokers.url("a"), "p") as publisher,
            regraft.connect(brokers.url("a"), "s") as near,
        ):
            subscription = await near.subscribe(ALL).in_force()
            await brokers.kill("c")
            await asyncio.sleep(0.1)
            waiting = asyncio.ensure_future(publisher.publish({"number": 1}, acknowledged=True))
            await publisher.publish({"number": 2})
            assert await take(subscription, 1) == [2], "plain events wait for nobody"
            assert await held(brokers, "a") == 1, "a knows from b that the network is not whole"
            table = status_table(await look_at([brokers.settings["a"].listen]))
            assert "acknowledged events that wait for a broker that is missing: 1" in table
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(waiting), 0.5)
            assert not waiting.done()
            await asyncio.wait_for(waiting, WITHIN_S)
            assert await take(subscription, 1) == [1]
            await brokers.start("c")
            await brokers.whole(WITHIN_S)
            await publisher.publish({"number": 3}, acknowledged=True)
            assert await take(subscription, 1) == [3]

    live(test())


@pytest.mark.long
def test_exchanges_under_acknowledged_load_lose_nothing_and_leave_nothing_unsettled(live: Live) -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            brokers = await stack.enter_async_context(overlay("a-b b-c b-d"))
            publisher = await stack.enter_async_context(regraft.connect(brokers.url("a"), "p"))
            bus = await stack.enter_async_context(durable(brokers, "d"))
            subscription = await bus.subscribe(ALL).in_force()
            publishing = Publishing(publisher)
            for protocol, removed, added in (
                ("coordinated", ("b", "d"), ("a", "d")),
                ("graft", ("a", "d"), ("c", "d")),
            ):
                await asyncio.sleep(0.2)
                cost = await exchange(brokers.addresses, removed, added, protocol, "fifo", 20.0)
                assert cost.outcome == "done"
            await asyncio.sleep(0.2)
            await publishing.stop()
            assert await take(subscription, publishing.count) == list(range(publishing.count))
            found = await look_at(brokers.addresses)
            assert found.total("events_not_settled") == 0
            assert [link.unsettled for status in found.brokers.values() for link in status.links] == [0] * 6

    live(test())

"""Brokers as processes of their own: events reach whoever is owed them, whatever happens to links and brokers."""

import asyncio
from contextlib import AsyncExitStack

import pytest

import regraft
from live.conftest import ON_STANDING, Live, Running, overlay
from regraft.broker.messages import Order
from regraft.errors import NetworkError, UsageError
from regraft.net.bus import Bus
from regraft.net.operating import exchange, look_at
from regraft.net.subscription import Subscription

COUNT = 2_000


async def take(subscription: Subscription, count: int) -> list[int]:
    """The next so many events' sequence numbers."""
    numbers: list[int] = []
    async for event in subscription:
        numbers.append(event.sequence)
        if len(numbers) == count:
            break
    return numbers


async def publish(bus: Bus, count: int, pause_every: int = 100) -> None:
    for number in range(count):
        await bus.publish({"number": number, "even": number % 2 == 0}, b"x" * 20)
        if number % pause_every == 0:
            await asyncio.sleep(0.005)


async def publish_until(bus: Bus, stop: asyncio.Event) -> int:
    count = 0
    while not stop.is_set():
        await publish(bus, 10)
        count += 10
        await asyncio.sleep(0.002)
    return count


@ON_STANDING
def test_a_subscriber_gets_what_it_asked_for_once_and_in_order(live: Live, standing: Running) -> None:
    async def test() -> None:
        async with (
            regraft.connect(standing.url("a"), "early") as publisher,
            regraft.connect(standing.url("c"), "late") as subscriber,
            subscriber.subscribe("even") as even,
            subscriber.subscribe("number < 10") as first,
        ):
            await publish(publisher, COUNT)
            assert await take(even, COUNT // 2) == list(range(1, COUNT, 2))
            assert await take(first, 10) == list(range(1, 11))
            await publisher.publish({"number": 1, "even": True}, acknowledged=True)
            assert await take(first, 1) == [COUNT + 1]

    live(test())


def test_planned_exchanges_under_load_lose_and_duplicate_nothing(live: Live) -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            brokers = await stack.enter_async_context(overlay("a-b b-c b-d"))
            publishers = [
                await stack.enter_async_context(regraft.connect(brokers.url(name), f"p{name}")) for name in "abcd"
            ]
            subscribers = [
                await stack.enter_async_context(regraft.connect(brokers.url(name), f"s{name}")) for name in "abcd"
            ]
            subscriptions = [await bus.subscribe("number >= 0").in_force() for bus in subscribers]
            orders: tuple[Order, ...] = ("none", "fifo", "causal")
            before = {bus.name: 0 for bus in publishers}
            for order in orders:
                stop = asyncio.Event()
                traffic = asyncio.gather(*(publish_until(bus, stop) for bus in publishers))
                for protocol, removed, added in (
                    ("coordinated", ("b", "d"), ("a", "d")),
                    ("graft", ("a", "d"), ("c", "d")),
                    ("graft", ("c", "d"), ("b", "d")),
                ):
                    cost = await exchange(brokers.addresses, removed, added, protocol, order, 30.0)
                    assert cost.outcome == "done"
                    assert cost.control_messages > 0
                    tree = (await look_at(brokers.addresses)).tree()
                    assert not tree["d"].keys() - set(added)
                stop.set()
                counts = dict(zip(before, await traffic, strict=True))
                for subscription in subscriptions:
                    seen: dict[str, list[int]] = {name: [] for name in counts}
                    for _ in range(sum(counts.values())):
                        event = await anext(subscription)
                        seen[event.publisher].append(event.sequence)
                    for publisher, numbers in seen.items():
                        assert sorted(numbers) == [before[publisher] + n for n in range(1, counts[publisher] + 1)]
                        assert order == "none" or numbers == sorted(numbers)
                    assert not subscription._queue, "nothing more was published"
                before = {name: before[name] + count for name, count in counts.items()}
            tree = (await look_at(brokers.addresses)).tree()
            assert {name: sorted(others) for name, others in tree.items()} == {
                "a": ["b"],
                "b": ["a", "c", "d"],
                "c": ["b"],
                "d": ["b"],
            }

    live(test())


def test_a_broker_that_was_killed_comes_back_and_the_routes_with_it(live: Live) -> None:
    async def test() -> None:
        async with (
            overlay("a-b b-c") as brokers,
            regraft.connect(brokers.url("a"), "p") as publisher,
            regraft.connect(brokers.url("b"), "sb") as in_the_middle,
            regraft.connect(brokers.url("c"), "sc") as at_the_end,
        ):
            near = await in_the_middle.subscribe("number >= 0").in_force()
            far = await at_the_end.subscribe("number >= 0").in_force()
            await brokers.kill("b")
            await brokers.start("b")
            await brokers.whole(30.0)
            await near.in_force()  # the client has connected again, and subscribed again
            await far.in_force()
            await publish(publisher, 100)
            assert await take(near, 100) == list(range(1, 101))
            assert await take(far, 100) == list(range(1, 101))

    live(test())


@ON_STANDING
def test_an_exchange_that_cannot_be_is_refused_before_anything_is_sent(live: Live, standing: Running) -> None:
    async def test() -> None:
        for removed, added, reason in (
            (("a", "x"), ("a", "c"), "there is no broker x"),
            (("a", "c"), ("a", "d"), "a and c are not linked"),
            (("a", "b"), ("b", "c"), "b and c are linked already"),
            (("a", "b"), ("c", "d"), "would close a loop"),
        ):
            with pytest.raises(UsageError, match=reason):
                await exchange(standing.addresses, removed, added, "coordinated", "fifo", 10.0)
        with pytest.raises(UsageError, match="the brokers run deferred"):
            await exchange(standing.addresses, ("a", "b"), ("a", "c"), "strawman", "fifo", 10.0)
        assert (await look_at(standing.addresses)).total("control_lock") == 0

    live(test())


@ON_STANDING
def test_an_acknowledged_event_survives_the_connection_and_comes_once(live: Live, standing: Running) -> None:
    async def test() -> None:
        async with (
            regraft.connect(standing.url("a"), "hasty") as publisher,
            regraft.connect(standing.url("b"), "patient") as subscriber,
        ):
            subscription = await subscriber.subscribe("number >= 0").in_force()
            events = [asyncio.ensure_future(publisher.publish({"number": n}, acknowledged=True)) for n in range(200)]
            await asyncio.sleep(0)
            assert publisher._transport is not None
            publisher._flush()
            publisher._transport.abort()  # after some have been written, before any was acknowledged
            await asyncio.gather(*events)
            assert await take(subscription, 200) == list(range(1, 201))
            await publisher.publish({"number": 0}, acknowledged=True)
            assert await take(subscription, 1) == [201]

    live(test())


@ON_STANDING
def test_a_name_that_is_taken_is_refused_and_its_owner_goes_on(live: Live, standing: Running) -> None:
    async def test() -> None:
        async with regraft.connect(standing.url("a"), "desk") as owner:
            with pytest.raises(NetworkError, match="named desk is connected already"):
                await regraft.connect(standing.url("a"), "desk").__aenter__()
            await owner.publish({"number": 1}, acknowledged=True)

    live(test())

"""Durable sessions: what a client is owed outlives its connection, its process, and the `kill -9` of its broker."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

import regraft
from effort import quick_first
from live.conftest import ON_STANDING, Live, Running, overlay
from regraft.errors import NetworkError, UsageError
from regraft.model.events import Event
from regraft.net.bus import Bus
from regraft.net.durable import Delivery, DurableBus
from regraft.net.operating import look_at
from regraft.net.settings import BrokerSettings, on_free_ports
from regraft.net.subscription import Subscription

WITHIN_S = 30.0
ALL = "number >= 0"


@contextlib.asynccontextmanager
async def alone(**keys: Any) -> AsyncIterator[Running]:
    """One broker, called b."""
    settings = msgspec.convert({"name": "b", **keys}, BrokerSettings)
    async with Running(on_free_ports([settings]), lambda _, line: print(line)) as running:
        await running.whole(WITHIN_S)
        yield running


def durable(brokers: Running, broker: str, name: str = "desk") -> DurableBus:
    return DurableBus(brokers.url(broker), name, WITHIN_S)


async def publish(bus: Bus, first: int, count: int, size_bytes: int = 20) -> None:
    for number in range(first, first + count):
        await bus.publish({"number": number}, bytes(size_bytes))
    await bus.flush()


async def take(subscription: Subscription, count: int) -> list[int]:
    """The numbers of the next so many events."""
    numbers: list[int] = []
    while len(numbers) < count:
        event = await asyncio.wait_for(anext(subscription), WITHIN_S)
        number = event.attributes["number"]
        assert isinstance(number, int)
        numbers.append(number)
    return numbers


async def nothing_more(subscription: Subscription) -> None:
    await asyncio.sleep(0.2)
    assert not subscription._queue


async def until_sessions_hold(brokers: Running, broker: str, events: int) -> None:
    async with asyncio.timeout(WITHIN_S):
        while (await look_at(brokers.addresses)).brokers[broker].events_kept < events:
            await asyncio.sleep(0.02)


@ON_STANDING
def test_a_subscriber_that_was_away_gets_all_once_and_in_order(live: Live, standing: Running) -> None:
    async def test() -> None:
        brokers = standing
        async with regraft.connect(brokers.url("a"), "p") as publisher:
            async with durable(brokers, "b") as bus:
                subscription = await bus.subscribe(ALL).in_force()
                await publish(publisher, 0, 100)
                assert await take(subscription, 50) == list(range(50))
            await publish(publisher, 100, 5_000)
            async with durable(brokers, "b") as bus:
                assert await take(bus.subscribe(ALL), 5_050) == list(range(50, 5_100))
            async with durable(brokers, "b") as bus:
                await publish(publisher, 5_100, 10)
                assert await take(bus.subscribe(ALL), 10) == list(range(5_100, 5_110))
                await bus.forget()
            async with durable(brokers, "b") as bus:
                assert not bus.waiting, "another session"
                await publish(publisher, 0, 10)
                await nothing_more(bus.subscribe(ALL))
                await bus.forget()

    live(test())


def test_a_session_outlives_the_kill_of_its_broker(live: Live) -> None:
    async def test() -> None:
        async with overlay("a-b") as brokers, regraft.connect(brokers.url("a"), "p") as publisher:
            async with durable(brokers, "b") as bus:
                await bus.subscribe(ALL).in_force()
                await bus.subscribe("number = -1").in_force()
            await publish(publisher, 0, 500)
            await until_sessions_hold(brokers, "b", 500)
            await brokers.kill("b")  # while it is away
            await brokers.start("b")
            await brokers.whole(WITHIN_S)
            await publish(publisher, 500, 500)
            await until_sessions_hold(brokers, "b", 1_000)
            async with durable(brokers, "b") as bus:
                assert list(bus.waiting) == ["number = -1", ALL]
                subscription = bus.subscribe(ALL)
                assert await take(subscription, 300) == list(range(300))
                await brokers.kill("b")  # while it receives
                await brokers.start("b")
                assert await take(subscription, 700) == list(range(300, 1_000))
                await brokers.whole(WITHIN_S)
                await subscription.in_force()
                await publish(publisher, 1_000, 10)
                assert await take(subscription, 10) == list(range(1_000, 1_010))
                await nothing_more(subscription)

    live(test())


READER = r"""
import os, sys, regraft
with regraft.connect(sys.argv[1], "desk", durable=True) as bus:
    for event in bus.subscribe("number >= 0", in_force=False):
        os.write(1, b"%d %d\n" % (event.attributes["number"], event.redelivered))
"""


@pytest.mark.parametrize("seed", quick_first([1, 2, 3], 1))
def test_a_subscriber_that_is_killed_gets_again_only_what_it_was_in_the_middle_of(live: Live, seed: int) -> None:
    async def test() -> None:
        dice = Random(seed)
        async with alone() as brokers, regraft.connect(brokers.url("b"), "p") as publisher:
            async with durable(brokers, "b") as bus:
                await bus.subscribe(ALL).in_force()
            await publish(publisher, 0, 2_000)
            got: list[tuple[int, bool]] = []
            while not got or got[-1][0] < 1_999:
                command = [sys.executable, "-c", READER, brokers.url("b")]
                reader = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
                assert reader.stdout is not None
                left = dice.randrange(200, 1_500)
                while line := await asyncio.wait_for(reader.stdout.readline(), WITHIN_S):
                    number, redelivered = map(int, line.split())
                    got.append((number, bool(redelivered)))
                    left -= 1
                    if left == 0 or number == 1_999:
                        with contextlib.suppress(ProcessLookupError):  # killed before
                            reader.send_signal(signal.SIGKILL)  # what it has printed can still be read
                assert await reader.wait() == -signal.SIGKILL
            seen: dict[int, None] = {}
            for number, redelivered in got:
                assert number not in seen or redelivered, "what comes again is marked"
                assert number in seen or number == len(seen), "in order"
                seen[number] = None
            assert list(seen) == list(range(2_000)), "nothing is missing"

    live(test())


def test_a_slow_durable_client_slows_nobody_and_loses_nothing(live: Live) -> None:
    async def test() -> None:
        async with (
            alone(limits={"queue_bytes_max": 65_536}) as brokers,
            regraft.connect(brokers.url("b"), "p") as publisher,
            regraft.connect(brokers.url("b"), "q") as other,
            durable(brokers, "b") as bus,
        ):
            slow = await bus.subscribe(ALL, queue_length_max=10).in_force()
            quick = await other.subscribe(ALL).in_force()
            await publish(publisher, 0, 6_000, 2_000)
            assert await take(quick, 6_000) == list(range(6_000))
            assert (await look_at(brokers.addresses)).brokers["b"].events_kept > 1_000
            assert await take(slow, 6_000) == list(range(6_000))
            await nothing_more(slow)

    live(test())


def test_a_session_that_is_full_loses_its_oldest_events_and_says_how_many(live: Live) -> None:
    async def test() -> None:
        sessions = {"events_max": 100, "fsync": "periodic", "fsync_every_s": 0.1}
        async with (
            alone(sessions=sessions) as brokers,
            regraft.connect(brokers.url("b"), "p") as publisher,
        ):
            async with durable(brokers, "b") as bus:
                await bus.subscribe(ALL).in_force()
            await publish(publisher, 0, 150)
            await until_sessions_hold(brokers, "b", 100)
            await brokers.kill("b")
            await brokers.start("b")
            async with durable(brokers, "b") as bus:
                assert await take(bus.subscribe(ALL), 100) == list(range(50, 150))
                assert bus.lost == 50

    live(test())


@pytest.mark.long
def test_a_session_that_nobody_uses_is_dropped(live: Live) -> None:
    async def test() -> None:
        async with alone(sessions={"expires_after_s": 0.5, "sessions_max": 1}) as brokers:
            async with durable(brokers, "b") as bus:
                with pytest.raises(NetworkError, match="keeps 1 sessions, and no more"):
                    await durable(brokers, "b", "another").__aenter__()
                await bus.subscribe(ALL).in_force()
                assert (await look_at(brokers.addresses)).brokers["b"].sessions == 1, "it is used"
            async with asyncio.timeout(WITHIN_S):
                while (await look_at(brokers.addresses)).brokers["b"].sessions:
                    await asyncio.sleep(0.05)
            assert (await look_at(brokers.addresses)).brokers["b"].counters["sessions_expired"] == 1

    live(test())


@ON_STANDING
def test_a_name_belongs_to_its_session(live: Live, standing: Running) -> None:
    async def test() -> None:
        brokers = standing
        async with durable(brokers, "b") as bus:
            with pytest.raises(NetworkError, match="named desk is connected already"):
                await durable(brokers, "b").__aenter__()
            with pytest.raises(UsageError, match="needs a name"):
                DurableBus(brokers.url("b"), "", WITHIN_S)
            await bus.close()
            with pytest.raises(NetworkError, match="there is a session of the name desk"):
                await regraft.connect(brokers.url("b"), "desk").__aenter__()
        async with durable(brokers, "b") as bus:
            await bus.forget()

    live(test())


@ON_STANDING
def test_callbacks_and_several_subscriptions_are_done_with_one_by_one(live: Live, standing: Running) -> None:
    async def test() -> None:
        brokers = standing
        async with regraft.connect(brokers.url("b"), "p") as publisher:
            got: list[Event] = []
            async with durable(brokers, "b") as bus:
                await bus.subscribe(ALL, callback=got.append).in_force()
                await bus.subscribe("number > 5").in_force()
                await publish(publisher, 0, 10)
                async with asyncio.timeout(WITHIN_S):
                    while len(got) < 10:
                        await asyncio.sleep(0.01)
            assert [event.attributes["number"] for event in got] == list(range(10))
            async with durable(brokers, "b") as bus:  # the second subscription was not read
                again = bus.subscribe("number > 5")
                assert await take(again, 4) == [6, 7, 8, 9]
                await bus.waiting[ALL].close()
                await nothing_more(again)
            async with durable(brokers, "b") as bus:
                assert list(bus.waiting) == ["number > 5"]
                await nothing_more(bus.subscribe("number > 5"))
                await bus.forget()

    live(test())


@ON_STANDING
def test_what_is_redelivered_is_marked(live: Live, standing: Running) -> None:
    async def test() -> None:
        brokers = standing
        async with regraft.connect(brokers.url("b"), "p") as publisher:
            with contextlib.suppress(KeyError):
                async with durable(brokers, "b") as bus:
                    subscription = await bus.subscribe(ALL).in_force()
                    await publish(publisher, 0, 3)
                    assert await take(subscription, 3) == [0, 1, 2]
                    raise KeyError("the application fails")
            async with durable(brokers, "b") as bus:
                subscription = bus.subscribe(ALL)
                event = await anext(subscription)
                assert isinstance(event, Delivery)
                assert (event.attributes["number"], event.redelivered) == (2, True)
                await publish(publisher, 3, 1)
                event = await anext(subscription)
                assert isinstance(event, Delivery)
                assert (event.attributes["number"], event.redelivered) == (3, False)
                await bus.forget()

    live(test())


def test_a_damaged_session_file_is_one_clear_line_and_stays_as_it_is(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    file.write_bytes(b"no database at all" * 100)
    config = tmp_path / "a.toml"
    config.write_text(f'name = "a"\nlisten = "127.0.0.1:1"\nstate = {json.dumps(str(tmp_path))}\n')
    command = [sys.executable, "-m", "regraft.cli", "broker", "--config", str(config)]
    ended = subprocess.run(command, capture_output=True, timeout=30)
    assert ended.returncode == 1
    assert b"sessions.db: damaged (file is not a database)" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert file.read_bytes() == b"no database at all" * 100


@ON_STANDING
def test_the_command_line_takes_a_session_up_and_ends_it(live: Live, standing: Running) -> None:
    async def sub(*arguments: str) -> list[int]:
        command = [sys.executable, "-m", "regraft.cli", "sub", ALL, "--broker", standing.url("b"), *arguments]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = await asyncio.wait_for(process.communicate(), WITHIN_S)
        assert process.returncode == 0, errors
        return [json.loads(line)["number"] for line in output.splitlines()]

    async def test() -> None:
        async with durable(standing, "b", "shell") as bus:
            await bus.subscribe(ALL).in_force()
        async with regraft.connect(standing.url("a"), "p") as publisher:
            await publish(publisher, 0, 10)
            await until_sessions_hold(standing, "b", 10)
        assert await sub("--durable", "--name", "shell", "--count", "4") == [0, 1, 2, 3]
        assert await sub("--durable", "--name", "shell", "--count", "6", "--forget") == [4, 5, 6, 7, 8, 9]
        assert (await look_at(standing.addresses)).brokers["b"].sessions == 0

    live(test())


def test_a_reader_who_has_no_room_is_told_that_its_subscription_is_in_force(live: Live) -> None:
    async def test() -> None:
        async with alone() as brokers:
            async with durable(brokers, "b") as bus:
                await bus.subscribe(ALL).in_force()
            async with regraft.connect(brokers.url("b"), "p") as publisher:
                await publish(publisher, 0, 500, 5_000)
            async with durable(brokers, "b") as bus:
                subscription = bus.subscribe(ALL, queue_length_max=5)
                await asyncio.sleep(0.3)
                assert subscription.is_full
                await asyncio.wait_for(subscription.in_force(), WITHIN_S)
                assert await take(subscription, 500) == list(range(500))

    live(test())

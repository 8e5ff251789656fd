"""Whatever comes from a socket: one line in the log, a counter, a refusal to that peer; the rest goes on."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import regraft
from live.conftest import ON_STANDING, Live, Running, overlay, settings_of
from regraft.broker.messages import Subscribe
from regraft.errors import FilterError, UsageError
from regraft.net import talk
from regraft.net.operating import look_at
from regraft.net.settings import LinkSetting, split_address, write_settings
from regraft.net.wire import CONTROL_HEADER_BYTES, FLAG_ACKNOWLEDGE, HOPS_AT, control_frame, event_frame

MEBIBYTE = 1_048_576


def hello(name: str = "guest", clock_ns: int | None = None) -> bytes:
    return control_frame(talk.ClientHello(name, 1, time.time_ns() if clock_ns is None else clock_ns))


def durable_hello() -> bytes:
    return control_frame(talk.ClientHello("durable_guest", 1, time.time_ns(), True, 5, 10**9))


def moved(address: str, filter: str) -> bytes:
    """A durable client that says it comes from another broker."""
    places = (("elsewhere", address),)
    return control_frame(talk.ClientHello("m", 1, time.time_ns(), True, 0, 0, 1, places, (filter,)))


def broker_hello(name: str) -> bytes:
    return control_frame(talk.BrokerHello(name, 1, "127.0.0.1:1", time.time_ns(), 0))


def travelled() -> bytes:
    frame = bytearray(event_frame("guest", 1, {}))
    frame[HOPS_AT] = 3
    return bytes(frame)


HOSTILE = [
    (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "speaks version 47"),
    (b"\x00\x00\x00\x08\x02\x01\x00\x00\x80", "speaks version 2"),
    (b"\x00\x00\x00\x05\x01\x07\x00\x00\x80", "no kind 7"),
    (b"\xff\xff\xff\xff\x01\x01\x00\x00", "too long"),
    (b"\x00\x00\x00\x05\x01\x01\x00\x00\xc1", "no message that may come here"),
    (b"\x00\x00\x00\x05\x01\x01\x00\x00\x90", "no message that may come here"),
    (control_frame(talk.Ping(1)), "no message that may come here"),
    (event_frame("guest", 1, {}), "an event before a greeting"),
    (hello(clock_ns=0), "its clock is off by"),
    (hello("no/name"), "no message that may come here"),
    (hello() + control_frame(Subscribe(("price > 1",), "a-b#1")), "no message that may come here"),
    (hello() + control_frame(talk.AskStatus(1)), "no message that may come here"),
    (hello() + event_frame("somebody else", 1, {}), "publishes in the name of"),
    (hello() + travelled(), "has not travelled yet"),
    (hello() + b"\x00\x00\x00\x30\x01\x02" + bytes(42) + b"\x94\x01\x02\x03", "this is no event"),
    (hello("s"), "named s is connected already"),
    (moved("a@", "a = 1"), "address"),
    (moved("127.0.0.1:1", "a ="), "lacks something"),
    (broker_hello("a"), "the name a is taken"),
    (broker_hello("b"), "the name b is taken"),
    (broker_hello("z") + control_frame(talk.Ask(1, "a = 1")), "no message that may come here"),
    (broker_hello("y") + event_frame("", 1, {}), "this is no event"),
    (broker_hello("x") + control_frame(talk.Settled(5)), "settles what it was not sent"),
    (hello() + control_frame(talk.Got(1)), "guest has no session"),
    (hello() + control_frame(talk.Forget(1)), "guest has no session"),
    (durable_hello() + control_frame(talk.Got(7)), "acknowledges 7, which it was not sent"),
]


async def refusal(brokers: Running, data: bytes) -> str:
    """What the broker says last, before it ends the connection."""
    reader, writer = await asyncio.open_connection(*split_address(brokers.settings["a"].listen))
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(), 10.0)
    writer.close()
    reason = ""
    while answer:
        length = int.from_bytes(answer[:4], "big") + 4
        body, answer = answer[CONTROL_HEADER_BYTES:length], answer[length:]
        message = msgspec.msgpack.decode(body)
        if message["type"] == "refused":
            reason = message["reason"]
            assert answer == b"", "the refusal is the last frame"
    return reason


@ON_STANDING
def test_a_hostile_peer_is_refused_with_a_reason_and_harms_nobody(live: Live, standing: Running) -> None:
    async def test() -> None:
        async with (
            regraft.connect(standing.url("a"), "p") as publisher,
            regraft.connect(standing.url("a"), "s") as subscriber,
        ):
            subscription = await subscriber.subscribe("number >= 0").in_force()
            for number, (data, reason) in enumerate(HOSTILE):
                assert reason in await refusal(standing, data)
                await publisher.publish({"number": number})
                assert (await anext(subscription)).attributes == {"number": number}
            await refusal(standing, durable_hello() + control_frame(talk.Forget(1)))
            counters = (await look_at(standing.addresses)).brokers["a"].counters
            assert counters["refused"] >= len(HOSTILE) - 2  # of a name that is taken, brokers try again by right

    live(test())


@pytest.mark.long
def test_a_publisher_that_does_not_wait_for_its_acknowledgements_is_refused(live: Live) -> None:
    async def test() -> None:
        async with overlay("a-b", limits={"unacknowledged_max": 10}) as brokers:
            events = (event_frame("guest", number, {}, flags=FLAG_ACKNOWLEDGE) for number in range(1, 100))
            reason = await refusal(brokers, hello() + b"".join(events))
            assert reason == "guest does not wait for what is to be acknowledged"

    live(test())


@ON_STANDING
def test_a_filter_that_cannot_be_is_denied_and_the_connection_goes_on(live: Live, standing: Running) -> None:
    async def test() -> None:
        async with regraft.connect(standing.url("a"), "s") as bus:
            with pytest.raises(FilterError):
                bus.subscribe("price >")
            explosive = " AND ".join(f"(a{n} = 1 OR b{n} = 1)" for n in range(40))
            with pytest.raises(FilterError):
                bus.subscribe(explosive)
            reader, writer = await asyncio.open_connection(*split_address(standing.settings["a"].listen))
            writer.write(hello() + control_frame(talk.Ask(7, explosive)) + control_frame(talk.Ping(8)))
            await asyncio.sleep(0.5)
            answer = await reader.read(MEBIBYTE)
            writer.close()
            assert b"denied" in answer
            assert b"pong" in answer

    live(test())


def test_a_client_may_have_so_many_subscriptions(live: Live) -> None:
    async def test() -> None:
        async with (
            overlay("a-b", limits={"subscriptions_per_client_max": 2}) as brokers,
            regraft.connect(brokers.url("a"), "s") as bus,
        ):
            for number in range(2):
                await bus.subscribe(f"number = {number}").in_force()
            with pytest.raises(UsageError, match="may have 2 subscriptions"):
                await bus.subscribe("number = 2").in_force()
            with pytest.raises(UsageError, match="may have 2 subscriptions"):
                await anext(bus.subscribe("number = 3"))

    live(test())


@ON_STANDING
def test_a_port_in_use_is_one_clear_line(standing: Running, tmp_path: Path) -> None:
    file = tmp_path / "second.toml"
    file.write_text(write_settings(msgspec.structs.replace(standing.settings["a"], name="second")))
    command = [sys.executable, "-m", "regraft.cli", "broker", "--config", str(file)]
    ended = subprocess.run(command, capture_output=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.decode().startswith(f"regraft: {standing.settings['a'].listen}: cannot listen there")
    assert len(ended.stderr.splitlines()) == 1


async def stalled_reader(brokers: Running, name: str) -> asyncio.StreamWriter:
    """A client that subscribes to everything and then reads nothing."""
    reader, writer = await asyncio.open_connection(*split_address(brokers.settings["a"].listen), limit=1_024)
    writer.write(hello(name) + control_frame(talk.Ask(1, "number >= 0")))
    await writer.drain()
    await reader.readexactly(8)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    return writer


def resident_bytes(process: int) -> int:
    return int(Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()[0]) * 1_024


def test_a_slow_client_loses_events_with_a_count_where_that_is_asked_for(live: Live) -> None:
    async def test() -> None:
        limits = {"queue_bytes_max": 262_144}
        async with (
            overlay("a-b", when_slow="lose", limits=limits) as brokers,
            regraft.connect(brokers.url("a"), "p") as publisher,
            regraft.connect(brokers.url("b"), "s") as subscriber,
        ):
            process = (await look_at(brokers.addresses)).brokers["a"].process
            before = resident_bytes(process)
            writer = await stalled_reader(brokers, "slow")
            got: list[int] = []
            await subscriber.subscribe("number >= 0", callback=lambda event: got.append(event.sequence)).in_force()
            for number in range(20_000):
                await publisher.publish({"number": number}, bytes(1_000))
                while number - len(got) > 100:  # the other client keeps up, however busy the machine
                    await asyncio.sleep(0.001)
            await publisher.flush()
            counters = (await look_at(brokers.addresses)).brokers["a"].counters
            assert counters["events_lost_by_slow_clients"] > 5_000
            assert resident_bytes(process) - before < 30 * MEBIBYTE
            async with asyncio.timeout(20):
                while len(got) < 20_000:
                    await asyncio.sleep(0.05)
            assert got == list(range(1, 20_001))
            writer.close()

    live(test())


def test_a_slow_client_slows_the_publisher_and_is_cut_off_in_the_end(live: Live) -> None:
    async def test() -> None:
        limits = {"queue_bytes_max": 262_144, "stalled_after_s": 3.0}
        async with (
            overlay("a-b", limits=limits) as brokers,
            regraft.connect(brokers.url("b"), "p") as publisher,
            regraft.connect(brokers.url("a"), "s") as subscriber,
        ):
            process = (await look_at(brokers.addresses)).brokers["a"].process
            before = resident_bytes(process)
            writer = await stalled_reader(brokers, "slow")
            got: list[int] = []
            await subscriber.subscribe("number >= 0", callback=lambda event: got.append(event.sequence)).in_force()
            count = 0

            async def publish() -> None:
                nonlocal count
                while count < 60_000:
                    await publisher.publish({"number": count}, bytes(1_000))
                    count += 1

            publishing = asyncio.create_task(publish())
            earlier = -1
            while count > earlier:
                earlier = count
                await asyncio.sleep(1.0)
            assert count < 60_000, "the publisher waits for the slow client"
            assert resident_bytes(process) - before < 30 * MEBIBYTE
            async with asyncio.timeout(100):  # until the slow client is cut off; then all goes on, and nothing is lost
                await publishing
                while len(got) < 60_000:
                    await asyncio.sleep(0.05)
            assert got == list(range(1, 60_001))
            assert (await look_at(brokers.addresses)).total("links_lost") == 0, "the link outlives the slow client"
            writer.close()

    live(test())


def test_events_in_a_loop_are_dropped_and_counted(live: Live) -> None:
    async def test() -> None:
        settings = settings_of("a-b b-c c-d", sessions={"returns_within_s": 0.5})
        last = settings[-1]
        back = LinkSetting("a", settings[0].listen)
        settings[-1] = msgspec.structs.replace(last, link=(*last.link, back))
        async with Running(settings, lambda _, line: print(line)) as brokers:
            await brokers.whole(30.0)
            async with (
                regraft.connect(brokers.url("a"), "p") as publisher,
                regraft.connect(brokers.url("c"), "s") as subscriber,
            ):
                got: list[int] = []
                subscriber.subscribe("number >= 0", callback=lambda event: got.append(event.sequence))
                await asyncio.sleep(1.0)
                for number in range(30):
                    await publisher.publish({"number": number}, acknowledged=True)
                await asyncio.sleep(1.0)
                # In a loop each comes from both sides, and no more often than that.
                assert sorted(got) == sorted([*range(1, 31), *range(1, 31)])
                assert (await look_at(brokers.addresses)).total("events_looped") > 0

    live(test())

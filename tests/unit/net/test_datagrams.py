"""Sessions over UDP: what is said arrives once and in order, whatever the network loses, doubles and overtakes."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from regraft.net import talk
from regraft.net.connection import Traffic
from regraft.net.datagrams import HEADER, SEGMENTS_MAX, DatagramLine, Datagrams
from regraft.net.wire import control_frame

MESSAGES = 500


class Taking:
    """A peer that remembers what it gets."""

    def __init__(self) -> None:
        self.serials: list[int] = []
        self.reasons: list[str] = []

    def event(self, data: bytes, begin: int, end: int) -> None:
        raise AssertionError("no event was sent")

    def control(self, body: bytes) -> None:
        self.serials.append(msgspec.msgpack.decode(body)["serial"])

    def ended(self, reason: str) -> None:
        self.reasons.append(reason)


class Lossy(Datagrams):
    """A socket on a bad network."""

    dice = Random(1)
    loss = 0.0

    def put(self, datagram: bytes, to: tuple[str, int]) -> None:
        if self.dice.random() < self.loss:
            return
        for _ in range(2 if self.dice.random() < self.loss else 1):
            asyncio.get_running_loop().call_later(
                self.dice.uniform(0, 0.005 * (self.loss > 0)), super().put, datagram, to
            )


@asynccontextmanager
async def pair(loss: float) -> AsyncIterator[tuple[DatagramLine, Taking, list[Taking], list[str], Lossy]]:
    """The line that one opened, its peer, the peers that the other made, complaints, the other's socket."""
    loop = asyncio.get_running_loop()
    complaints: list[str] = []
    made: list[Taking] = []

    def accept(line: DatagramLine) -> Taking:
        made.append(Taking())
        return made[-1]

    def traffic() -> Traffic:
        complain = lambda who, reason: complaints.append(reason)  # noqa: E731
        return Traffic(loop, time.monotonic_ns, queue_bytes_max=1_000, stalled_after_ns=10**9, misbehaved=complain)

    sockets = []
    for _ in range(2):
        _, protocol = await loop.create_datagram_endpoint(lambda: Lossy(traffic(), accept, 10_000), ("127.0.0.1", 0))
        protocol.loss = loss
        sockets.append(protocol)
    to = sockets[1]._transport.get_extra_info("sockname")
    line = sockets[0].open(to, 10_000)
    line.begin(mine := Taking())
    yield line, mine, made, complaints, sockets[1]
    for each in sockets:
        each.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_what_is_said_arrives_once_and_in_order(loss: float) -> None:
    async def test() -> None:
        async with pair(loss) as (line, _, made, complaints, _socket):
            for number in range(MESSAGES):
                line.say(talk.Ping(number))
                if number % 50 == 0:
                    await asyncio.sleep(0.001)
            await until(lambda: bool(made) and len(made[0].serials) == MESSAGES and line.waiting_bytes == 0)
            assert made[0].serials == list(range(MESSAGES))
            assert len(made) == 1
            assert complaints == []

    run(test())


def test_a_message_longer_than_a_datagram_arrives_whole() -> None:
    async def test() -> None:
        async with pair(0.2) as (line, _, made, _complaints, _socket):
            line.send(control_frame(talk.Denied(7, "x" * 9_000)))
            await until(lambda: bool(made) and made[0].serials == [7])

    run(test())


def test_what_was_said_before_the_end_arrives_before_it() -> None:
    async def test() -> None:
        async with pair(0.3) as (line, mine, made, _complaints, other):
            for number in range(100):
                line.say(talk.Ping(number))
            line.close("enough")
            line.say(talk.Ping(100))
            await until(lambda: bool(mine.reasons))
            assert made[0].serials == list(range(100))
            assert mine.reasons == ["enough"]
            while not made[0].reasons:  # the word of the end may be lost; whoever speaks on hears it again
                for each in list(other._lines.values()):
                    each.say(talk.Ping(0))
                await asyncio.sleep(0.01)

    run(test())


def test_a_session_that_nobody_began_is_answered_with_a_reset() -> None:
    async def test() -> None:
        async with pair(0.0) as (line, mine, made, _complaints, _socket):
            line._next, line._begun = 1, True  # as if the other end had been started again meanwhile
            line.say(talk.Ping(1))
            await until(lambda: bool(mine.reasons))
            assert mine.reasons == ["the other end has ended it"]
            assert made == []

    run(test())


def test_hostile_datagrams_are_counted_or_ignored_and_nothing_grows() -> None:
    async def test() -> None:
        async with pair(0.0) as (line, _, made, complaints, other):
            dice = Random(2)
            stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            to = other._transport.get_extra_info("sockname")
            for _ in range(2_000):
                stranger.sendto(dice.randbytes(dice.randrange(60)), to)
            stranger.sendto(HEADER.pack(1, 1, 5, 0) + b"\xff" * 20, to)
            line.say(talk.Ping(1))
            await until(lambda: any(taking.serials == [1] for taking in made))
            stranger.close()
            assert any("version" in reason for reason in complaints)
            assert len(other._lines) < 20
            assert all(len(each._early) < 5_000 and len(each._waiting) < SEGMENTS_MAX for each in other._lines.values())

    run(test())

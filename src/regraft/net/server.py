"""Runs a live broker: its port, its greetings, and its end when a signal comes.

What only some brokers do, to record and to give metrics, is imported by those: an overlay starts as many processes.
"""

import asyncio
import contextlib
import logging
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regraft.errors import RegraftError
from regraft.net.calling import Afar
from regraft.net.connection import Connection, Line
from regraft.net.datagrams import DatagramLine, Datagrams
from regraft.net.host import Host
from regraft.net.loops import new_loop
from regraft.net.operators import Operator
from regraft.net.settings import BrokerSettings, split_address
from regraft.net.talk import BrokerHello, ClientHello, Direct, OperatorHello, greetings
from regraft.net.wire import WireError, decode_control

BACKLOG = 4_096
STOP_WITHIN_S = 3.0
SECOND_NS = 1_000_000_000

log = logging.getLogger("regraft")


class Stranger:
    """Somebody who has connected and not said yet who it is."""

    def __init__(self, host: Host, line: Line) -> None:
        self._host = host
        self._line = line
        self._late = host.loop.call_later(host.settings.limits.greeting_within_s, self._too_late)

    def event(self, data: bytes, begin: int, end: int) -> None:
        raise WireError("an event before a greeting")

    def control(self, body: bytes) -> None:
        host, line = self._host, self._line
        hello: BrokerHello | ClientHello | OperatorHello | Direct = decode_control(greetings, body)
        self._late.cancel()
        off_s = abs(time.time_ns() - hello.clock_ns) / SECOND_NS
        if off_s > host.settings.limits.clock_off_max_s:
            raise WireError(f"its clock is off by {off_s:.0f} s")
        match hello:
            case BrokerHello():
                host.links.called(line, hello)
            case ClientHello() if isinstance(line, DatagramLine):
                line.refuse("clients connect over TCP")
            case ClientHello():
                host.guests.arrive(line, hello)
            case Direct():
                line.become(Afar(host, line, hello), host.settings.limits.link_frame_bytes_max)
            case OperatorHello():
                line.become(Operator(host, line), host.settings.limits.frame_bytes_max)

    def ended(self, reason: str) -> None:
        self._late.cancel()

    def _too_late(self) -> None:
        self._host.misbehaved(self._line.address, "said nothing")
        self._line.refuse("no greeting came in time")


@dataclass(frozen=True, slots=True)
class Recording:
    """What a broker is to write down: its trace into a folder, its core's inputs into a file; neither must exist."""

    trace: Path | None = None
    inputs: Path | None = None


async def serve(settings: BrokerSettings, stop: asyncio.Event, recording: Recording) -> None:
    """A broker, until `stop` is set; raises `RegraftError` if it cannot listen, or write where it is to."""
    loop = asyncio.get_running_loop()
    failures = _stop_at_failures(loop, stop)
    host = Host(settings, loop)
    address, port = split_address(settings.listen)
    limit = settings.limits.frame_bytes_max

    def accept() -> Connection:
        return Connection(host.traffic, lambda line: Stranger(host, line), limit)

    try:
        server = await loop.create_server(accept, address, port, backlog=BACKLOG, reuse_address=True)
    except OSError as error:
        raise RegraftError(f"{settings.listen}: cannot listen there: {error.strerror or error}") from error
    if settings.udp:
        host.datagrams = await _datagrams(host, address, port)
    async with contextlib.AsyncExitStack() as until_the_end:
        began_ns = host.up_since_ns
        if recording.trace is not None or recording.inputs is not None:
            from regraft.net.witness import InputRecord, Witness
        if recording.trace is not None:
            witness = Witness(recording.trace, host.name, began_ns, settings.core)
            host.witness = until_the_end.enter_context(witness)
        if recording.inputs is not None:
            record = InputRecord(recording.inputs, host.name, settings.core, began_ns)
            host.record = until_the_end.enter_context(record)
        if settings.metrics:
            from regraft.net.metrics import metrics

            until_the_end.enter_context(metrics(settings.metrics, host))
        log.info("listening on %s, process %d", settings.listen, host.process)
        if host.sessions is not None:
            host.sessions.start()
            until_the_end.push_async_callback(host.sessions.keeper.close)
        host.links.start()
        await stop.wait()
        log.info("stopping")
        server.close()
        host.links.stop()
        for connection in list(host.traffic.connections):
            if not isinstance(connection.peer, Stranger) and connection not in host.links.lines():
                connection.refuse("the broker stops")
        deadline = loop.time() + STOP_WITHIN_S
        while host.traffic.connections and loop.time() < deadline:
            await asyncio.sleep(0.01)
        if host.datagrams is not None:
            host.datagrams.close()
    if failures:
        raise failures[0]


def _stop_at_failures(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> list[Exception]:
    """A broker that has met a bug of its own does not go on: what it believes may be wrong. Sockets may fail."""
    failures: list[Exception] = []

    def failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, RegraftError):
            log.critical("stopping: %s", error)
            failures.append(error)
            stop.set()
        elif isinstance(error, Exception) and not isinstance(error, OSError):
            log.critical("stopping at a bug: %r", error)
            failures.append(error)
            stop.set()
        else:
            log.error("%s: %s", context.get("message"), error)

    loop.set_exception_handler(failed)
    return failures


async def _datagrams(host: Host, address: str, port: int) -> Datagrams:
    limit = host.settings.limits.frame_bytes_max
    try:
        _, datagrams = await host.loop.create_datagram_endpoint(
            lambda: Datagrams(host.traffic, lambda line: Stranger(host, line), limit), (address, port)
        )
    except OSError as error:
        raise RegraftError(f"{host.settings.link_address}: cannot listen there: {error.strerror or error}") from error
    return datagrams


def run(settings: BrokerSettings, recording: Recording) -> None:
    """In this process, until SIGTERM or SIGINT."""

    async def until_a_signal() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await serve(settings, stop, recording)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(until_a_signal())

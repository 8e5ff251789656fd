"""Links to other brokers: who opens them, again and again, and what incarnation they are.

A link is opened by the side that is configured to, with a wait that doubles up to a bound. The two ends greet each
other; the side that accepts says which incarnation this is, one more than either knows. What belongs to an incarnation
ends with its connection, so that nothing of an earlier one can arrive on a later.

Where a link is closed for good (another has replaced it), neither side opens it again.
"""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from regraft.broker.inputs import LinkDown, LinkRefused, LinkUp
from regraft.broker.messages import DirectMessage
from regraft.errors import UsageError
from regraft.net.calling import REPLACED, Caller, Sender
from regraft.net.connection import Connection, Line
from regraft.net.link import Link
from regraft.net.remembering import Remembered, recall, remember
from regraft.net.settings import split_link_address
from regraft.net.talk import (
    BrokerHello,
    BrokerWelcome,
    Direct,
)
from regraft.net.wire import WireError, control_frame

if TYPE_CHECKING:
    from regraft.net.host import Host

AGAIN_AFTER_S = 0.05
AGAIN_AFTER_S_MAX = 2.0
PATIENCE = 4
AFAR_MAX = 1_024  # brokers that are no neighbours, whose addresses are known

log = logging.getLogger("regraft")


class Links:
    """`up` are the links of which the core knows; `wanted` those that this side keeps open."""

    def __init__(self, host: "Host") -> None:
        self.up: dict[str, Link] = {}
        self._host = host
        self._folder = Path(host.settings.state) if host.settings.state else None
        known = recall(self._folder, host.name) if self._folder else None
        configured = {link.to: link.address for link in host.settings.link}
        self.addresses: dict[str, str] = dict(known.links if known else configured)
        self.wanted: dict[str, None] = dict.fromkeys(self.addresses)
        self._incarnations: dict[str, int] = dict(known.incarnations) if known else {}
        self._replaced: dict[str, None] = dict.fromkeys(known.replaced if known else ())
        self._neighbours: dict[str, None] = dict.fromkeys(known.neighbours if known else ())
        self._dialling: dict[str, asyncio.Task[None]] = {}
        self._stopping = False
        self._saying: dict[asyncio.Task[None], None] = {}
        self._announced: dict[str, str] = {}  # of links that are wanted and not up yet
        self._afar: dict[str, str] = {}  # addresses of brokers that need not be neighbours
        self._opening: dict[str, str] = {}  # neighbour -> exchange, until the link is up or refused
        self._dice = Random(f"{host.name} {host.identity}")

    # --- opening

    def start(self) -> None:
        for name in (*self.wanted, *self._neighbours):
            self._host.returning.expect(name)
        for name in self.wanted:
            self._dial(name)
        self._host.loop.call_later(self._host.settings.beacons.every_s, self._look)

    def stop(self) -> None:
        self._stopping = True
        for task in self._dialling.values():
            task.cancel()
        for link in list(self.up.values()):
            link.part("the broker stops")

    def want(self, name: str, announced: str) -> None:
        """Open a link and keep it; the first may replace a lost one that is announced."""
        self._want(name)
        self._announced[name] = announced
        self._dial(name)

    def _want(self, name: str) -> None:
        self.wanted[name] = None
        self._remember()

    def replaced(self, name: str) -> None:
        """The link to that broker has ended for good."""
        self.wanted.pop(name, None)
        self._neighbours.pop(name, None)
        self._replaced[name] = None
        self._remember()
        if name not in self.up:
            self._host.returning.forget(name)

    def _remember(self) -> None:
        if self._folder is None:
            return
        links = {name: self.addresses[name] for name in self.wanted}
        try:
            remember(
                self._folder,
                Remembered(self._host.name, links, self._incarnations, tuple(self._replaced), tuple(self._neighbours)),
            )
        except OSError as error:
            self._host.counters["state_not_written"] += 1
            self._host.complain("state", f"{self._folder}: cannot be written: {error.strerror}")

    def open(self, neighbour: str, exchange: str) -> None:
        """For an exchange: one attempt."""
        if neighbour in self.up or neighbour in self._dialling or neighbour not in self.addresses:
            self._host.loop.call_soon(self._host.give, LinkRefused(neighbour, exchange))
            return
        self._opening[neighbour] = exchange
        self._dialling[neighbour] = self._host.loop.create_task(self._open_once(neighbour, exchange))

    async def _open_once(self, neighbour: str, exchange: str) -> None:
        reason = await self._attempt(neighbour, exchange)
        self._dialling.pop(neighbour, None)
        if self._opening.pop(neighbour, None) is not None and reason:
            log.warning("link to %s for the exchange %s: %s", neighbour, exchange, reason)
            self._host.give(LinkRefused(neighbour, exchange))

    def _dial(self, name: str) -> None:
        if not self._stopping and name not in self.up and name not in self._dialling:
            self._dialling[name] = self._host.loop.create_task(self._keep_dialling(name))

    async def _keep_dialling(self, name: str) -> None:
        wait_s = AGAIN_AFTER_S
        said = ""
        while name in self.wanted and name not in self.up and not self._stopping:
            reason = await self._attempt(name, "")
            if name in self.up or not reason:
                break
            if reason != said:
                log.info("link to %s (%s): %s; trying again", name, self.addresses[name], reason)
                said = reason
            await asyncio.sleep(wait_s * self._dice.uniform(0.5, 1.0))
            wait_s = min(2 * wait_s, AGAIN_AFTER_S_MAX)
        self._dialling.pop(name, None)

    async def _attempt(self, name: str, exchange: str) -> str:
        """Returns why there is no link, or nothing where there is one."""
        udp, host, port = split_link_address(self.addresses[name])
        outcome: asyncio.Future[str] = self._host.loop.create_future()
        accept = partial(Caller, self._host, name, exchange, outcome)
        line: Line | None = None
        try:
            async with asyncio.timeout(self._host.settings.limits.greeting_within_s):
                line = await (self._open_udp(accept, host, port) if udp else self._open_tcp(accept, host, port))
                return await outcome
        except TimeoutError:
            return "no answer"
        except OSError as error:
            return error.strerror or str(error)
        finally:
            if line is not None and not outcome.done():
                line.abort("gave up")

    async def _open_tcp(self, accept: Callable[[Line], Caller], host: str, port: int) -> Line:
        limit, traffic = self._host.settings.limits.link_frame_bytes_max, self._host.traffic
        _, line = await self._host.loop.create_connection(lambda: Connection(traffic, accept, limit), host, port)
        return line

    async def _open_udp(self, accept: Callable[[Line], Caller], host: str, port: int) -> Line:
        datagrams = self._host.datagrams
        if datagrams is None:
            raise OSError(f"{self._host.name} does not take links over UDP (its key `udp`)")
        found = await self._host.loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        numeric = str(found[0][4][0])
        line = datagrams.open((numeric, port), self._host.settings.limits.link_frame_bytes_max)
        line.begin(accept(line))
        return line

    def introduce(self, name: str, address: str) -> None:
        """That broker, which need not be a neighbour, is reached at that address."""
        try:
            split_link_address(address)
        except UsageError as error:
            raise WireError(str(error)) from None
        self._afar.pop(name, None)
        self._afar[name] = address
        if len(self._afar) > AFAR_MAX:
            del self._afar[next(iter(self._afar))]

    def send_direct(self, name: str, message: DirectMessage) -> None:
        """Over a connection for it alone; where that cannot be opened, it is lost."""
        host = self._host
        address = self.addresses.get(name) or self._afar.get(name)
        if address is not None:
            hello = Direct(host.name, time.time_ns(), host.settings.link_address)
            frames = control_frame(hello) + control_frame(message)
            _, there, port = split_link_address(address)
            task = host.loop.create_task(self._say(frames, there, port))
            self._saying[task] = None
            task.add_done_callback(lambda done: self._saying.pop(done, None))

    async def _say(self, frames: bytes, host: str, port: int) -> None:
        with contextlib.suppress(OSError):
            await self._host.loop.create_connection(lambda: Sender(frames), host, port)

    # --- greetings

    def lines(self) -> list[Line]:
        return [link.line for link in self.up.values()]

    def hello(self, name: str, exchange: str, announced: str) -> BrokerHello:
        host, incarnation = self._host, self.incarnation_of(name)
        where, now_ns = host.settings.link_address, time.time_ns()
        again = not exchange and name not in self._announced
        return BrokerHello(host.name, host.identity, where, now_ns, incarnation, exchange, announced, again)

    def announced(self, name: str) -> str:
        return self._announced.get(name, "")

    def incarnation_of(self, name: str) -> int:
        return self._incarnations.get(name, 0)

    def called(self, line: Line, hello: BrokerHello) -> None:
        """Another broker has opened a link to us."""
        if self._stopping:
            line.refuse("the broker stops")
            return
        if hello.name == self._host.name:
            line.refuse(f"the name {hello.name} is taken: by this broker itself")
            return
        if hello.name in self._opening and self._host.name < hello.name:
            line.refuse(f"{self._host.name} is about to open this link itself")
            return
        if hello.again and hello.name in self._replaced:
            line.refuse(REPLACED)
            return
        there = self.up.get(hello.name)
        if there is not None and there.identity != hello.identity:
            line.refuse(f"the name {hello.name} is taken by a broker that is linked already")
            return
        if there is not None:  # its end has seen this link end, ours has not
            self.lost(there, "the other end has opened it anew")
            there.line.abort("the other end has opened it anew")
        try:
            split_link_address(hello.address)
        except UsageError as error:
            raise WireError(str(error)) from None
        self.addresses.setdefault(hello.name, hello.address)
        incarnation = max(self.incarnation_of(hello.name), hello.incarnation) + 1
        host = self._host
        line.send(control_frame(BrokerWelcome(host.name, host.identity, host.settings.link_address, incarnation)))
        link = Link(host, line, hello.name, hello.identity, incarnation, hello.exchange)
        self.came_up(link, hello.announced)

    def came_up(self, link: Link, announced: str) -> None:
        name, exchange = link.name, link.exchange
        assert name not in self.up
        host = self._host
        self._incarnations[name] = link.incarnation
        self._opening.pop(name, None)
        self._announced.pop(name, None)
        self._replaced.pop(name, None)
        host.returning.came_up(link)
        self.up[name] = link
        link.line.patience = PATIENCE
        link.line.become(link, host.settings.limits.link_frame_bytes_max)
        log.info("link to %s is up, incarnation %d%s", name, link.incarnation, f", for {exchange}" if exchange else "")
        if exchange:
            host.hear_of(exchange)
        else:
            host.note_link(name, up=True)
        host.give(LinkUp(name, link.incarnation, exchange, announced))
        link.beacon()

    def is_neighbour(self, name: str) -> None:
        """It is waited for when it is lost, also by our next process."""
        if name not in self._neighbours:
            self._neighbours[name] = None
            self._remember()

    # --- ending

    def close(self, neighbour: str, reason: str, *, for_good: bool) -> None:
        link = self.up.get(neighbour)
        if for_good:
            self.replaced(neighbour)
        if link is not None:
            link.part(REPLACED if for_good else reason)

    def said_bye(self, link: Link, reason: str) -> None:
        if reason == REPLACED:
            self.replaced(link.name)
        link.leave(f"{link.name} has closed it: {reason}")

    def lost(self, link: Link, reason: str) -> None:
        if self.up.get(link.name) is not link:
            return
        del self.up[link.name]
        host = self._host
        log.info("link to %s is down: %s", link.name, reason)
        host.counters["links_lost"] += 1
        if not link.exchange:
            host.note_link(link.name, up=False)
            if link.name not in host.core.table.heard:
                # An exchange has taken it out of the tree; whoever was to close it for good could not.
                self.replaced(link.name)
        if link.exchange or link.name not in self._neighbours:
            host.returning.forget(link.name)
        else:
            host.returning.lost(link.name)
        host.give(LinkDown(link.name))
        if link.name in self.wanted:
            host.loop.call_soon(self._dial, link.name)

    def exchanged(self) -> None:
        """An exchange that this broker took part in is over: a link that we opened for it is ours to keep."""
        for name, link in self.up.items():
            if link.exchange and name in self._host.core.table.heard:
                if link.opened_here:
                    self._want(name)
                link.exchange = ""
                self._host.note_link(name, up=True)
                self.is_neighbour(name)

    def _look(self) -> None:
        host, beacons = self._host, self._host.settings.beacons
        now_ns = host.now_ns()
        for link in list(self.up.values()):
            if not link.closing:
                link.look(now_ns, beacons.missed, beacons.of)
        host.traffic.look()
        host.guests.look()
        host.returning.look()
        host.loop.call_later(beacons.every_s, self._look)

"""The operator's side: ask brokers how they are, walk an overlay from any of its brokers, exchange links.

Whoever operates needs to know one broker. Its status names its neighbours and where they are, and so on; what does not
answer is named with the reason.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

import msgspec

from regraft.broker.messages import Order, Routes, change_name
from regraft.errors import NetworkError, UsageError
from regraft.model.trees import Adjacency, Link, component, path
from regraft.net import talk
from regraft.net.settings import UDP, split_address
from regraft.net.wire import FrameSplitter, WireError, control_frame, decode_control
from regraft.planning import exchange_on

ANSWER_WITHIN_S = 5.0
FRAME_BYTES_MAX = 64 * 1_048_576
POLL_S = 0.05
SHORT_S = 0.002
COORDINATED: dict[str, Routes] = {"coordinated": "laid", "graft": "grafted"}


class Controls(asyncio.Protocol):
    """An operator's connection to one broker."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.broker = ""
        self._serial = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._splitter = FrameSplitter(self, FRAME_BYTES_MAX)
        self._reason = "the broker closed the connection"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._welcome: asyncio.Future[Any] = loop.create_future()
        host, port = split_address(self.address)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                self._transport, _ = await loop.create_connection(lambda: self, host, port)
                self._transport.write(control_frame(talk.OperatorHello(time.time_ns())))
                await self._welcome
        except TimeoutError:
            raise NetworkError(f"{self.address}: no answer within {ANSWER_WITHIN_S:g} s") from None
        except OSError as error:
            raise NetworkError(f"{self.address}: no broker can be reached there ({error.strerror or error})") from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._transport.close()

    async def status(self) -> talk.Status:
        answer: talk.Status = await self._ask(talk.AskStatus(0))
        return answer

    async def introduce(self, name: str, address: str) -> None:
        await self._ask(talk.Introduce(0, name, address))

    async def link(self, name: str, announced: str = "") -> None:
        await self._ask(talk.Link(0, name, announced))

    async def found(self, name: str, incarnation: int, way: tuple[str, ...], near: int) -> None:
        await self._ask(talk.Found(0, name, incarnation, way, near))

    async def until_linked(self, name: str, linked: bool) -> None:
        """Wait until there is, or is not, a link to that broker."""
        deadline = asyncio.get_running_loop().time() + ANSWER_WITHIN_S
        while any(link.neighbour == name for link in (await self.status()).links) != linked:
            if asyncio.get_running_loop().time() > deadline:
                raise NetworkError(f"{self.address}: the link to {name} does not {'come' if linked else 'go'}")
            await asyncio.sleep(SHORT_S)

    async def unlink(self, name: str) -> None:
        await self._ask(talk.Unlink(0, name))

    async def exchange(
        self, name: str, cycle: tuple[str, ...], near: int, order: Order, routes: Routes, within_s: float
    ) -> str:
        """Returns the outcome."""
        answer: talk.Ended = await self._ask(talk.Exchange(0, name, cycle, near, order, routes), within_s)
        return answer.outcome

    async def _ask(self, question: msgspec.Struct, within_s: float = ANSWER_WITHIN_S) -> Any:
        self._serial += 1
        future = self._waiting[self._serial] = asyncio.get_running_loop().create_future()
        self._transport.write(control_frame(msgspec.structs.replace(question, serial=self._serial)))
        try:
            async with asyncio.timeout(within_s):
                return await future
        except TimeoutError:
            raise NetworkError(f"{self.address}: no answer within {within_s:g} s") from None

    # --- what the loop tells

    def data_received(self, data: bytes) -> None:
        try:
            self._splitter.feed(data)
        except WireError as error:
            self._reason = f"the broker sent what no broker sends: {error}"
            self._transport.abort()

    def event(self, data: bytes, begin: int, end: int) -> None:
        raise WireError("an event, to an operator")

    def control(self, body: bytes) -> None:
        match decode_control(talk.to_operator, body):
            case talk.OperatorWelcome(broker=broker):
                self.broker = broker
                if not self._welcome.done():  # who waited for it may have given up
                    self._welcome.set_result(None)
            case talk.Refused(reason=reason):
                self._reason = f"the broker refuses: {reason}"
            case talk.Denied(serial=serial, reason=reason):
                future = self._waiting.pop(serial, None)
                if future is not None and not future.done():
                    future.set_exception(UsageError(f"{self.address}: {reason}"))
            case answer:
                future = self._waiting.pop(answer.serial, None)
                if future is not None and not future.done():
                    future.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        for future in (self._welcome, *self._waiting.values()):
            if not future.done():
                future.set_exception(NetworkError(f"{self.address}: {self._reason}"))
                future.exception()


@dataclass
class Overlay:
    """What the brokers said; `unreachable` are addresses that a neighbour names and that did not answer."""

    brokers: dict[str, talk.Status] = field(default_factory=dict)
    unreachable: dict[str, str] = field(default_factory=dict)

    def tree(self) -> Adjacency:
        """The links that both ends hold to be of the tree."""
        tree: Adjacency = {name: {} for name in self.brokers}
        for name, status in self.brokers.items():
            for link in status.links:
                other = self.brokers.get(link.neighbour)
                if link.of_tree and other and any(back.neighbour == name and back.of_tree for back in other.links):
                    tree[name][link.neighbour] = 0
        return tree

    def is_whole(self) -> bool:
        """Whether every link that is wanted is up, at both ends, and no exchange is under way."""
        return not self.unreachable and all(
            not status.missing and not status.locked and all(link.up for link in status.links)
            for status in self.brokers.values()
        )

    def total(self, counter: str) -> int:
        return sum(status.counters.get(counter, 0) for status in self.brokers.values())


async def look_at(addresses: Sequence[str]) -> Overlay:
    """Every broker that can be reached from these, by way of neighbours."""
    overlay = Overlay()
    asked = dict.fromkeys(addresses)
    layer = list(addresses)
    first = True
    while layer:
        answers = await asyncio.gather(*(_status(address) for address in layer), return_exceptions=True)
        following: dict[str, None] = {}
        for address, answer in zip(layer, answers, strict=True):
            if isinstance(answer, talk.Status):
                overlay.brokers[answer.broker] = answer
                following |= dict.fromkeys(
                    where for link in answer.links if (where := link.address.removeprefix(UDP)) not in asked
                )
            elif isinstance(answer, NetworkError):
                if first and len(layer) == 1:
                    raise answer
                overlay.unreachable[address] = str(answer)
            elif isinstance(answer, BaseException):
                raise answer
        asked |= following
        layer = list(following)
        first = False
    overlay.brokers = dict(sorted(overlay.brokers.items()))
    return overlay


async def _status(address: str) -> talk.Status:
    async with Controls(address) as controls:
        return await controls.status()


async def until_whole(addresses: Sequence[str], within_s: float) -> Overlay:
    """The overlay as soon as it is whole; `NetworkError` names what is missing where that takes too long."""
    deadline = asyncio.get_running_loop().time() + within_s
    while True:
        try:
            overlay = await look_at(addresses)
            reasons = _what_is_missing(overlay)
        except NetworkError as error:
            reasons = [str(error)]
        if not reasons:
            return overlay
        if asyncio.get_running_loop().time() > deadline:
            raise NetworkError(f"the overlay is not whole after {within_s:g} s: {'; '.join(reasons)}")
        await asyncio.sleep(POLL_S)


def _what_is_missing(overlay: Overlay) -> list[str]:
    reasons = list(overlay.unreachable.values())
    for name, status in overlay.brokers.items():
        reasons += [f"{name} has no link to {missing}" for missing in status.missing]
        reasons += [f"{name}-{link.neighbour} is not up yet" for link in status.links if not link.up]
        if status.locked:
            reasons.append(f"{name} takes part in an exchange")
    return reasons


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one exchange: what brokers sent to each other meanwhile, between the looks before and after."""

    protocol: str
    outcome: str
    seconds: float
    control_messages: int
    filters_carried: int
    control_bytes: int
    brokers_touched: int


async def exchange(
    addresses: Sequence[str], removed: Link, added: Link, protocol: str, order: Order, within_s: float
) -> Cost:
    """Exchange one link of a running overlay for another; refused before anything is sent where that cannot be."""
    before = await look_at(addresses)
    cycle, near, removed, added = _cycle(before, removed, added)
    _check_protocol(before, protocol)
    address_of = {name: status.address for name, status in before.brokers.items()}
    links_at = {name: status.link_address for name, status in before.brokers.items()}
    name = f"{'-'.join(removed)}>{'-'.join(added)}#{time.time_ns()}"
    began = time.monotonic()
    async with (
        Controls(address_of[removed[0]]) as r1,
        Controls(address_of[removed[1]]) as r2,
        Controls(address_of[added[0]]) as a1,
    ):
        await a1.introduce(added[1], links_at[added[1]])
        outcome = "done"
        if protocol in COORDINATED:
            outcome = await r1.exchange(name, cycle, near, order, COORDINATED[protocol], within_s)
        elif protocol in ("path", "informed"):
            incarnation = next(
                link.incarnation for link in before.brokers[removed[0]].links if link.neighbour == removed[1]
            )
            await r2.unlink(removed[0])
            await asyncio.gather(r1.until_linked(removed[1], False), r2.until_linked(removed[0], False))
            await a1.link(added[1], change_name(*removed, incarnation, comes=False))
            async with Controls(address_of[added[1]]) as a2:
                await asyncio.gather(a1.until_linked(added[1], True), a2.until_linked(added[0], True))
            await asyncio.gather(*(r.introduce(a, links_at[a]) for r, a in ((r1, added[0]), (r2, added[1]))))
            await r2.found(removed[0], incarnation, cycle, near)
            await r1.found(removed[1], incarnation, cycle, near)
        else:
            await r2.unlink(removed[0])
            await a1.link(added[1])
    after = await _settled(addresses, within_s)
    seconds = time.monotonic() - began
    touched = [
        broker
        for broker, status in after.brokers.items()
        if broker in before.brokers and _control(status) > _control(before.brokers[broker])
    ]
    return Cost(
        protocol=protocol,
        outcome=outcome,
        seconds=seconds,
        control_messages=sum(map(_control, after.brokers.values())) - sum(map(_control, before.brokers.values())),
        filters_carried=after.total("control_filters") - before.total("control_filters"),
        control_bytes=after.total("control_bytes") - before.total("control_bytes"),
        brokers_touched=len(touched),
    )


async def join_link(addresses: Sequence[str], link: Link, within_s: float) -> None:
    """Link two parts of an overlay that is cut; `addresses` reach both. The first end keeps the link."""
    before = await look_at(addresses)
    a, b = _both(before, link)
    if b in component(before.tree(), a):
        raise UsageError(f"{a}-{b} would close a loop, as the two are connected")
    async with Controls(before.brokers[a].address) as end:
        await end.introduce(b, before.brokers[b].link_address)
        await end.link(b)
        await end.until_linked(b, True)
    await until_whole(addresses, within_s)


async def cut_link(addresses: Sequence[str], link: Link) -> None:
    """End a link for good; the overlay is in two parts then."""
    before = await look_at(addresses)
    a, b = _both(before, link)
    if b not in before.tree()[a]:
        raise UsageError(f"{a} and {b} are not linked")
    async with Controls(before.brokers[a].address) as end:
        await end.unlink(b)
        await end.until_linked(b, False)


def _both(overlay: Overlay, link: Link) -> Link:
    for broker in link:
        if broker not in overlay.brokers:
            raise UsageError(f"there is no broker {broker}; there are {', '.join(overlay.brokers)}")
    return link


def _control(status: talk.Status) -> int:
    """How many messages this broker has sent that an exchange can be the cause of."""
    kinds = ("subscribe", "unsubscribe", "lock", "signal", "reroute", "rerouted", "informed", "graft", "compare")
    return sum(status.counters.get(f"control_{kind}", 0) for kind in kinds)


async def _settled(addresses: Sequence[str], within_s: float) -> Overlay:
    """The overlay when it is whole and nobody has sent a message between two looks."""
    last = await until_whole(addresses, within_s)
    while True:
        await asyncio.sleep(2 * POLL_S)
        now = await until_whole(addresses, within_s)
        if [_control(status) for status in now.brokers.values()] == [
            _control(status) for status in last.brokers.values()
        ]:
            return now
        last = now


def _cycle(overlay: Overlay, removed: Link, added: Link) -> tuple[tuple[str, ...], int, Link, Link]:
    _both(overlay, removed)
    _both(overlay, added)
    tree = overlay.tree()
    if removed[1] not in tree[removed[0]]:
        raise UsageError(f"{removed[0]} and {removed[1]} are not linked")
    if added[1] in tree[added[0]]:
        raise UsageError(f"{added[0]} and {added[1]} are linked already")
    way = path(tree, *added)
    hops = list(pairwise(way))
    if not way:
        parts = ", ".join(component(tree, added[0]))
        raise UsageError(f"{added[1]} is not connected with {added[0]} as it is; that is connected with {parts}")
    if removed not in hops and removed[::-1] not in hops:
        raise UsageError(
            f"{added[0]}-{added[1]} would close a loop, as {removed[0]}-{removed[1]} is not on the way between them"
        )
    step = exchange_on(way, removed)
    return step.cycle, step.near, step.removed, step.added


def _check_protocol(overlay: Overlay, protocol: str) -> None:
    if protocol in COORDINATED:
        return
    others = dict.fromkeys(
        status.reconfiguration for status in overlay.brokers.values() if status.reconfiguration != protocol
    )
    if others:
        planned = " or ".join(COORDINATED)
        raise UsageError(
            f"protocol {protocol}: where links break, the brokers run {', '.join(others)} (the key "
            f"core.reconfiguration of their configuration); a planned exchange is by {planned}"
        )

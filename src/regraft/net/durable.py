"""A client whose session outlives it: `regraft.connect(url, name="desk-7", durable=True)`.

    async with regraft.connect("regraft://127.0.0.1:4270", name="desk-7", durable=True) as bus:
        async for event in bus.subscribe("price > 100"):
            ...

The broker keeps the session's subscriptions, and what they are owed, on its disk; this process takes up where the last
one under that name has left off. An event is **done with** when the reader asks for the next one (or its callback has
returned), and the broker is then told; what was not done with when this process ends comes again to the next, marked
`redelivered`. In one process an event comes once, however often the connection breaks: by its number.

A clean end of the bus counts as done with what was handed out last; an exception that leaves its block does not.

**Subscriptions of the session** that this process has not made yet are there from the beginning: what comes for them
waits, as in any subscription that is not read, and when one is full nothing is read from the broker any more.
`subscribe` with the same filter takes one up; `waiting` names those that nobody has taken up, to be read or closed.
To leave a subscription's block does not take it back, `close` does. `forget` ends the session for good.

**To move** to another broker is `await bus.move("regraft://host:port")`: the new broker takes over what the old one has
kept, and everything comes once and in order. Nothing is published until it has; `publish` waits. Another process goes
on at another broker with `came_from`, where its predecessor may have stayed last (`NAME@HOST:PORT`, the latest first),
and with the `filters` of its session. What the old broker could not hand over is said in `bus.arrived`.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType

import msgspec

from regraft.errors import NetworkError, UsageError
from regraft.model.events import Event
from regraft.model.filters import Filter
from regraft.net.bus import QUEUE_LENGTH_MAX, Bus
from regraft.net.connected import fail, settle, split_url
from regraft.net.settings import split_address
from regraft.net.subscription import Subscription
from regraft.net.talk import Arrived, Cease, ClientHello, ClientWelcome, Denied, Forget, Got, Granted, to_client
from regraft.net.wire import (
    EVENT_HEADER_BYTES,
    FLAG_AGAIN,
    FLAGS_AT,
    NUMBER_AT,
    PASSED_AT,
    control_frame,
    decode_control,
    decode_event,
)

LATELY_MAX = 20_000  # deliveries that are known when they come again by way of another broker
FLUSHED_WITHIN_S = 5.0


def split_place(text: str) -> tuple[str, str]:
    """A broker and its address, from `NAME@HOST:PORT`."""
    name, at, address = text.partition("@")
    if not at or not name:
        raise UsageError(f"{text!r} is no broker with its address; write NAME@HOST:PORT")
    split_address(address)
    return name, address


class Delivery(Event, frozen=True, tag="event", gc=False, eq=False):
    """An event of a session. `redelivered`: it may have been delivered before, to an earlier process."""

    redelivered: bool = False
    number: int = 0
    session: int = 0


class DurableSubscription(Subscription):
    """What was handed out last is done with when more is asked for."""

    def __init__(
        self, bus: "DurableBus", filter: Filter, callback: Callable[[Event], None] | None, queue_length_max: int
    ) -> None:
        super().__init__(bus, filter, None, queue_length_max)
        self._bus = bus
        self._in_hand: list[Event] = []
        self._callback = callback
        if callback is not None:
            self.take = self._call

    def take_up(self, callback: Callable[[Event], None] | None, queue_length_max: int) -> None:
        """Somebody wants it from now on, with what has come already."""
        self._length_max = queue_length_max
        if callback is not None:
            self._callback, self.take = callback, self._call
            while self._queue:
                self._call(self._queue.popleft())
        if self.is_full and len(self._queue) < queue_length_max:
            self._make_room()

    def _call(self, event: Event) -> None:
        assert self._callback is not None
        self._callback(event)
        self._bus.done_with(event)

    def finish(self) -> None:
        """What was handed out is done with."""
        done, self._in_hand = self._in_hand, []
        for event in done:
            self._bus.done_with(event)

    def hand_out(self, *events: Event) -> None:
        self.finish()
        self._in_hand.extend(events)

    async def __anext__(self) -> Event:
        self.finish()
        event = await super().__anext__()
        self._in_hand.append(event)
        return event

    async def batch(self) -> list[Event]:
        self.finish()
        events = await super().batch()
        self._in_hand.extend(events)
        return events

    async def fetch(self) -> list[Event]:
        """As `batch`, for a reader that says what it takes of it by `hand_out`."""
        self.finish()
        return await super().batch()

    async def close(self) -> None:
        """Take it back; what has come and was not read is given up."""
        self.finish()
        await super().close()
        while self._queue:
            self._bus.done_with(self._queue.popleft())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()


class DurableBus(Bus):
    """A bus with a session. `lost` counts events that went because the session was full, too."""

    _patience_s = 1.0  # the broker may not have noticed yet that an earlier process of this name is gone

    def __init__(
        self,
        url: str,
        name: str,
        connect_within_s: float,
        came_from: Sequence[str] = (),
        filters: Sequence[str] = (),
    ) -> None:
        if not name:
            raise UsageError("a durable client needs a name, by which it finds its session again")
        if came_from and not filters:
            raise UsageError("who comes from another broker says with which subscriptions: `filters` is missing")
        super().__init__(url, name, connect_within_s)
        self.arrived: Arrived | None = None  # what was said of it when we arrived here
        self._stayed = [split_place(place) for place in came_from]  # where we may have stayed last, the latest first
        self._moving = bool(came_from)
        self._move = 0
        self._arrival: asyncio.Future[Arrived] | None = None
        self._lately: dict[tuple[str, int], bool] = {}  # deliveries of this process, and whether we are done with them
        self._come_again: dict[tuple[str, int], int] = {}  # those of them that another session numbers anew
        self.waiting: dict[str, DurableSubscription] = {}
        self._session = 0
        self._received = 0
        self._done = 0
        self._order: deque[int] = deque()  # deliveries that are not done with, and behind them what is
        self._takers: dict[int, int] = {}  # by how many subscriptions each is not done with
        self._saying = False
        self._forgotten: tuple[int, asyncio.Future[None]] | None = None
        for text in filters:
            self._wait_for(Filter.parse(text))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await (self.close() if error is None else super().close())

    async def close(self) -> None:
        for subscription in self._durables():
            subscription.finish()
        self._say_done()
        await super().close()

    async def forget(self) -> None:
        """End the session for good, and with it this bus."""
        await self.flush()
        self._serial += 1
        future: asyncio.Future[None] = self._loop.create_future()
        self._forgotten = self._serial, future
        self._write(control_frame(Forget(self._serial)))
        await future
        await super().close()

    # --- another broker

    async def move(self, url: str) -> Arrived:
        """Go on at that broker; returns what it says of what it was handed. Where it refuses us, move again."""
        host, port = split_url(url)
        self._say_done()
        with contextlib.suppress(NetworkError, TimeoutError):  # what the old one knows of us need not be handed over
            async with asyncio.timeout(FLUSHED_WITHIN_S):
                await self.flush()
        self.url, self._host, self._port = url, host, port
        self._moving = True
        if self._writable is None:
            self._writable = self._loop.create_future()
        if self._arrival is None or self._arrival.done():
            self._arrival = self._loop.create_future()
        if self._transport is not None:
            self._transport.abort()
        return await asyncio.shield(self._arrival)

    def _may_publish(self) -> bool:
        return not self._moving

    def _arrived(self, arrived: Arrived) -> None:
        if arrived.move != self._move:
            return
        self.arrived = arrived
        self._moving = False
        del self._stayed[1:]
        self._send_again()
        for text, several in self._subscriptions.items():
            if any(each.confirmed is not None and not each.confirmed.done() for each in several):
                self._ask(text)
        self._let_write()
        settle(self._arrival, arrived)

    # --- the session

    def _hello(self, clock_ns: int) -> ClientHello:
        hello = ClientHello(self.name, self._instance, clock_ns, True, self._session, self._received)
        if not self._moving:
            return hello
        self._move = max(self._move + 1, clock_ns)
        return msgspec.structs.replace(
            hello, move=self._move, previous=tuple(self._stayed), filters=tuple(self._subscriptions)
        )

    def _welcomed(self, welcome: ClientWelcome) -> None:
        here = welcome.broker, f"{self._host}:{self._port}"
        self._stayed = [here, *(place for place in self._stayed if self._moving and place[0] != here[0])]
        is_known = welcome.session == self._session
        if not is_known:
            self._session, self._received, self._done = welcome.session, 0, 0
            self._order.clear()
            self._takers.clear()
        super()._welcomed(welcome)
        for text in welcome.filters:
            if text not in self._subscriptions:
                if is_known:  # taken back while we were not connected
                    self._serial += 1
                    self._write(control_frame(Cease(self._serial, text)))
                else:
                    self._wait_for(Filter.parse(text))

    def _wait_for(self, filter: Filter) -> None:
        """A subscription of the session that nobody reads yet."""
        self.waiting[filter.text] = DurableSubscription(self, filter, None, QUEUE_LENGTH_MAX)
        self._subscriptions[filter.text] = [self.waiting[filter.text]]

    def _connected(self) -> None:
        super()._connected()
        if self._done:
            self._write(control_frame(Got(self._done)))

    def _disconnected(self, error: NetworkError) -> None:
        super()._disconnected(error)
        if self._forgotten is not None:
            fail(self._forgotten[1], error)
        if self._refusal and self._arrival is not None:
            fail(self._arrival, UsageError(str(error)))

    def control(self, body: bytes) -> None:
        if self._forgotten is not None:
            match decode_control(to_client, body):
                case Granted(serial=serial) if serial == self._forgotten[0]:
                    settle(self._forgotten[1])
                case Denied(serial=serial, reason=reason) if serial == self._forgotten[0]:
                    fail(self._forgotten[1], UsageError(f"{self.url}: the broker refuses: {reason}"))
        super().control(body)

    # --- deliveries

    def event(self, data: bytes, begin: int, end: int) -> None:
        number = int.from_bytes(data[begin + NUMBER_AT : begin + PASSED_AT], "big")
        if number <= self._received:
            return
        self._received = number
        event = decode_event(data[begin + EVENT_HEADER_BYTES : end])
        again = data[begin + FLAGS_AT] & FLAG_AGAIN != 0
        delivery = Delivery(
            event.publisher, event.sequence, event.attributes, event.payload, again, number, self._session
        )
        known = event.publisher, event.sequence
        self._order.append(number)
        if again and known in self._lately:
            if not self._lately[known]:
                self._takers[number] = 1
                self._come_again[known] = number
            self._advance()
            return
        self._lately[known] = False
        if len(self._lately) > LATELY_MAX:
            del self._lately[next(iter(self._lately))]
        takers = [
            subscription
            for several in self._subscriptions.values()
            if several[0].filter.matches(event.attributes)
            for subscription in several
        ]
        self._takers[number] = max(len(takers), 1)
        for subscription in takers:
            subscription.take(delivery)
        if not takers:
            self.done_with(delivery)

    def done_with(self, event: Event) -> None:
        """Called by subscriptions, once for each event that they took."""
        assert isinstance(event, Delivery)
        known = event.publisher, event.sequence
        number = event.number if event.session == self._session else self._come_again.pop(known, 0)
        left = self._takers.pop(number, 0)
        if left > 1:
            self._takers[number] = left - 1
        elif known in self._lately:
            self._lately[known] = True
        self._advance()

    def _advance(self) -> None:
        order, takers = self._order, self._takers
        while order and order[0] not in takers:
            self._done = order.popleft()
            if not self._saying:
                self._saying = True
                self._loop.call_soon(self._say_done)

    def _say_done(self) -> None:
        self._saying = False
        if self._done and self._transport is not None and self._welcome.done():
            self._write(control_frame(Got(self._done)))

    # --- subscriptions

    def subscribe(
        self, filter: str, *, callback: Callable[[Event], None] | None = None, queue_length_max: int = QUEUE_LENGTH_MAX
    ) -> Subscription:
        """As of any bus; one that the session has and nobody reads yet is taken up, with what has come for it."""
        waiting = self.waiting.pop(Filter.parse(filter).text, None)
        if waiting is None:
            return super().subscribe(filter, callback=callback, queue_length_max=queue_length_max)
        waiting.take_up(callback, queue_length_max)
        return waiting

    def _make(self, filter: Filter, callback: Callable[[Event], None] | None, queue_length_max: int) -> Subscription:
        return DurableSubscription(self, filter, callback, queue_length_max)

    def cease(self, subscription: Subscription) -> None:
        self.waiting.pop(subscription.filter.text, None)
        super().cease(subscription)

    def _durables(self) -> list[DurableSubscription]:
        return [each for each in self._all_subscriptions() if isinstance(each, DurableSubscription)]

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
"""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType

from regraft.errors import NetworkError, UsageError
from regraft.model.events import Event
from regraft.model.filters import Filter
from regraft.net.bus import QUEUE_LENGTH_MAX, Bus
from regraft.net.connected import fail, settle
from regraft.net.subscription import Subscription
from regraft.net.talk import Cease, ClientHello, ClientWelcome, Denied, Forget, Got, Granted, to_client
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

    def __init__(self, url: str, name: str, connect_within_s: float) -> None:
        if not name:
            raise UsageError("a durable client needs a name, by which it finds its session again")
        super().__init__(url, name, connect_within_s)
        self.waiting: dict[str, DurableSubscription] = {}
        self._session = 0
        self._received = 0
        self._done = 0
        self._order: deque[int] = deque()  # deliveries that are not done with, and behind them what is
        self._takers: dict[int, int] = {}  # by how many subscriptions each is not done with
        self._saying = False
        self._forgotten: tuple[int, asyncio.Future[None]] | None = None

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

    # --- the session

    def _hello(self, clock_ns: int) -> ClientHello:
        return ClientHello(self.name, self._instance, clock_ns, True, self._session, self._received)

    def _welcomed(self, welcome: ClientWelcome) -> None:
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
                    self.waiting[text] = DurableSubscription(self, Filter.parse(text), None, QUEUE_LENGTH_MAX)
                    self._subscriptions[text] = [self.waiting[text]]

    def _connected(self) -> None:
        super()._connected()
        if self._done:
            self._write(control_frame(Got(self._done)))

    def _disconnected(self, error: NetworkError) -> None:
        super()._disconnected(error)
        if self._forgotten is not None:
            fail(self._forgotten[1], error)

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
        takers = [
            subscription
            for several in self._subscriptions.values()
            if several[0].filter.matches(event.attributes)
            for subscription in several
        ]
        self._order.append(number)
        self._takers[number] = max(len(takers), 1)
        for subscription in takers:
            subscription.take(delivery)
        if not takers:
            self.done_with(delivery)

    def done_with(self, event: Event) -> None:
        """Called by subscriptions, once for each event that they took."""
        assert isinstance(event, Delivery)
        left = self._takers.pop(event.number, 0) if event.session == self._session else 0
        if left > 1:
            self._takers[event.number] = left - 1
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

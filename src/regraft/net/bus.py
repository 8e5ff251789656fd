"""The client library: publish and subscribe at a live broker, and stay connected.

    async with regraft.connect("regraft://127.0.0.1:4270", name="desk-7") as bus:
        await bus.publish({"symbol": "IBM", "price": 120.5}, payload=b"...")
        async for event in bus.subscribe("price > 100 AND symbol IN ('IBM')"):
            print(event.attributes, event.payload)

**When the connection breaks** it is opened again, with a wait that doubles up to a bound, and subscriptions are made
again; `publish` waits meanwhile. An event that was published and not acknowledged may be lost with the connection. One
that was published with `acknowledged=True` is kept, and sent again, until every durable session that wants it has it on
disk (`settling.py`, `returning.py`); who gets it a second time drops it. What other publishers send while we are away
is missed, but by a durable client (`durable.py`).

**Flow.** `publish` waits when the broker does not take events as fast as they are published. A subscription keeps a
bounded number of events for its reader; when it is full, nothing is read from the broker until there is room.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from types import TracebackType
from typing import Any, Self

from regraft.errors import NetworkError, UsageError
from regraft.model.events import INT64_MAX, Event, Value, check_attributes
from regraft.model.filters import Filter
from regraft.net.connected import Connected, fail, settle
from regraft.net.subscription import Subscription
from regraft.net.talk import (
    Arrived,
    Ask,
    Cease,
    ClientWelcome,
    Denied,
    Granted,
    InForce,
    Lost,
    Ping,
    Pong,
    Refused,
    Taken,
    to_client,
)
from regraft.net.wire import (
    EVENT_HEADER_BYTES,
    FLAG_ACKNOWLEDGE,
    FLAG_AGAIN,
    FLAGS_AT,
    control_frame,
    decode_control,
    decode_event,
    event_frame,
    marked,
)

UNACKNOWLEDGED_MAX = 10_000
UNACKNOWLEDGED_BYTES_MAX = 16_777_216
QUEUE_LENGTH_MAX = 10_000
PUBLISHERS_MAX = 10_000  # whose latest acknowledged event is known


class _Ready:
    """What `publish` returns where there is nothing to wait for; to await it costs next to nothing."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


_READY = _Ready()


class Bus(Connected):
    """One client. `lost` counts events that the broker could not deliver because we were too slow."""

    def __init__(self, url: str, name: str, connect_within_s: float) -> None:
        super().__init__(url, name, connect_within_s)
        self.lost = 0
        self._sequence = 0
        self._serial = 0
        self._subscriptions: dict[str, list[Subscription]] = {}  # by canonical text
        self._alone: Subscription | None = None  # the only one that there has been on this connection
        self._asks: dict[int, str] = {}  # serial -> filter, until it is granted or denied
        self._waiting: dict[int, asyncio.Future[None]] = {}  # serial -> who waits until a filter is in force
        self._flushes: dict[int, asyncio.Future[None]] = {}
        self._unacknowledged_bytes = 0
        self._latest: dict[str, int] = {}  # publisher -> the last of its events that may come again
        self._unacknowledged: dict[int, tuple[bytes, asyncio.Future[None]]] = {}

    # --- beginning and end

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """What has been published is written before the connection ends."""
        if self._closing:
            return
        await self._close()
        error = NetworkError(f"{self.url}: the bus is closed")
        for subscription in self._all_subscriptions():
            subscription.end(None)
        for future in [*self._waiting.values(), *(future for _, future in self._unacknowledged.values())]:
            fail(future, error)
        fail(self._writable, error)

    def _connected(self) -> None:
        if self._may_publish():
            self._send_again()
        for text in self._subscriptions:
            self._ask(text)

    def _send_again(self) -> None:
        for frame, _ in self._unacknowledged.values():
            self._write(marked(frame))

    def _arrived(self, arrived: Arrived) -> None:
        """Told to durable clients alone."""

    def _disconnected(self, error: NetworkError) -> None:
        self._alone = None
        self._asks.clear()
        self._waiting.clear()
        for future in self._flushes.values():
            fail(future, error)
        self._flushes.clear()

    # --- frames that come

    def event(self, data: bytes, begin: int, end: int) -> None:
        event = decode_event(data[begin + EVENT_HEADER_BYTES : end])
        if data[begin + FLAGS_AT] and self._has_come(event, data[begin + FLAGS_AT]):
            return
        if self._alone is not None:
            self._alone.take(event)
            return
        for subscriptions in self._subscriptions.values():
            if subscriptions[0].filter.matches(event.attributes):
                for subscription in subscriptions:
                    subscription.take(event)

    def _has_come(self, event: Event, flags: int) -> bool:
        """Whether it was sent again, and we have it, or a later one of its publisher."""
        latest = self._latest
        if flags & FLAG_AGAIN and event.sequence <= latest.get(event.publisher, 0):
            return True
        latest[event.publisher] = event.sequence
        if len(latest) > PUBLISHERS_MAX:
            del latest[next(iter(latest))]
        return False

    def control(self, body: bytes) -> None:
        match decode_control(to_client, body):
            case ClientWelcome() as welcome:
                self._sequence = max(self._sequence, welcome.last_sequence)
                self._welcomed(welcome)
            case Refused(reason=reason):
                self._refusal = f"the broker refuses: {reason}"
            case Granted(serial=serial):
                self._asks.pop(serial, None)
            case Denied(serial=serial, reason=reason):
                error = UsageError(f"{self.url}: the broker refuses: {reason}")
                fail(self._waiting.pop(serial, None), error)
                self._stop_if_full()
                for subscription in self._subscriptions.pop(self._asks.pop(serial, ""), ()):
                    subscription.end(error)
            case InForce(serial=serial):
                settle(self._waiting.pop(serial, None))
                self._stop_if_full()
            case Pong(serial=serial):
                settle(self._flushes.pop(serial, None))
                self._stop_if_full()
            case Taken(sequence=sequence):
                while self._unacknowledged and next(iter(self._unacknowledged)) <= sequence:
                    frame, future = self._unacknowledged.pop(next(iter(self._unacknowledged)))
                    self._unacknowledged_bytes -= len(frame)
                    settle(future)
            case Arrived() as arrived:
                self._arrived(arrived)
            case Lost(events=events):
                self.lost += events

    # --- publishing

    def publish(
        self, attributes: Mapping[str, Value], payload: bytes = b"", *, acknowledged: bool = False
    ) -> Awaitable[None]:
        """To be awaited. With `acknowledged`, until nothing can lose the event; else until there is room for more."""
        for name, value in attributes.items():
            kind = type(value)
            is_plain = kind is str or kind is float or kind is bool or (type(value) is int and abs(value) <= INT64_MAX)
            if (not is_plain or type(name) is not str or not name) and (reason := check_attributes(attributes)):
                raise UsageError(reason)
        if acknowledged or self._writable is not None:
            return self._publish_patiently(attributes, payload, acknowledged)
        self._send(attributes, payload, 0)
        return _READY

    def _send(self, attributes: Mapping[str, Value], payload: bytes, flags: int) -> bytes:
        try:
            frame = event_frame(self.name, self._sequence + 1, attributes, payload, flags)
        except UnicodeEncodeError as error:
            raise UsageError(f"not an event: {error.object!r} is no Unicode text") from None
        if len(frame) > self._frame_bytes_max:
            raise UsageError(f"an event of {len(frame)} bytes is too long; the broker takes {self._frame_bytes_max}")
        self._sequence += 1
        self._write(frame)
        return frame

    async def _publish_patiently(self, attributes: Mapping[str, Value], payload: bytes, acknowledged: bool) -> None:
        while self._writable is not None or (acknowledged and self._waits_for_many()):
            if self._writable is not None:
                await asyncio.shield(self._writable)
            else:
                await asyncio.wait([next(iter(self._unacknowledged.values()))[1]])
        if not acknowledged:
            self._send(attributes, payload, 0)
            return
        frame = self._send(attributes, payload, FLAG_ACKNOWLEDGE)
        future = self._loop.create_future()
        self._unacknowledged[self._sequence] = frame, future
        self._unacknowledged_bytes += len(frame)
        await asyncio.shield(future)

    def _waits_for_many(self) -> bool:
        return len(self._unacknowledged) >= UNACKNOWLEDGED_MAX or self._unacknowledged_bytes >= UNACKNOWLEDGED_BYTES_MAX

    async def flush(self) -> None:
        """Wait until the broker has all that was published so far; `NetworkError` if the connection breaks first."""
        while self._writable is not None:
            await asyncio.shield(self._writable)
        self._serial += 1
        future = self._flushes[self._serial] = self._loop.create_future()
        self._write(control_frame(Ping(self._serial)))
        self._read(True)
        await future

    # --- subscriptions

    def subscribe(
        self, filter: str, *, callback: Callable[[Event], None] | None = None, queue_length_max: int = QUEUE_LENGTH_MAX
    ) -> Subscription:
        """The events that satisfy the filter from now on, to be iterated over or given to `callback`.

        It is asked for at once; `await subscription.in_force()` waits until every broker knows of it.
        """
        parsed = Filter.parse(filter)
        subscription = self._make(parsed, callback, queue_length_max)
        known = self._subscriptions.setdefault(parsed.text, [])
        known.append(subscription)
        is_first = self._serial == 0 and len(self._subscriptions) == len(known) == 1
        self._alone = subscription if is_first else None
        if len(known) == 1:
            self._ask(parsed.text)
        return subscription

    def _make(self, filter: Filter, callback: Callable[[Event], None] | None, queue_length_max: int) -> Subscription:
        return Subscription(self, filter, callback, queue_length_max)

    def _ask(self, text: str) -> None:
        """Nothing where we are not connected: it is asked for when we are."""
        if self._transport is None or not self._welcome.done():
            return
        self._serial += 1
        waiting = [each.confirmed for each in self._subscriptions[text] if each.confirmed is not None]
        unanswered = next((future for future in waiting if not future.done()), None)
        self._asks[self._serial] = text
        if unanswered is not None:
            self._waiting[self._serial] = unanswered
        self._write(control_frame(Ask(self._serial, text, unanswered is not None)))

    async def confirm(self, subscription: Subscription) -> None:
        """Called by the subscription: wait until it is in force."""
        known = self._subscriptions.get(subscription.filter.text, [])
        if subscription not in known:
            raise UsageError("the subscription has ended")
        asked = next((each.confirmed for each in known if each.confirmed and not each.confirmed.done()), None)
        if asked is None:
            asked = subscription.confirmed = self._loop.create_future()
            self._ask(subscription.filter.text)
        self._read(True)
        await asyncio.shield(asked)

    def cease(self, subscription: Subscription) -> None:
        """Called by the subscription: it ends."""
        text = subscription.filter.text
        known = self._subscriptions.get(text, [])
        if subscription not in known:
            return
        known.remove(subscription)
        self._alone = None
        if not known:
            del self._subscriptions[text]
            if self._transport is not None and self._welcome.done():
                self._serial += 1
                self._write(control_frame(Cease(self._serial, text)))

    def read(self, on: bool) -> None:
        """Called by subscriptions: whether there is room for more. An answer that somebody waits for may be behind what
        there is no room for; until it has come, subscriptions grow beyond their bound."""
        if not on:
            self._stop_if_full()
        elif not self._is_full():
            self._read(True)

    def _stop_if_full(self) -> None:
        if not self._waiting and not self._flushes and self._is_full():
            self._read(False)

    def _is_full(self) -> bool:
        return any(subscription.is_full for subscription in self._all_subscriptions())

    def _all_subscriptions(self) -> list[Subscription]:
        return [subscription for several in self._subscriptions.values() for subscription in several]

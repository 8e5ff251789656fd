"""A live broker: the interpreter between sockets and the brain. No `await` between an input and its effects.

`give` hands one input to the core and carries the effects out, in order. Everything that can happen (a frame, a timer,
a connection that ended) comes here from the event loop, one thing at a time; nothing that carries an effect out gives
the next input itself, it asks the loop to.

An event takes the short way. Its attributes are decoded once, the core says where it goes, and the bytes that came are
copied to each of these, with the hop count, the list of brokers passed and the colour overwritten. An event that the
core has kept for a while (an exchange with an order, a broker that joins) has lost its frame and is encoded anew.

**Loops.** The overlay is a tree; who makes it none by mistake must not flood it. A broker that finds itself among the
brokers that an event has passed drops it, counts that and says so, at most once a second. The list holds the last eight
brokers; a longer loop ends at 255 hops. In a loop a subscriber still gets an event from both sides, until it is mended.
"""

import asyncio
import logging
import os
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from regraft.broker import Broker, FilterCatalogue
from regraft.broker.effects import (
    CancelTimer,
    CloseLink,
    Departed,
    Dismiss,
    Effect,
    ExchangeEnded,
    Forward,
    HandedOff,
    Keep,
    LeaveAnswered,
    OpenLink,
    PeerMisbehaved,
    Refuse,
    Released,
    Route,
    Send,
    SendDirect,
    SetTimer,
    TellInForce,
)
from regraft.broker.inputs import ClientPublished, ExchangeOrdered, Input, Received, TimerFired
from regraft.broker.messages import Gray, Lock, Settled, filters_named
from regraft.model.events import Event
from regraft.net.connection import Traffic
from regraft.net.datagrams import Datagrams
from regraft.net.digest import Digests
from regraft.net.guests import Guests, SubscriptionStep
from regraft.net.links import Links
from regraft.net.moving import Moving
from regraft.net.operators import Operators
from regraft.net.returning import Returning
from regraft.net.sessions import Sessions
from regraft.net.settings import BrokerSettings
from regraft.net.settling import Settling
from regraft.net.wire import (
    EVENT_HEADER_BYTES,
    EXCHANGE_AT,
    FLAG_ACKNOWLEDGE,
    FLAG_AGAIN,
    FLAGS,
    FLAGS_AT,
    HEADER,
    HOPS_AT,
    HOPS_MAX,
    NUMBER_BYTES,
    PASSED_AT,
    PASSED_MAX,
    broker_number,
    decode_event,
    event_frame,
    exchange_number,
)

if TYPE_CHECKING:
    from regraft.net.witness import InputRecord, Witness  # they bring Arrow along, which few brokers need

SECOND_NS = 1_000_000_000
EXCHANGES_KNOWN_MAX = 1_024
_NO_EXCHANGE = bytes(PASSED_AT - EXCHANGE_AT)
_HOPS = [bytes((hops + 1,)) for hops in range(HOPS_MAX)]  # a hop more

log = logging.getLogger("regraft")


class Host:
    """`links`, `guests` and `operators` keep the three kinds of peers, `sessions` what durable clients
    are owed, where the broker has a folder for it. `witness` writes the trace and `record` the
    core's inputs, where that is asked for."""

    def __init__(self, settings: BrokerSettings, loop: asyncio.AbstractEventLoop) -> None:
        self.witness: Witness | None = None
        self.record: InputRecord | None = None
        self.settings = settings
        self.name = settings.name
        self.loop = loop
        self.process = os.getpid()
        self._clock_ns = time.time_ns() - time.monotonic_ns()
        self.up_since_ns = self.now_ns()
        self.number = broker_number(settings.name)
        self.identity = int.from_bytes(os.urandom(7), "big")
        self.counters: Counter[str] = Counter()
        self.catalogue = FilterCatalogue(settings.core.covering, remembers=False)
        self.core = Broker(settings.name, settings.core, self.catalogue)
        limits = settings.limits
        self.traffic = Traffic(
            loop,
            self.now_ns,
            queue_bytes_max=limits.queue_bytes_max,
            stalled_after_ns=round(limits.stalled_after_s * SECOND_NS),
            misbehaved=self.misbehaved,
        )
        self.digests = Digests(self.core, self.catalogue)
        self.datagrams: Datagrams | None = None  # where links over UDP are taken
        self.settling = Settling(loop)
        self.returning = Returning(self)
        self.links = Links(self)
        self.guests = Guests(self)
        self.moving = Moving(self)
        self.operators = Operators(self)
        self.sessions = Sessions(self, Path(settings.state)) if settings.state else None
        self.events_in = self.events_out = self.deliveries = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._exchanges: dict[int, str] = {}  # by number, those lately heard of
        self._frame: bytes = b""  # of the event in hand
        self._event: Event | None = None
        self._flags: dict[tuple[str, int], int] = {}  # of events that the core may hold back
        self._said_ns: dict[str, int] = {}
        self._giving = False

    def now_ns(self) -> int:
        """Wall-clock nanoseconds that never go back."""
        return time.monotonic_ns() + self._clock_ns

    # --- inputs

    def give(self, given: Input) -> None:
        assert not self._giving, "an effect must not be the next input's cause at once"
        self._giving = True
        was_locked = self.core.is_locked
        now_ns = self.now_ns()
        effects = self.core.handle(now_ns, given)
        if self.record is not None:
            self.record(now_ns, given, effects)
        for effect in effects:
            self._carry_out(effect)
        self._giving = False
        if was_locked and not self.core.is_locked:
            self.links.exchanged()
            self._flags.clear()
            self.settling.exchanged()
            self.returning.changed()

    def event_from_link(self, neighbour: str, data: bytes, begin: int, end: int) -> None:
        exchange, hops = HEADER.unpack_from(data, begin)[5], data[begin + HOPS_AT]
        passed = data[begin + PASSED_AT : begin + EVENT_HEADER_BYTES]
        event = decode_event(data[begin + EVENT_HEADER_BYTES : end])
        if hops >= HOPS_MAX or (self.number in passed and self._has_passed(passed)):
            self.counters["events_looped"] += 1
            self.complain("loop", f"{event.name} came back by way of {neighbour}: the links form a loop; it is dropped")
            return
        self.events_in += 1
        if self.core.is_locked or self.core.table.kept or self.record is not None:
            message = Gray(event, self._exchanges.get(exchange, "?")) if exchange else event
            self._pass_on(Received(neighbour, message), event, data[begin:end])
        else:
            self._relay(self.core.route(neighbour, event), event, data[begin:end])

    def event_from_client(self, event: Event, frame: bytes) -> None:
        self.events_in += 1
        if self.witness is not None:
            self.witness.publication(self.now_ns(), event)
        core = self.core
        if core.is_locked or core.table.kept or not core.is_member() or self.record is not None:
            self._pass_on(ClientPublished(event), event, frame)
        else:
            self._relay(self.core.route("", event), event, frame)

    def _pass_on(self, given: Input, event: Event, frame: bytes) -> None:
        """The long way: while there are two trees, or none yet, or while inputs are recorded."""
        self._event, self._frame = event, frame
        if frame[FLAGS_AT]:
            self._flags[event.publisher, event.sequence] = frame[FLAGS_AT] & FLAGS
        self.give(given)
        self._event = None

    def _has_passed(self, passed: bytes) -> bool:
        return any(passed[at : at + NUMBER_BYTES] == self.number for at in range(0, len(passed), NUMBER_BYTES))

    # --- effects

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Forward():
                self._forward(effect)
            case Send():
                self._send(effect)
            case SendDirect():
                self._send_direct(effect)
            case SetTimer():
                self._set_timer(effect.name, effect.after_ns)
            case CancelTimer():
                self._cancel_timer(effect.name)
            case OpenLink():
                self.links.open(effect.neighbour, effect.exchange)
            case CloseLink():
                self.links.close(effect.neighbour, effect.reason, for_good=bool(effect.exchange))
            case ExchangeEnded():
                self.operators.exchange_ended(effect.exchange, effect.outcome)
                if self.witness is not None:
                    self.witness.exchange_ended(self.now_ns(), effect.exchange, effect.outcome)
            case LeaveAnswered():
                self.operators.leave_answered(effect.reason)
            case TellInForce():
                self.guests.in_force(effect.client, effect.filter)
            case Refuse():
                self.guests.denied(effect.client, effect.reason)
            case Released():
                self.counters[f"held_back_{effect.queue}s"] += effect.count
                self.counters[f"held_back_{effect.queue}s_ns"] += effect.waited_ns
            case PeerMisbehaved():
                self.misbehaved(effect.neighbour, effect.reason)
            case HandedOff():
                self.moving.handed_off(effect)
            case Keep():
                self.moving.keep(effect.client, effect.event, self._frame if effect.event is self._event else b"")
            case Dismiss():
                self.loop.call_soon(self.moving.dismiss, effect.client)
            case Departed():
                self.moving.departed(effect)
            case _:
                assert_never(effect)

    def _forward(self, effect: Forward) -> None:
        event = effect.event
        if event is self._event:
            frame = self._frame
        else:
            flags = self._flags.get((event.publisher, event.sequence), 0)
            frame = event_frame(event.publisher, event.sequence, event.attributes, event.payload, flags)
        self._relay(effect, event, frame)
        if effect.gray:
            number = exchange_number(effect.exchange).to_bytes(PASSED_AT - EXCHANGE_AT, "big")
            stamped = self._stamped(frame, number)
            if frame[FLAGS_AT] & FLAG_ACKNOWLEDGE:
                self.returning.relay(effect.gray, event, stamped)
            else:
                for neighbour in effect.gray:
                    self.links.up[neighbour].relay(stamped)
            self.events_out += len(effect.gray)
            if self.witness is not None:
                self.witness.passed_on(self.now_ns(), event, len(frame), effect.gray, ())

    def _relay(self, route: Route | Forward, event: Event, frame: bytes) -> None:
        neighbours, clients = route.neighbours, route.clients
        if not neighbours and not clients:
            return
        stamped = self._stamped(frame, _NO_EXCHANGE)
        if neighbours:
            self.events_out += len(neighbours)
            if frame[FLAGS_AT] & FLAG_ACKNOWLEDGE:
                self.returning.relay(neighbours, event, stamped)
            else:
                links = self.links.up
                for neighbour in neighbours:
                    links[neighbour].relay(stamped)
        if clients:
            if frame[FLAGS_AT] & FLAG_AGAIN:
                clients = self.guests.without_who_has(clients, event)
            self.deliveries += len(clients)
            self.guests.deliver(clients, stamped, event)
        if self.witness is not None:
            self.witness.passed_on(self.now_ns(), event, len(frame), neighbours, clients)

    def _stamped(self, frame: bytes, exchange: bytes) -> bytes:
        """The frame as we pass it on."""
        hops = frame[HOPS_AT]
        at = PASSED_AT + NUMBER_BYTES * (hops % PASSED_MAX)
        return b"".join(
            (
                frame[:HOPS_AT],
                _HOPS[hops],
                exchange,
                frame[PASSED_AT:at],
                self.number,
                frame[at + NUMBER_BYTES :],
            )
        )

    def _send(self, effect: Send) -> None:
        message = effect.message
        counters = self.counters
        if isinstance(message, Lock):
            self.hear_of(message.exchange)
        link = self.links.up.get(effect.neighbour)
        if link is None:
            return  # it has ended, and the core will be told
        counters[f"control_{type(message).__name__.lower()}"] += 1
        size = link.say(message)
        counters["control_bytes"] += size
        if self.witness is not None:
            self.witness.control(self.now_ns(), effect.neighbour, message, size)
        counters["control_filters"] += filters_named(message)

    def _send_direct(self, effect: SendDirect) -> None:
        message = effect.message
        self.counters[f"control_{type(message).__name__.lower()}"] += 1
        self.counters["control_filters"] += filters_named(message)
        send = partial(self.links.send_direct, effect.broker, message)
        if isinstance(message, Settled) and self.sessions is not None:
            self.sessions.keeper.when_written(send)  # what has been handed over is ours when the old broker hears so
        else:
            send()

    def hear_of(self, exchange: str) -> None:
        """Events of this exchange may come, with its number in front."""
        while len(self._exchanges) >= EXCHANGES_KNOWN_MAX:
            del self._exchanges[next(iter(self._exchanges))]
        self._exchanges[exchange_number(exchange)] = exchange

    def order_exchange(self, order: ExchangeOrdered) -> None:
        self.hear_of(order.exchange)
        if self.witness is not None:
            self.witness.exchange_ordered(self.now_ns(), order.exchange, order.cycle, order.near)
        self.give(order)

    def note_link(self, neighbour: str, *, up: bool) -> None:
        if self.witness is not None:
            self.witness.link(self.now_ns(), neighbour, up=up)

    def note_subscription(self, kind: SubscriptionStep, client: str, filter: str) -> None:
        if self.witness is not None:
            self.witness.subscription(self.now_ns(), kind, client, filter)

    # --- timers

    def _set_timer(self, name: str, after_ns: int) -> None:
        self._cancel_timer(name)
        self._timers[name] = self.loop.call_later(after_ns / SECOND_NS, self._fire, name, self.now_ns() + after_ns)

    def _cancel_timer(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _fire(self, name: str, due_ns: int) -> None:
        early_ns = due_ns - self.now_ns()
        if early_ns > 0:  # the loop's clock is coarser than ours
            self._timers[name] = self.loop.call_later(early_ns / SECOND_NS, self._fire, name, due_ns)
            return
        del self._timers[name]
        self.give(TimerFired(name))

    # --- what it says of itself

    def all_counters(self) -> dict[str, int]:
        return {
            **self.counters,
            "events_in": self.events_in,
            "events_out": self.events_out,
            "deliveries": self.deliveries,
        }

    # --- what goes wrong

    def misbehaved(self, who: str, reason: str) -> None:
        self.counters["refused"] += 1
        self.complain(f"refused {who}", f"{who}: {reason}")

    def complain(self, what: str, text: str) -> None:
        """One line in the log, at most once a second for one cause."""
        now_ns = self.now_ns()
        if now_ns - self._said_ns.get(what, 0) >= SECOND_NS:
            if len(self._said_ns) > EXCHANGES_KNOWN_MAX:
                self._said_ns.clear()
            self._said_ns[what] = now_ns
            log.warning("%s", text)

"""Clients of a live broker: what they ask for, what they publish, and what they get.

A client is known by its name; an `instance` that its process has drawn tells the same client, back after a break, from
another that has taken its name. The first replaces its old connection, the second is refused.

A publisher numbers its events. The broker takes each number once, in rising order, and remembers the last of each
publisher, so that what a client sends again after a break is not published twice. It remembers so many publishers and
forgets the one that was heard of least lately.

A client that goes takes its subscriptions with it, unless it is durable: then its session stays (`sessions.py`), and
takes what its connection would.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from regraft.broker.catalogue import parse_filter
from regraft.broker.inputs import ClientArrived, ClientDetached, ClientSubscribed, ClientUnsubscribed
from regraft.errors import FilterError
from regraft.model.events import Event
from regraft.net.connection import Line
from regraft.net.sessions import Session
from regraft.net.settling import Source
from regraft.net.talk import (
    Arrived,
    Ask,
    Cease,
    ClientHello,
    ClientWelcome,
    Denied,
    Forget,
    Got,
    Granted,
    InForce,
    Lost,
    Ping,
    Pong,
    Taken,
    from_client,
)
from regraft.net.wire import (
    EVENT_HEADER_BYTES,
    FLAG_ACKNOWLEDGE,
    FLAGS,
    FLAGS_AT,
    HOPS_AT,
    WireError,
    decode_control,
    decode_event,
)

if TYPE_CHECKING:
    from regraft.net.host import Host

SubscriptionStep = Literal["subscribe", "in_force", "unsubscribe"]

_UNTRAVELLED = bytes(EVENT_HEADER_BYTES - HOPS_AT)


class Publisher:
    """What is known of a client's events, also between two connections. `last` is the last that was taken since this
    broker began, `guest` the connection that is there."""

    def __init__(self) -> None:
        self.last = 0
        self.source = Source(self._settled)
        self.guest: Guest | None = None

    def _settled(self, sequence: int) -> None:
        if self.guest is not None:
            self.guest.line.say(Taken(sequence))


class Guest:
    """One client's connection."""

    def __init__(
        self, host: "Host", line: Line, hello: ClientHello, publisher: Publisher, session: Session | None
    ) -> None:
        self.name = hello.name
        self.instance = hello.instance
        self.line = line
        self.publisher = publisher
        self.session = session
        self.lost = 0  # events that it did not take, of which it has not been told
        self.filters = session.filters if session is not None else {}
        self.awaited: dict[str, list[int]] = {}  # filters that are not in force yet, and who waits for that
        self._host = host
        self._loses = host.settings.when_slow == "lose"

    # --- frames that come

    def event(self, data: bytes, begin: int, end: int) -> None:
        event = decode_event(data[begin + EVENT_HEADER_BYTES : end])
        if event.publisher != self.name:
            raise WireError(f"{self.name} publishes in the name of {event.publisher!r}")
        flags = data[begin + FLAGS_AT]
        if flags & ~FLAGS or data[begin + HOPS_AT : begin + EVENT_HEADER_BYTES] != _UNTRAVELLED:
            raise WireError("an event that comes from its publisher has not travelled yet")
        if self.name in self._host.moving.arriving:
            raise WireError(f"{self.name} publishes before it has arrived")
        publisher = self.publisher
        if event.sequence <= publisher.last:
            self._sent_again(event, flags)
            return
        publisher.last = event.sequence
        if flags & FLAG_ACKNOWLEDGE:
            self._acknowledged(event, data[begin:end])
        else:
            self._host.event_from_client(event, data[begin:end])

    def _sent_again(self, event: Event, flags: int) -> None:
        self._host.counters["events_sent_again"] += 1
        settled = self.publisher.source.settled
        if flags & FLAG_ACKNOWLEDGE and event.sequence <= settled:
            self.line.say(Taken(settled))

    def _acknowledged(self, event: Event, frame: bytes) -> None:
        source, limits = self.publisher.source, self._host.settings.limits
        if source.unsettled >= limits.unacknowledged_max or source.unsettled_bytes >= limits.unacknowledged_bytes_max:
            raise WireError(f"{self.name} does not wait for what is to be acknowledged")
        self._host.returning.take(source, event.sequence, "", event, frame)

    def control(self, body: bytes) -> None:
        message: Any = decode_control(from_client, body)
        session = self.session
        if session is not None and session.ended:
            return
        match message:
            case Ask():
                self._ask(message)
            case Cease():
                self._cease(message)
            case Got():
                self._own_session().got(message.number)
            case Forget():
                self._forget(self._own_session(), message)
            case Ping():
                self.line.say(Pong(message.serial))

    def _ask(self, ask: Ask) -> None:
        try:
            text = parse_filter(ask.filter).text
        except FilterError as error:
            self._host.counters["filters_refused"] += 1
            self.line.say(Denied(ask.serial, str(error)))
            return
        most = self._host.settings.limits.subscriptions_per_client_max
        if text not in self.filters and len(self.filters) >= most:
            self.line.say(Denied(ask.serial, f"a client may have {most} subscriptions"))
            return
        denied = self._host.guests.asked(self, ClientSubscribed(self.name, text, ask.confirm))
        if denied:
            self.line.say(Denied(ask.serial, denied))
            return
        if text not in self.filters:
            self._host.note_subscription("subscribe", self.name, text)
            if self.session is not None:
                self.session.subscribed(text, True)
        self.filters[text] = None
        self.say_when_kept(Granted(ask.serial))
        if ask.confirm:
            self.awaited.setdefault(text, []).append(ask.serial)
            self._host.guests.tell_of_those_in_force()

    def _cease(self, cease: Cease) -> None:
        try:
            text = parse_filter(cease.filter).text
        except FilterError as error:
            self.line.say(Denied(cease.serial, str(error)))
            return
        denied = self._host.guests.asked(self, ClientUnsubscribed(self.name, text))
        if not denied:
            self._host.note_subscription("unsubscribe", self.name, text)
            self.filters.pop(text, None)
            if self.session is not None:
                self.session.subscribed(text, False)
            for serial in self.awaited.pop(text, ()):
                self.line.say(Denied(serial, "unsubscribed before it was in force"))
        self.say_when_kept(Denied(cease.serial, denied) if denied else Granted(cease.serial))

    def _own_session(self) -> Session:
        if self.session is None:
            raise WireError(f"{self.name} has no session")
        return self.session

    def _forget(self, session: Session, forget: Forget) -> None:
        session.end()
        self.say_when_kept(Granted(forget.serial))
        session.when_written(partial(self.line.close, "its session has ended"))

    def say_when_kept(self, answer: Granted | InForce | Denied | Arrived) -> None:
        """What a durable client has been told must be true of its session after a kill."""
        if self.session is None:
            self.line.say(answer)
        else:
            self.session.when_written(partial(self._say, answer))

    def _say(self, answer: Granted | InForce | Denied | Arrived) -> None:
        self.line.say(answer)

    def ended(self, reason: str) -> None:
        self._host.guests.gone(self, reason)

    # --- frames that go

    def has(self, event: Event) -> bool:
        return False

    def deliver(self, frame: bytes, event: Event) -> None:
        if self._loses and self.line.choked_ns:
            self.lost += 1
            self._host.counters["events_lost_by_slow_clients"] += 1
            return
        if self.lost:
            self.tell_lost()
        self.line.send(frame)

    def tell_lost(self) -> None:
        if self.lost and not self.line.choked_ns:
            self.line.say(Lost(self.lost))
            self.lost = 0


class Guests:
    def __init__(self, host: "Host") -> None:
        self.present: dict[str, Guest] = {}
        self.recipients: dict[str, Guest | Session] = {}  # of events: who is present, and every session
        self._host = host
        self._publishers: dict[str, Publisher] = {}  # that have gone, the one that went last at the end
        self._denied = ""  # why the core refuses what is being asked
        self._in_force: list[tuple[str, str]] = []  # told by the core while a client was asking

    def arrive(self, line: Line, hello: ClientHello) -> None:
        host, limits = self._host, self._host.settings.limits
        there = self.present.get(hello.name)
        if there is not None and there.instance != hello.instance:
            line.refuse(f"a client named {hello.name} is connected already; choose another name")
            host.misbehaved(line.address, f"the name {hello.name} is taken")
            return
        if there is not None:
            self.gone(there, "it is back on another connection")
            there.line.abort("it is back on another connection")
        if len(self.present) >= limits.clients_max:
            line.refuse(f"this broker has {limits.clients_max} clients, and takes no more")
            return
        sessions = host.sessions
        if hello.durable and sessions is None:
            line.refuse(f"{host.name} keeps no sessions: its configuration has no `state`")
            return
        if not hello.durable and sessions is not None and hello.name in sessions.by_name:
            line.refuse(f"there is a session of the name {hello.name}; connect as durable, or by another name")
            return
        if hello.durable and sessions is not None and sessions.is_full_for(hello.name):
            line.refuse(f"this broker keeps {host.settings.sessions.sessions_max} sessions, and no more")
            return
        reason = host.moving.refusal_of(hello)
        if reason:
            line.refuse(reason)
            host.misbehaved(line.address, reason)
            return
        session: Session | None = None
        if sessions is not None and hello.durable:
            session = host.moving.session_of(hello) if hello.previous else sessions.of(hello)
        publisher = self._publishers.pop(hello.name, None) or Publisher()
        guest = publisher.guest = self.present[hello.name] = Guest(host, line, hello, publisher, session)
        line.slows = host.settings.when_slow == "slow"
        line.become(guest, limits.frame_bytes_max)
        known = max(publisher.last, sessions.last_sequence(hello.name) if sessions is not None else 0)
        if session is None:
            self.recipients[hello.name] = guest
            line.say(ClientWelcome(host.name, known, limits.frame_bytes_max))
        else:
            line.say(ClientWelcome(host.name, known, limits.frame_bytes_max, session.id, tuple(session.filters)))
            session.came(guest, hello.received if hello.session == session.id else 0)
            if hello.previous:
                denied = host.moving.arrived(guest, hello)
                if denied:
                    line.refuse(denied)

    def gone(self, guest: Guest, reason: str) -> None:
        if self.present.get(guest.name) is not guest:
            return
        del self.present[guest.name]
        publisher = guest.publisher
        publisher.guest = None
        if publisher.last:
            self._publishers[guest.name] = publisher
            if len(self._publishers) > self._host.settings.limits.publishers_max:
                del self._publishers[next(iter(self._publishers))]
            if self._host.sessions is not None:
                self._host.sessions.published(guest.name, publisher.last)
        if guest.session is not None:
            guest.session.left()
            self._host.moving.left(guest.name)
            return
        del self.recipients[guest.name]
        for text in guest.filters:
            self._host.note_subscription("unsubscribe", guest.name, text)
        if guest.filters:
            self._host.give(ClientDetached(guest.name))

    def asked(self, guest: Guest, given: ClientSubscribed | ClientUnsubscribed | ClientArrived) -> str:
        """Ask the core; returns why it refuses, or nothing."""
        self._denied = ""
        self._host.give(given)
        return self._denied

    def denied(self, client: str, reason: str) -> None:
        self._denied = reason

    def in_force(self, client: str, filter: str) -> None:
        self._host.note_subscription("in_force", client, filter)
        self._in_force.append((client, filter))
        self._host.loop.call_soon(self.tell_of_those_in_force)

    def tell_of_those_in_force(self) -> None:
        told, self._in_force = self._in_force, []
        for client, filter in told:
            guest = self.present.get(client)
            if guest is not None:
                for serial in guest.awaited.pop(filter, ()):
                    guest.say_when_kept(InForce(serial))

    def deliver(self, clients: tuple[str, ...], frame: bytes, event: Event) -> None:
        recipients = self.recipients
        for client in clients:
            recipients[client].deliver(frame, event)

    def without_who_has(self, clients: tuple[str, ...], event: Event) -> tuple[str, ...]:
        """Those to whom an event that may come again is to be delivered; a client that is not durable knows itself."""
        recipients = self.recipients
        return tuple(client for client in clients if not recipients[client].has(event))

    def look(self) -> None:
        """To be called now and then."""
        sessions = self._host.sessions
        for guest in self.present.values():
            guest.tell_lost()
            if sessions is not None and guest.publisher.last:
                sessions.published(guest.name, guest.publisher.last)
        if sessions is not None:
            sessions.look()

"""Clients of a live broker: what they ask for, what they publish, and what they get.

A client is known by its name; an `instance` that its process has drawn tells the same client, back after a break, from
another that has taken its name. The first replaces its old connection, the second is refused.

A publisher numbers its events. The broker takes each number once, in rising order, and remembers the last of each
publisher, so that what a client sends again after a break is not published twice. It remembers so many publishers and
forgets the one that was heard of least lately.

A client that goes takes its subscriptions with it: a session that outlives its connection would be kept here, by a
`Guest` that stays and whose `deliver` stores what it cannot send.
"""

from typing import TYPE_CHECKING, Any, Literal

from regraft.broker.catalogue import parse_filter
from regraft.broker.inputs import ClientDetached, ClientSubscribed, ClientUnsubscribed
from regraft.errors import FilterError
from regraft.net.connection import Line
from regraft.net.talk import (
    Ask,
    Cease,
    ClientHello,
    ClientWelcome,
    Denied,
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


class Guest:
    """One client's connection."""

    def __init__(self, host: "Host", line: Line, hello: ClientHello, last_sequence: int) -> None:
        self.name = hello.name
        self.instance = hello.instance
        self.line = line
        self.last_sequence = last_sequence
        self.lost = 0  # events that it did not take, of which it has not been told
        self.filters: dict[str, None] = {}
        self.awaited: dict[str, list[int]] = {}  # filters that are not in force yet, and who waits for that
        self._host = host
        self._loses = host.settings.when_slow == "lose"
        self._taken = 0  # the number to acknowledge at the end of this turn

    # --- frames that come

    def event(self, data: bytes, begin: int, end: int) -> None:
        event = decode_event(data[begin + EVENT_HEADER_BYTES : end])
        if event.publisher != self.name:
            raise WireError(f"{self.name} publishes in the name of {event.publisher!r}")
        flags = data[begin + FLAGS_AT]
        if flags & ~FLAGS or data[begin + HOPS_AT : begin + EVENT_HEADER_BYTES] != _UNTRAVELLED:
            raise WireError("an event that comes from its publisher has not travelled yet")
        if event.sequence > self.last_sequence:
            self.last_sequence = event.sequence
            self._host.event_from_client(event, data[begin:end])
        else:
            self._host.counters["events_sent_again"] += 1
        if flags & FLAG_ACKNOWLEDGE:
            if not self._taken:
                self._host.loop.call_soon(self._acknowledge)
            self._taken = self.last_sequence

    def _acknowledge(self) -> None:
        self.line.say(Taken(self._taken))
        self._taken = 0

    def control(self, body: bytes) -> None:
        message: Any = decode_control(from_client, body)
        match message:
            case Ask():
                self._ask(message)
            case Cease():
                self._cease(message)
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
        self.filters[text] = None
        self.line.say(Granted(ask.serial))
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
            for serial in self.awaited.pop(text, ()):
                self.line.say(Denied(serial, "unsubscribed before it was in force"))
        self.line.say(Denied(cease.serial, denied) if denied else Granted(cease.serial))

    def ended(self, reason: str) -> None:
        self._host.guests.gone(self, reason)

    # --- frames that go

    def deliver(self, frame: bytes) -> None:
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
        self._host = host
        self._sequences: dict[str, int] = {}  # of publishers that have gone, the one that went last at the end
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
        last = self._sequences.pop(hello.name, 0)
        guest = self.present[hello.name] = Guest(host, line, hello, last)
        line.slows = host.settings.when_slow == "slow"
        line.become(guest, limits.frame_bytes_max)
        line.say(ClientWelcome(host.name, last, limits.frame_bytes_max))

    def gone(self, guest: Guest, reason: str) -> None:
        if self.present.get(guest.name) is not guest:
            return
        del self.present[guest.name]
        self._sequences[guest.name] = guest.last_sequence
        if len(self._sequences) > self._host.settings.limits.publishers_max:
            del self._sequences[next(iter(self._sequences))]
        for text in guest.filters:
            self._host.note_subscription("unsubscribe", guest.name, text)
        if guest.filters:
            self._host.give(ClientDetached(guest.name))

    def asked(self, guest: Guest, given: ClientSubscribed | ClientUnsubscribed) -> str:
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
                    guest.line.say(InForce(serial))

    def deliver(self, clients: tuple[str, ...], frame: bytes) -> None:
        present = self.present
        for client in clients:
            present[client].deliver(frame)

    def look(self) -> None:
        """To be called now and then."""
        for guest in self.present.values():
            guest.tell_lost()

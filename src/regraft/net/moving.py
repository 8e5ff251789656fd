"""Durable clients that move from one broker to another, and take along what they are owed.

The brain hands over (`broker/mobility/`); here is what it needs of a live broker. A durable client says where it may
have stayed last, and how these brokers are reached. Until it has arrived its session here is on no disk: if this broker
is killed meanwhile, the client comes again, and everything is still at the old one. When it has arrived, the session
begins with what has been handed over, in one batch, and the old broker is told that all is settled when that is on the
disk.

The old broker's session keeps what comes until then: what is on the disk when the client is claimed is given to the
brain (`ClientAway`), and what comes later is kept in both places (`Keep`). A client that comes back gets from the disk
what is there, and nothing of it a second time from the brain.

What is handed over is marked as perhaps delivered before: the old broker cannot know what its client has got and not
acknowledged. The client's process knows (`durable.py`).

Left out: clients that are not durable do not move; who claims one is not answered.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING

from regraft.broker.catalogue import parse_filter
from regraft.broker.effects import Departed, HandedOff
from regraft.broker.inputs import ClientArrived, ClientAway
from regraft.errors import FilterError, UsageError
from regraft.model.events import Event
from regraft.net.sessions import Session
from regraft.net.settings import split_link_address
from regraft.net.talk import Arrived, ClientHello
from regraft.net.wire import EVENT_HEADER_BYTES, decode_event, event_frame

if TYPE_CHECKING:
    from regraft.net.guests import Guest
    from regraft.net.host import Host

log = logging.getLogger("regraft")


class Moving:
    """`arriving` are the clients that have come and are not handed over yet, by the number of their arrival."""

    def __init__(self, host: "Host") -> None:
        self.arriving: dict[str, int] = {}
        self._host = host
        self._leaving: dict[str, list[Event]] = {}  # claimed; what came since its session was read
        self._kept: dict[str, set[str]] = {}  # client -> the events that the brain and the disk both have

    # --- here

    def refusal_of(self, hello: ClientHello) -> str:
        """Why a client that says it comes from elsewhere is not welcome, or nothing."""
        if not hello.previous:
            return ""
        if not hello.durable:
            return "only a durable client moves from one broker to another"
        if len(hello.filters) > self._host.settings.limits.subscriptions_per_client_max:
            return f"a client may have {self._host.settings.limits.subscriptions_per_client_max} subscriptions"
        try:
            for _, address in hello.previous:
                split_link_address(address)
            for text in hello.filters:
                parse_filter(text)
        except (FilterError, UsageError) as error:
            return str(error)
        return ""

    def session_of(self, hello: ClientHello) -> Session:
        """The session of a client that comes from elsewhere, or may have been elsewhere meanwhile."""
        sessions = self._host.sessions
        assert sessions is not None
        session = sessions.by_name.get(hello.name)
        if session is not None and self._host.name not in (name for name, _ in hello.previous):
            session.end()  # it has been handed over to another since, and that did not reach us
            session = None
        if session is None:
            session = sessions.prepare(hello.name)
        for name, address in hello.previous:
            if name != self._host.name:
                self._host.links.introduce(name, address)
        filters = dict.fromkeys(parse_filter(text).text for text in hello.filters)
        for text in session.filters:
            if text not in filters:
                session.subscribed(text, False)
        for text in filters:
            session.subscribed(text, True)
        session.filters = filters
        return session

    def arrived(self, guest: "Guest", hello: ClientHello) -> str:
        """Its connection is there. Returns why it may not stay, or nothing."""
        self.arriving[hello.name] = hello.move
        self._leaving.pop(hello.name, None)
        previous = tuple(name for name, _ in hello.previous)
        self._host.counters["clients_arrived"] += 1
        return self._host.guests.asked(guest, ClientArrived(hello.name, hello.move, previous, tuple(guest.filters)))

    def left(self, client: str) -> None:
        """Its connection is gone; if it had not arrived, all that it is owed is where it was before."""
        if self.arriving.pop(client, None) is not None:
            self._host.give(ClientAway(client))

    def handed_off(self, effect: HandedOff) -> None:
        """What it is owed is delivered next."""
        if self.arriving.get(effect.client) != effect.move:
            return
        del self.arriving[effect.client]
        session = self._session(effect.client)
        if session is None:
            return
        session.begin()
        session.handed = self._kept.pop(effect.client, set())
        self._host.loop.call_soon(self._is_whole, session)
        if effect.outcome != "whole" or effect.dropped:
            self._host.counters["hand_offs_not_whole"] += 1
            log.warning(
                "%s has come from elsewhere: %s, %d events dropped", effect.client, effect.outcome, effect.dropped
            )
        if session.guest is not None:
            session.guest.say_when_kept(Arrived(effect.move, effect.outcome, effect.dropped))

    def _is_whole(self, session: Session) -> None:
        session.handed = None

    # --- elsewhere

    def dismiss(self, client: str) -> None:
        """It is claimed by another broker. What its session holds is read, and then given to the brain."""
        session = self._session(client)
        if session is None or client in self._leaving or client in self.arriving:
            return
        self._leaving[client] = []
        if session.guest is not None:
            session.guest.line.refuse(f"{client} has arrived at another broker")
        session.read_all(partial(self._away, client, session))

    def _away(self, client: str, session: Session, frames: list[bytes]) -> None:
        since = self._leaving.pop(client, None)
        if since is None or self._session(client) is not session:
            return
        events = [*(decode_event(frame[EVENT_HEADER_BYTES:]) for frame in frames), *since]
        self._kept[client] = {event.name for event in events}
        self._host.give(ClientAway(client, tuple(events)))

    def delivered(self, client: str, event: Event) -> None:
        """To a session, in whatever way."""
        since = self._leaving.get(client)
        if since is not None:
            since.append(event)

    def keep(self, client: str, event: Event, frame: bytes) -> None:
        """The brain keeps it for a client that is away."""
        session = self._session(client)
        if session is not None and not session.ended:
            self._kept.setdefault(client, set()).add(event.name)
            frame = frame or event_frame(event.publisher, event.sequence, event.attributes, event.payload)
            session.deliver(frame, event)

    def departed(self, effect: Departed) -> None:
        client = effect.client
        self._kept.pop(client, None)
        self._leaving.pop(client, None)
        self.arriving.pop(client, None)
        session = self._session(client)
        if session is not None:
            if session.guest is not None:
                session.guest.line.refuse(f"{client} has arrived at another broker")
            session.end(departed=True)

    def _session(self, client: str) -> Session | None:
        sessions = self._host.sessions
        return None if sessions is None else sessions.by_name.get(client)

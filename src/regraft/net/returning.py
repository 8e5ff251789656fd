"""Neighbours that were lost and may return: acknowledged events wait for them.

A broker that has lost a neighbour forgets the way to all who are behind it, and the neighbour, when it is back, knows
nobody yet. An event that was routed meanwhile would reach some and not others, and be settled. So events that are to be
acknowledged (`settling.py`) are **held** while the network is not whole as far as this broker knows, and routed when it
is, in order; their publishers wait. Events that nobody wants acknowledged are not held: they go where there is a way.

A broker is not whole while a neighbour is *missing*: it was lost (or this broker has just been started, and it was
linked before) and is not back; or it is back, and says that it is not whole itself. Each broker tells each neighbour
whether it is whole apart from that one, with its beacons and at once when it changes. As links are FIFO and a broker
says so behind what it has told its neighbour, whoever hears that the other is whole has heard of all subscriptions
behind it. On a tree nobody waits in a circle.

Only who has been whole is waited for when it is lost. A neighbour that does not come back, or is not whole, within
`returns_within_s` is not waited for any more: what it has not settled may be lost (one line, a counter), and what is
held goes on without it. One whose link has ended for good is not missing. Where links form a loop by mistake, each
waits for the next, for as long, and what is acknowledged may wait until the loop is mended.

Left out: a plain event may overtake one that is held, also of its own publisher. What is held when links are exchanged
at the same time goes by the tree that there is when it is let go.
"""

import logging
from collections import deque
from typing import TYPE_CHECKING

from regraft.model.events import Event
from regraft.net.settling import Outbox, Source
from regraft.net.wire import EVENT_HEADER_BYTES, decode_event

if TYPE_CHECKING:
    from regraft.net.host import Host
    from regraft.net.link import Link

SECOND_NS = 1_000_000_000
LET_GO_AT_ONCE = 500

log = logging.getLogger("regraft")


class Returning:
    """`missing` are neighbours that are waited for, since when."""

    def __init__(self, host: "Host") -> None:
        self.missing: dict[str, int] = {}
        self.outboxes: dict[str, Outbox] = {}
        self._host = host
        self._held: deque[tuple[Source, int, str, bytes]] = deque()

    @property
    def held(self) -> int:
        return len(self._held)

    # --- neighbours

    def expect(self, name: str) -> None:
        """It is waited for. Our neighbours hear of it before what follows from it."""
        if name not in self.missing:
            self.missing[name] = self._host.now_ns()
            self.tell()

    def forget(self, name: str) -> None:
        """Its link has ended for good."""
        self._give_up(name, "the link has ended for good")
        self.outboxes.pop(name, None)
        if self.missing.pop(name, None) is not None:
            self.changed()

    def came_up(self, link: "Link") -> None:
        if not link.line.reliable:
            self.outboxes.pop(link.name, None)
        elif link.exchange:
            self._begin(link)
        if link.exchange:
            link.is_whole = True  # it is of no tree yet; the exchange sees to it that nothing is lost
        else:
            self.expect(link.name)

    def lost(self, name: str) -> None:
        outbox = self.outboxes.get(name)
        if outbox is not None:
            outbox.send = None
        self.expect(name)

    def heard(self, link: "Link", is_whole: bool) -> None:
        """What a beacon says."""
        if link.is_whole == is_whole:
            return
        link.is_whole = is_whole
        if not is_whole:
            self.expect(link.name)
            return
        self._host.links.is_neighbour(link.name)
        if link.line.reliable and self.outbox(link.name).send is None:
            self._begin(link)
        if self.missing.pop(link.name, None) is not None:
            self.changed()

    def settled(self, link: "Link", events: int) -> None:
        self.outbox(link.name).settled_by(events)
        link.leave_if_settled()

    def unsettled(self, name: str) -> int:
        """How many events that neighbour has not settled."""
        return len(self.outboxes.get(name, ()))

    def whole_but_for(self, name: str) -> bool:
        """Whether we are, apart from that one."""
        return not self.missing or (len(self.missing) == 1 and name in self.missing)

    def _begin(self, link: "Link") -> None:
        self.outbox(link.name).begin(link.relay)

    def outbox(self, name: str) -> Outbox:
        """Of what that neighbour has not settled."""
        outbox = self.outboxes.get(name)
        if outbox is None:
            outbox = self.outboxes[name] = Outbox()
        return outbox

    def look(self) -> None:
        """To be called now and then."""
        host = self._host
        deadline_ns = host.now_ns() - round(host.settings.sessions.returns_within_s * SECOND_NS)
        late = [name for name, since_ns in self.missing.items() if since_ns < deadline_ns]
        for name in late:
            del self.missing[name]
            link = host.links.up.get(name)
            if link is None:
                self._give_up(name, "it has not come back")
            elif link.line.reliable and self.outbox(name).send is None:
                self._begin(link)
        if late:
            log.warning("not waiting for %s any more", ", ".join(late))
            self.changed()

    def _give_up(self, name: str, reason: str) -> None:
        outbox = self.outboxes.get(name)
        count = outbox.give_up() if outbox is not None else 0
        if count:
            self._host.counters["events_not_settled"] += count
            log.warning("%d acknowledged events that %s has not settled may be lost: %s", count, name, reason)

    def changed(self) -> None:
        """Whether we are whole may have changed."""
        self._host.loop.call_soon(self.tell)

    def tell(self) -> None:
        host = self._host
        for link in list(host.links.up.values()):
            is_whole = self.whole_but_for(link.name)
            if link.said_whole != is_whole:
                link.beacon()
        self._let_go()

    # --- events

    def take(self, source: Source, number: int, neighbour: str, event: Event | None, frame: bytes) -> None:
        """An event that is to be acknowledged: route it, now or when we are whole."""
        source.took(len(frame))
        if self.missing or self._held:
            self._held.append((source, number, neighbour, frame))
        else:
            self._route(source, number, neighbour, event, frame)

    def _route(self, source: Source, number: int, neighbour: str, event: Event | None, frame: bytes) -> None:
        host = self._host
        if host.core.is_locked:
            host.settling.came_alone(source, number, event or decode_event(frame[EVENT_HEADER_BYTES:]))
        else:
            host.settling.came(source, number)
        if neighbour:
            host.event_from_link(neighbour, frame, 0, len(frame))
        else:
            host.event_from_client(event or decode_event(frame[EVENT_HEADER_BYTES:]), frame)

    def _let_go(self) -> None:
        """So many at a time: others have their turn, too."""
        for _ in range(LET_GO_AT_ONCE):
            if self.missing or not self._held:
                return
            source, number, neighbour, frame = self._held.popleft()
            self._route(source, number, neighbour, None, frame)
        self.changed()

    def relay(self, neighbours: tuple[str, ...], event: Event, frame: bytes) -> None:
        """Pass on an event that is to be acknowledged."""
        host = self._host
        for name in neighbours:
            outbox = self.outboxes.get(name)
            if outbox is None:
                host.links.up[name].relay(frame)  # over UDP events are sent once, and settled with that
            else:
                outbox.put(frame)
                host.settling.went(outbox, event)

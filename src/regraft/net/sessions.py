"""Durable sessions: what a client asked for, and what it is owed, outlive its connection, its process and the broker's.

A client that greets as `durable` has a session of its name. The session's subscriptions stand while the client is away,
and every event for it is kept in the journal (`store/`) until the client has acknowledged it. The client's process may
be another each time: a session belongs to whoever names it first while nobody else is connected under the name.

**Kept, then sent.** An event gets the next number of its session, is written, and only then sent. So a number that a
client has seen stands for one event for ever, also when the broker is killed, and the client knows by it what comes
again. What was sent on an earlier connection, or may have been before the broker was killed, is marked when it is sent
again. Each start of the broker begins with higher numbers, as a loss of power may have taken back the last ones.

**Once.** An event that its sender marks as perhaps sent before is not kept again where it, or a later one of its
publisher, is the last that was. Others are always kept: a publisher that has begun again at 1 loses nothing.

**Bounds.** A session keeps at most `events_max` events and `bytes_max` bytes; beyond, the oldest go, and the client is
told how many it was never sent. What is sent from memory to a client that keeps up has a bound, too; one that does not
is served from the disk, a page after the other, and slows nobody. A session that was not used for `expires_after_s` is
dropped with a line in the log.
"""

import logging
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from regraft.broker.inputs import ClientDetached, ClientSubscribed
from regraft.model.events import Event
from regraft.net.keeping import Keeper
from regraft.net.talk import ClientHello, Lost
from regraft.net.wire import (
    FLAG_ACKNOWLEDGE,
    FLAG_AGAIN,
    FLAGS_AT,
    HOPS_AT,
    NUMBER_AT,
    PASSED_AT,
    WireError,
    marked,
)
from regraft.store import Journal, Kept

if TYPE_CHECKING:
    from regraft.net.guests import Guest
    from regraft.net.host import Host

SECOND_NS = 1_000_000_000
PAGE_BYTES = 262_144
TAIL_BYTES_MAX = 1_048_576
PUBLISHERS_MAX = 10_000  # of a session, whose latest event is known
START_BITS = 20  # numbers begin anew with the next multiple of 2 to this
NUMBER_BYTES = PASSED_AT - NUMBER_AT
_AGAIN = bytes((FLAG_AGAIN,))

log = logging.getLogger("regraft")


class Session:
    """One client's. `guest` is its connection, while there is one; `sent` the last number that was sent on it.

    `begun` is whether it is on the disk: that of a client that has moved is not before it has arrived. While it is
    handed over, `handed` are the events that it has already.
    """

    def __init__(self, host: "Host", keeper: Keeper, kept: Kept, *, begun: bool = True) -> None:
        self.begun = begun
        self.handed: set[str] | None = None
        self.name = kept.name
        self.id = kept.id
        self.filters = dict.fromkeys(kept.filters)
        self.guest: Guest | None = None
        self.used_ns = kept.used_ns
        self.acknowledged = kept.acknowledged
        self.ended = False
        self.lost = kept.lost  # events that were dropped, of which it has not been told
        self._host = host
        self._keeper = keeper
        self._limits = host.settings.sessions
        self._latest = kept.latest
        self._sizes = deque(kept.sizes.items())
        self._bytes = sum(kept.sizes.values())
        self._last = self._sizes[-1][0] if self._sizes else kept.acknowledged
        self._next = ((self._last >> START_BITS) + 1 << START_BITS) + 1
        self._stored = self._last  # the last number that is on the disk
        # Batches that are not written yet, the last number in each, and how many events.
        self._storing: deque[tuple[int, int, int]] = deque()
        self.sent = self._offered = self._last  # and the last that may have been sent at all
        self._tail: deque[tuple[int, bytes]] = deque()  # what comes next behind `sent`
        self._tail_bytes = 0
        self._direct = False  # whether the tail reaches to the last
        self._paging = False

    @property
    def waiting(self) -> int:
        """How many events are on the disk."""
        return max(len(self._sizes) - sum(count for _, _, count in self._storing), 0)

    # --- what it is owed

    def has(self, event: Event) -> bool:
        """Whether one that may come again has been kept; what it waits for is noted."""
        if event.sequence > self._latest.get(event.publisher, 0):
            return False
        self._host.counters["events_kept_before"] += 1
        self._keeper.settles(event)
        return True

    def deliver(self, frame: bytes, event: Event) -> None:
        if self.handed is not None:
            if event.name in self.handed:
                return
            frame = marked(frame)
            self._latest[event.publisher] = event.sequence
        self._host.moving.delivered(self.name, event)
        batch = self._keeper.change()
        flags = frame[FLAGS_AT]
        if flags & FLAG_ACKNOWLEDGE:
            self._latest[event.publisher] = event.sequence
            batch.remember(self.id, event.publisher, event.sequence)
            if len(self._latest) > PUBLISHERS_MAX:
                oldest = next(iter(self._latest))
                del self._latest[oldest]
                batch.forget(self.id, oldest)
        number = self._last = self._next
        self._next += 1
        batch.keep(self.id, number, frame)
        if flags & FLAG_ACKNOWLEDGE:
            self._keeper.settles(event)
        self._sizes.append((number, len(frame)))
        self._bytes += len(frame)
        if self._direct:
            self._tail.append((number, frame))
            self._tail_bytes += len(frame)
            self._direct = self._tail_bytes <= TAIL_BYTES_MAX
        number_of_batch = self._keeper.number
        if not self._storing or self._storing[-1][0] != number_of_batch:
            self._storing.append((number_of_batch, number, 1))
            self._keeper.when_written(self._written)
        else:
            self._storing[-1] = number_of_batch, number, self._storing[-1][2] + 1
        if len(self._sizes) > self._limits.events_max or self._bytes > self._limits.bytes_max:
            self._drop_oldest()

    def _written(self) -> None:
        self._stored = self._storing.popleft()[1]
        self.pump()

    def _drop_oldest(self) -> None:
        sizes = self._sizes
        before = self.lost
        while sizes and (len(sizes) > self._limits.events_max or self._bytes > self._limits.bytes_max):
            number, size = sizes.popleft()
            self._bytes -= size
            self.lost += number > self.sent or self.guest is None
            self.acknowledged = number
        while self._tail and self._tail[0][0] <= self.acknowledged:
            self._tail_bytes -= len(self._tail.popleft()[1])
        self._host.counters["events_lost_by_full_sessions"] += self.lost - before
        self._keeper.change().acknowledged[self.id] = self.acknowledged, self.lost
        self._host.complain(f"full {self.name}", f"the session of {self.name} is full; its oldest events are dropped")

    def tell_lost(self) -> None:
        if self.lost and self.guest is not None and not self.guest.line.choked_ns:
            self.guest.line.say(Lost(self.lost))
            self.lost = 0
            self._keeper.change().acknowledged[self.id] = self.acknowledged, 0

    # --- its client

    def came(self, guest: "Guest", received: int) -> None:
        """The client is here, and has everything up to that number."""
        self.guest = guest
        self._offered = max(self._offered, self.sent)
        self.sent = max(received if received <= self._offered else 0, self.acknowledged)
        self._tail.clear()
        self._tail_bytes = 0
        self._direct = self.sent == self._last
        guest.line.slows = False
        guest.line.drained = self.pump
        self.tell_lost()
        self.pump()

    def left(self) -> None:
        self.guest = None
        self._tail.clear()
        self._tail_bytes = 0
        self._direct = False
        self.used_ns = time.time_ns()
        if self.begun:
            self._keeper.change().used[self.id] = self.used_ns

    def got(self, number: int) -> None:
        """The client has done with everything up to that number."""
        if number > self.sent:
            raise WireError(f"{self.name} acknowledges {number}, which it was not sent")
        if number <= self.acknowledged:
            return
        self.acknowledged = number
        sizes = self._sizes
        while sizes and sizes[0][0] <= number:
            self._bytes -= sizes.popleft()[1]
        self._keeper.change().acknowledged[self.id] = number, self.lost

    def subscribed(self, text: str, subscribed: bool) -> None:
        if self.begun:
            self._keeper.change().filters[self.id, text] = subscribed

    def when_written(self, done: Callable[[], None]) -> None:
        """Call it when all that has been changed so far is on the disk."""
        self._keeper.when_written(done)

    def begin(self) -> None:
        """From now on it is on the disk."""
        if not self.begun:
            self.begun = True
            self._keeper.change().began[self.id] = self.name, self.used_ns
            for text in self.filters:
                self.subscribed(text, True)

    def read_all(self, done: Callable[[list[bytes]], None]) -> None:
        """Call it with all that is owed by now."""
        keeper, last = self._keeper, self._last

        def answered(rows: list[tuple[int, bytes]]) -> None:
            done([frame for number, frame in rows if self.acknowledged < number <= last])

        def everything(journal: Journal) -> list[tuple[int, bytes]]:
            return journal.page(self.id, self.acknowledged, self._limits.bytes_max)

        keeper.when_written(lambda: keeper.ask(everything, answered))

    def end(self, *, departed: bool = False) -> None:
        """For good: its client has asked for it, has not come for too long, or has `departed`, which the core knows."""
        assert self._host.sessions is not None
        self.ended = True
        if self.begun:
            self._keeper.change().end(self.id)
        self._host.sessions.ended(self, departed)

    # --- what it is sent

    def pump(self) -> None:
        """Send what is on the disk and was not sent yet, as long as the client takes it."""
        guest = self.guest
        if guest is None or guest.line.choked_ns:
            return
        tail, line, size = self._tail, guest.line, 0
        while tail and tail[0][0] <= self._stored:
            if size > PAGE_BYTES:
                self._host.loop.call_soon(self.pump)  # the connection can tell by then whether it is choked
                return
            number, frame = tail.popleft()
            size += len(frame)
            flags = b"\0" if number > self._offered and not frame[FLAGS_AT] & FLAG_AGAIN else _AGAIN
            line.send(
                b"".join(
                    (
                        frame[:FLAGS_AT],
                        flags,
                        frame[HOPS_AT:NUMBER_AT],
                        number.to_bytes(NUMBER_BYTES, "big"),
                        frame[PASSED_AT:],
                    )
                )
            )
            self.sent = number
        self._tail_bytes -= size
        if not tail and not self._direct and not self._paging and self.sent < self._stored:
            self._paging = True
            after = self.sent
            self._keeper.ask(
                lambda journal: journal.page(self.id, after, PAGE_BYTES), lambda rows: self._paged(guest, rows)
            )

    def _paged(self, guest: "Guest", rows: list[tuple[int, bytes]]) -> None:
        self._paging = False
        if self.guest is guest:
            for number, frame in rows:
                if number > self.acknowledged:
                    self._tail.append((number, frame))
                    self._tail_bytes += len(frame)
            if not rows:
                self.sent = max(self.sent, self._stored)  # the rest has been dropped meanwhile
            self._direct = (rows[-1][0] if rows else self.sent) == self._last
        self.pump()


class Sessions:
    """Those of one broker. What the journal holds is read when the broker starts."""

    def __init__(self, host: "Host", folder: Path) -> None:
        journal = Journal(folder, host.name, host.settings.sessions.fsync)
        self.keeper = Keeper(host, journal)
        self.by_name: dict[str, Session] = {}
        self._host = host
        self._publishers = journal.publishers()
        self._synced_ns = time.time_ns()
        for kept in journal.sessions():
            kept.used_ns = self._synced_ns  # while the broker was away nobody could use it
            self.by_name[kept.name] = Session(host, self.keeper, kept)

    def start(self) -> None:
        """The core is told of every session before anybody can be reached."""
        for session in self.by_name.values():
            self._host.guests.recipients[session.name] = session
            for text in session.filters:
                self._host.give(ClientSubscribed(session.name, text))
        if self.by_name:
            events = sum(session.waiting for session in self.by_name.values())
            log.info("%d sessions are kept, %d events wait in them", len(self.by_name), events)

    def is_full_for(self, name: str) -> bool:
        return name not in self.by_name and len(self.by_name) >= self._host.settings.sessions.sessions_max

    def of(self, hello: ClientHello) -> Session:
        """The session of a client that comes, a new one if there is none."""
        session = self.by_name.get(hello.name)
        if session is None:
            session = self.prepare(hello.name)
            session.begin()
        return session

    def prepare(self, name: str) -> Session:
        """A new one, which is not on the disk yet."""
        kept = Kept(int.from_bytes(os.urandom(7), "big"), name, used_ns=time.time_ns())
        session = self.by_name[name] = Session(self._host, self.keeper, kept, begun=False)
        self._host.guests.recipients[name] = session
        return session

    def ended(self, session: Session, departed: bool) -> None:
        del self.by_name[session.name], self._host.guests.recipients[session.name]
        for text in session.filters:
            self._host.note_subscription("unsubscribe", session.name, text)
        if not departed:
            self._host.give(ClientDetached(session.name))

    def last_sequence(self, publisher: str) -> int:
        """Of an event of that publisher that this broker has ever had, as far as it knows."""
        return self._publishers.get(publisher, 0)

    def published(self, publisher: str, sequence: int) -> None:
        if self._publishers.pop(publisher, 0) != sequence:
            self.keeper.change().publishers[publisher] = sequence
        self._publishers[publisher] = sequence
        if len(self._publishers) > self._host.settings.limits.publishers_max:
            oldest = next(iter(self._publishers))
            del self._publishers[oldest]
            self.keeper.change().publishers[oldest] = 0

    def look(self) -> None:
        """To be called now and then."""
        now_ns, settings = time.time_ns(), self._host.settings.sessions
        for session in list(self.by_name.values()):
            session.tell_lost()
            if session.guest is None and now_ns - session.used_ns > settings.expires_after_s * SECOND_NS:
                log.warning(
                    "the session of %s was not used for %g s and is dropped, with %d events",
                    *(session.name, settings.expires_after_s, session.waiting),
                )
                self._host.counters["sessions_expired"] += 1
                session.end()
        if settings.fsync == "periodic" and now_ns - self._synced_ns >= settings.fsync_every_s * SECOND_NS:
            self._synced_ns = now_ns
            self.keeper.sync()

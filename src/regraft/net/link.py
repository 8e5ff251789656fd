"""One incarnation of a link, at this end: frames that come and go, signs of life, and whether the tables agree.

A link is lost when its connection ends, or when too many beacons fail to come: `missed` of the last `of`. Whatever
arrives counts as a beacon; while we do not read from it ourselves, silence means nothing.

A side that closes a link says `Bye` and reads on until the other side has closed, so that what was under way still
arrives.
"""

from typing import TYPE_CHECKING

from regraft.broker.inputs import Received, TablesDiffer
from regraft.broker.messages import Lock
from regraft.net.connection import CLOSE_AFTER_S, SECOND_NS, Line
from regraft.net.settling import Source
from regraft.net.talk import Beacon, Bye, Refused, Settled, from_broker
from regraft.net.wire import FLAG_ACKNOWLEDGE, FLAGS_AT, decode_control

if TYPE_CHECKING:
    import msgspec

    from regraft.net.host import Host

MENDED_MAX = 3


class Link:
    """One incarnation, at this end."""

    def __init__(self, host: "Host", line: Line, name: str, identity: int, incarnation: int, exchange: str) -> None:
        self.name = name
        self.identity = identity
        self.incarnation = incarnation
        self.exchange = exchange
        self.line = line
        self.opened_here = False
        self.closing = False
        self.same_here = self.same_there = False  # whether each end has found the other's digest to be its own
        self.is_whole = False  # whether the other end is, apart from us
        self.said_whole = bool(exchange)
        self.events_in = self.events_out = 0
        self.source = Source(self._settled, host.returning.outbox(name) if line.reliable else None)
        self._to_settle = 0  # events that came to be acknowledged
        self._parting = ""  # the other end has said goodbye; we go when all is settled
        self._host = host
        self._mended = 0  # since the tables last agreed
        self._differ_since_ns = 0
        self._misses = 0  # a bit for each of the last intervals
        self._looked_ns = host.now_ns()

    @property
    def agreed(self) -> bool:
        return self.same_here and self.same_there

    # --- frames that come

    def event(self, data: bytes, begin: int, end: int) -> None:
        self.events_in += 1
        if data[begin + FLAGS_AT] & FLAG_ACKNOWLEDGE and self.line.reliable:
            self._to_settle += 1
            self._host.returning.take(self.source, self._to_settle, self.name, None, data[begin:end])
        else:
            self._host.event_from_link(self.name, data, begin, end)

    def control(self, body: bytes) -> None:
        message = decode_control(from_broker, body)
        match message:
            case Beacon():
                self._host.returning.heard(self, message.whole)
                self._compare(message)
            case Settled():
                self._host.returning.settled(self, message.events)
            case Bye():
                self._host.links.said_bye(self, message.reason)
            case Refused():
                self.line.close(f"{self.name} refuses: {message.reason}")
            case _:
                if isinstance(message, Lock):
                    self._host.hear_of(message.exchange)
                self._host.give(Received(self.name, message))

    def ended(self, reason: str) -> None:
        self._host.links.lost(self, reason)

    # --- frames that go

    def relay(self, frame: bytes) -> None:
        if not self.closing:
            self.events_out += 1
            self.line.send(frame)

    def say(self, message: "msgspec.Struct") -> int:
        return 0 if self.closing else self.line.say(message)

    def part(self, reason: str) -> None:
        """End the link; what is under way still arrives."""
        if self.closing:
            return
        self.say(Bye(reason))
        self.closing = True
        self._host.loop.call_later(CLOSE_AFTER_S, self.line.abort, reason)

    def leave(self, reason: str) -> None:
        """The other end has said goodbye: end the link when all that came and went is settled, or after a while."""
        self.closing = True
        self._parting = reason
        self._host.loop.call_later(CLOSE_AFTER_S / 2, self.line.close, reason)
        self.leave_if_settled()

    def leave_if_settled(self) -> None:
        if self._parting and not self.source.unsettled and not self._host.returning.unsettled(self.name):
            self.line.close(self._parting)

    def _settled(self, events: int) -> None:
        self.line.say(Settled(events))
        self.leave_if_settled()

    # --- signs of life

    def look(self, now_ns: int, missed: int, of: int) -> None:
        """To be called once an interval."""
        missing = self.line.heard_ns < self._looked_ns and not self.line.deaf
        self._looked_ns = now_ns
        self._misses = (self._misses << 1 | missing) & ((1 << of) - 1)
        if self._misses.bit_count() >= missed:
            self.line.abort(f"{missed} of {of} beacons did not come")
        else:
            self.beacon()

    def beacon(self) -> None:
        # While an exchange lasts the other end may not have heard yet of all that we have.
        is_whole = self._host.returning.whole_but_for(self.name)
        self.said_whole = is_whole and (self.said_whole or not self._host.core.is_locked)
        self.say(Beacon(self._host.digests.told(self.name), self.same_here, self.said_whole))

    def _compare(self, beacon: Beacon) -> None:
        self.same_there = beacon.agreed
        heard = self._host.digests.heard(self.name)
        if beacon.told is None or heard is None:
            return
        before, self.same_here = self.same_here, beacon.told == heard
        if self.same_here:
            self._mended = self._differ_since_ns = 0
            if not before:
                self.beacon()
            return
        # `path` changes both ends by one message, so that a digest may cross it: only what lasts is a difference.
        host, now_ns = self._host, self._host.now_ns()
        self._differ_since_ns = self._differ_since_ns or now_ns
        if now_ns - self._differ_since_ns < host.settings.beacons.every_s * SECOND_NS:
            return
        self._differ_since_ns = now_ns
        host.counters["tables_differed"] += 1
        host.complain(f"differ {self.name}", f"{self.name} and we hold different tables; both say everything again")
        if self._mended == MENDED_MAX:
            self.part(f"the tables differ after they were mended {MENDED_MAX} times")
            return
        self._mended += 1
        host.give(TablesDiffer(self.name))
        self.beacon()

"""Acknowledged means settled: every session that wants the event has it on disk, or nobody does.

A publisher may ask to be told when nothing can lose an event any more. Such an event carries a flag as long as it
travels, and each broker answers for it to whoever it came from. Nothing else is counted, so events that nobody wants
acknowledged cost nothing here.

Both ends of a link count the flagged events of its incarnation, so that an event needs no number. A *source* is where
they come from: a neighbour, or a publisher of our own. A *way* is where they go: a neighbour, or the journal. What
comes and goes in one turn of the event loop belongs together: what came from a source is settled when each way that was
taken in that turn has settled all that went there, and then the source is told how far it has come. A neighbour says
`Settled`, the journal has written a batch. What nobody wants is settled at once.

A source may so wait for more than it has to, but never for itself: nothing goes back to where it came from, so the way
to a neighbour is left out of what comes from it. Then on a tree each waits only for who is further away, and nobody in
a circle.

While links are exchanged there are two trees, and the core may hold an event back. Then each event is a turn of its
own, which takes note of the ways of that event alone, and is kept open until the exchange is over.

An *outbox* is the way to a neighbour, and keeps what that has not settled. When the link has broken and the same
neighbour is back, as another process perhaps, it is sent again, in order and marked, before anything else. Whoever
keeps events drops what it has (`sessions.py`, `bus.py`). When the link has ended for good, what was not settled counts
as settled, is counted and logged: it may be lost.

What is bounded: a publisher may have so many events that are not settled (`limits.unacknowledged_max` and
`unacknowledged_bytes_max`). All that is kept in all brokers is theirs.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from regraft.model.events import Event
from regraft.net.wire import WireError, marked


class Source:
    """`tell` says how far it has come; `back` is the way to it, if there is one. `unsettled` and `unsettled_bytes` are
    what it waits for."""

    def __init__(self, tell: Callable[[int], None], back: "Way | None" = None) -> None:
        self.tell = tell
        self.back = back
        self.settled = 0
        self.unsettled = self.unsettled_bytes = 0
        self._turns: deque[tuple[int, int, int, Turn]] = deque()  # up to which number, how many, how many bytes
        self._came = self._came_bytes = 0  # since the last turn was closed

    def took(self, size_bytes: int) -> None:
        """One more event."""
        self.unsettled += 1
        self.unsettled_bytes += size_bytes
        self._came += 1
        self._came_bytes += size_bytes

    def closes(self, number: int, turn: "Turn") -> None:
        self._turns.append((number, self._came, self._came_bytes, turn))
        self._came = self._came_bytes = 0

    def look(self) -> None:
        """Tell how far it has come, if that has changed."""
        turns = self._turns
        settled = self.settled
        while turns and turns[0][3].open == 0:
            self.settled, count, size_bytes, _ = turns.popleft()
            self.unsettled -= count
            self.unsettled_bytes -= size_bytes
        if self.settled != settled:
            self.tell(self.settled)


class Turn:
    """What came from one source in one turn; `open` are the ways that have not settled it yet."""

    __slots__ = ("open", "source")

    def __init__(self, source: Source) -> None:
        self.open = 0
        self.source = source


class Way:
    """`sent` is the number of what went there last, `settled` of what it has settled."""

    def __init__(self) -> None:
        self.sent = self.settled = 0
        self._turns: deque[tuple[int, Turn]] = deque()

    def waits_for(self, turn: Turn) -> None:
        if self.settled < self.sent:
            turn.open += 1
            self._turns.append((self.sent, turn))

    def settle(self, number: int) -> None:
        self.settled = number
        turns = self._turns
        sources: dict[Source, None] = {}
        while turns and turns[0][0] <= number:
            turn = turns.popleft()[1]
            turn.open -= 1
            if turn.open == 0:
                sources[turn.source] = None
        for source in sources:
            source.look()


class Outbox(Way):
    """To a neighbour. `send` is how, while the neighbour may be sent events; its own count begins behind `_base`."""

    def __init__(self) -> None:
        super().__init__()
        self.send: Callable[[bytes], None] | None = None
        self._frames: deque[bytes] = deque()
        self._base = 0

    def __len__(self) -> int:
        return len(self._frames)

    def put(self, frame: bytes) -> None:
        self.sent += 1
        self._frames.append(frame)
        if self.send is not None:
            self.send(frame)

    def begin(self, send: Callable[[bytes], None]) -> None:
        """The neighbour is there, for the first time or again."""
        self.send = send
        self._base = self.settled
        for number, frame in enumerate(self._frames):
            self._frames[number] = again = marked(frame)
            send(again)

    def settled_by(self, count: int) -> None:
        """The neighbour has settled so many, since we began."""
        number = self._base + count
        if self.send is None or number > self.sent:
            raise WireError("settles what it was not sent")
        for _ in range(number - self.settled):
            self._frames.popleft()
        if number > self.settled:
            self.settle(number)

    def give_up(self) -> int:
        """Returns how many events may be lost."""
        count = len(self._frames)
        self._frames.clear()
        if count:
            self.settle(self.sent)
        return count


class Settling:
    """Of one broker."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._sources: dict[Source, int] = {}
        self._ways: dict[Way, None] = {}
        self._alone: dict[tuple[str, int], Turn] = {}  # by event, while links are exchanged
        self._kept_open: list[Turn] = []

    def came(self, source: Source, number: int) -> None:
        """An event came; it goes where it goes within this turn of the loop."""
        if not self._sources:
            self._loop.call_soon(self._close)
        self._sources[source] = number

    def came_alone(self, source: Source, number: int, event: Event) -> None:
        """An event came while links are exchanged."""
        self._close()
        turn = self._alone[event.publisher, event.sequence] = Turn(source)
        turn.open = 1
        source.closes(number, turn)
        self._kept_open.append(turn)

    def went(self, way: Way, event: Event) -> None:
        turn = self._alone.get((event.publisher, event.sequence)) if self._alone else None
        if turn is not None:
            way.waits_for(turn)
        elif self._sources:
            self._ways[way] = None

    def exchanged(self) -> None:
        """The exchange is over: no event is held back any more."""
        turns, self._kept_open = self._kept_open, []
        self._alone.clear()
        for turn in turns:
            turn.open -= 1
        for source in dict.fromkeys(turn.source for turn in turns):
            source.look()

    def _close(self) -> None:
        sources, self._sources = self._sources, {}
        ways, self._ways = self._ways, {}
        for source, number in sources.items():
            turn = Turn(source)
            for way in ways:
                if way is not source.back:
                    way.waits_for(turn)
            source.closes(number, turn)
            if turn.open == 0:
                source.look()

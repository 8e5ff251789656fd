"""A TCP connection, and the traffic over all of a broker's: many frames a read, one write a connection and turn.

**Flow control.** What a connection cannot write waits in its transport, up to a mark. Above it the connection is
*choked*, and a broker stops reading from all others until it has drained: they fill up in turn, back to the publishers.
It goes on reading from the one that is choked, so that two brokers that are choked towards each other still take from
each other; on a tree nobody waits in a circle, as who a broker waits for lies away from it. A connection that stays
choked for too long is ended (`Traffic.look`), so that one dead reader does not stop a network. A link has more patience
than a client: the client behind it that is the cause is ended first, and the link goes on. The one case that the
argument does not cover, the two trees of an exchange, ends the same way.

What is bounded: a connection's queue grows beyond the mark by what one turn of the loop brings, at most one read of
each other connection.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

import msgspec

from regraft.net.talk import Refused
from regraft.net.wire import FrameSplitter, WireError, control_frame

CLOSE_AFTER_S = 2.0
SECOND_NS = 1_000_000_000


class Peer(Protocol):
    """Who is at the other end: takes frames, and is told once when the connection has ended."""

    def event(self, data: bytes, begin: int, end: int) -> None: ...

    def control(self, body: bytes) -> None: ...

    def ended(self, reason: str) -> None: ...


class Line(Protocol):
    """A way to one peer, over TCP (`Connection`) or UDP (`datagrams.py`)."""

    address: str
    bytes_in: int
    bytes_out: int
    heard_ns: int
    choked_ns: int
    slows: bool
    patience: int
    deaf: bool
    peer: Peer
    drained: Callable[[], None] | None
    reliable: bool

    @property
    def waiting_bytes(self) -> int: ...

    def become(self, peer: Peer, frame_bytes_max: int) -> None: ...

    def send(self, frame: bytes) -> None: ...

    def say(self, message: msgspec.Struct) -> int: ...

    def read(self, on: bool) -> None: ...

    def refuse(self, reason: str) -> None: ...

    def close(self, reason: str) -> None: ...

    def abort(self, reason: str) -> None: ...


class Choked(Protocol):
    """What cannot be written: a connection, or the disk."""

    choked_ns: int
    patience: int

    def abort(self, reason: str) -> None: ...


class Traffic:
    """What connections share: the clock, the writes of a turn, and who may be read."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        now: Callable[[], int],
        *,
        queue_bytes_max: int,
        stalled_after_ns: int,
        misbehaved: Callable[[str, str], None],
    ) -> None:
        self.loop = loop
        self.now = now
        self.now_ns = now()  # of the read in hand
        self.queue_bytes_max = queue_bytes_max
        self.misbehaved = misbehaved  # address, reason
        self.connections: dict[Line, None] = {}
        self._choked: dict[Choked, None] = {}
        self._stalled_after_ns = stalled_after_ns
        self._to_flush: list[Connection] = []

    def flush_soon(self, connection: "Connection") -> None:
        if not self._to_flush:
            self.loop.call_soon(self._flush)
        self._to_flush.append(connection)

    def _flush(self) -> None:
        connections, self._to_flush = self._to_flush, []
        for connection in connections:
            connection.flush()

    def choke(self, connection: Choked, choked: bool) -> None:
        if choked:
            self._choked[connection] = None
        else:
            self._choked.pop(connection, None)
        for other in self.connections:
            other.read(len(self._choked) - (other in self._choked) == 0)

    def is_blocked(self, connection: Line) -> bool:
        """Whether a connection that begins now must wait before it is read."""
        return len(self._choked) - (connection in self._choked) > 0

    def look(self) -> None:
        """To be called now and then: ends what has been choked for too long."""
        now_ns = self.now()
        for connection in list(self._choked):
            allowed_ns = connection.patience * self._stalled_after_ns
            if now_ns - connection.choked_ns > allowed_ns:
                connection.abort(f"has not taken anything for {allowed_ns / SECOND_NS:g} s")


class Connection(asyncio.Protocol):
    """`accept` makes the peer that takes the first frames; `become` replaces it. `slows` is whether others wait while
    this one is choked, `patience` how often the time is that it may be so."""

    reliable = True  # what is sent comes, in order, or the connection ends

    def __init__(self, traffic: Traffic, accept: "Callable[[Connection], Peer]", frame_bytes_max: int) -> None:
        self.address = "?"
        self.traffic = traffic
        self.bytes_in = self.bytes_out = 0
        self.heard_ns = 0
        self.choked_ns = 0  # since when; 0: it is not
        self.slows = True
        self.patience = 1
        self.drained: Callable[[], None] | None = None  # to be called when there is room again
        self.deaf = False  # whether we do not read, so that silence means nothing
        self._accept = accept
        self._splitter = FrameSplitter(None, frame_bytes_max)
        self._out = bytearray()
        self._reason = ""
        self._ending = False

    # --- what the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's derives from nothing
        self.address = _in_words(transport.get_extra_info("peername"))
        transport.set_write_buffer_limits(high=self.traffic.queue_bytes_max, low=self.traffic.queue_bytes_max // 4)
        self.heard_ns = self.traffic.now()
        self.traffic.connections[self] = None
        self.peer = self._accept(self)
        self._splitter.reader = self.peer
        if self.traffic.is_blocked(self):
            self.read(False)

    def data_received(self, data: bytes) -> None:
        traffic = self.traffic
        self.heard_ns = traffic.now_ns = traffic.now()
        self.bytes_in += len(data)
        try:
            self._splitter.feed(data)
        except WireError as error:
            traffic.misbehaved(self.address, str(error))
            self.refuse(str(error))

    def pause_writing(self) -> None:
        self.choked_ns = self.traffic.now()
        if self.slows:
            self.traffic.choke(self, True)

    def resume_writing(self) -> None:
        self.choked_ns = 0
        if self.slows:
            self.traffic.choke(self, False)
        if self.drained is not None:
            self.drained()

    def connection_lost(self, error: Exception | None) -> None:
        self.traffic.connections.pop(self, None)
        self._ending = True
        self._splitter.reader = None
        self.traffic.choke(self, False)
        self.peer.ended(self._reason or (str(error) if error else "the other end closed the connection"))

    # --- what peers do

    def become(self, peer: Peer, frame_bytes_max: int) -> None:
        self.peer = self._splitter.reader = peer
        self._splitter.length_max = frame_bytes_max

    def send(self, frame: bytes) -> None:
        if not self._out:
            if self._ending:
                return
            self.traffic.flush_soon(self)
        self._out += frame

    def say(self, message: msgspec.Struct) -> int:
        """Returns how many bytes that took."""
        frame = control_frame(message)
        self.send(frame)
        return len(frame)

    def flush(self) -> None:
        if self._out and not self._transport.is_closing():
            self.bytes_out += len(self._out)
            self._transport.write(self._out)
        self._out = bytearray()

    @property
    def waiting_bytes(self) -> int:
        return len(self._out) + self._transport.get_write_buffer_size()

    def read(self, on: bool) -> None:
        if self.deaf == on and not self._transport.is_closing():
            self.deaf = not on
            if on:
                self.heard_ns = self.traffic.now()
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def refuse(self, reason: str) -> None:
        """Tell why, and end it."""
        self.say(Refused(reason))
        self.close(reason)

    def close(self, reason: str) -> None:
        """Nothing more is read; what waits is written, for a while."""
        if self._ending:
            return
        self._ending = True
        self._reason = reason
        self._splitter.reader = None
        self.flush()
        self._transport.close()
        self.traffic.loop.call_later(CLOSE_AFTER_S, self._transport.abort)

    def abort(self, reason: str) -> None:
        """End it at once; what waits is lost."""
        self._ending = True
        self._reason = self._reason or reason
        self._splitter.reader = None
        self._transport.abort()


def _in_words(address: object) -> str:
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) and len(address) >= 2 else "?"

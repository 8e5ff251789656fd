"""Links over UDP: control messages as reliable and in order as the brain needs them, events as the network has them.

What a broker says on a link is a stream of bytes, as over TCP, cut into segments. A segment is sent again until it is
acknowledged, and taken in its turn. Events travel in datagrams of their own, several in one where they fit; they are
sent once, may be lost or overtake each other, and are mended by nobody (docs/wire.md). So over UDP no protocol keeps
events from being lost, and none keeps their order.

A session is drawn by the side that opens the link and is the link's incarnation on the wire: what arrives for a session
that has ended, or that nobody has begun, is answered with a reset.

What is bounded: segments that wait for an acknowledgement (`SEGMENTS_MAX`; beyond, the session is ended), segments kept
that came too early, sessions remembered as ended. Events wait for nobody.
"""

import asyncio
import os
from collections.abc import Callable
from itertools import islice
from struct import Struct
from typing import cast

import msgspec

from regraft.net.connection import CLOSE_AFTER_S, SECOND_NS, Peer, Traffic
from regraft.net.link import Link
from regraft.net.talk import Refused
from regraft.net.wire import EVENT, VERSION, FrameSplitter, WireError, control_frame

HEADER = Struct(">BBQI")  # version, kind, session, sequence
SEGMENT, ACKNOWLEDGED, EVENTS, RESET = 1, 2, 3, 4

SEGMENT_BYTES = 1_200
DATAGRAM_BYTES_MAX = 65_000
EVENTS_BYTES = 1_400
SEGMENTS_MAX = 65_536
EARLY_MAX = 4_096
BURST_MAX = 256
ENDED_MAX = 1_024
AGAIN_AFTER_NS = 50_000_000
TRIES_MAX = 60
KIND_AT = 5

Address = tuple[str, int]


class DatagramLine:
    """One session; to a peer it is what a `Connection` is."""

    slows = False
    patience = 1
    deaf = False
    choked_ns = 0
    drained: Callable[[], None] | None = None
    reliable = False

    def __init__(self, endpoint: "Datagrams", to: Address, session: int, frame_bytes_max: int) -> None:
        self.address = f"udp://{to[0]}:{to[1]}"
        self.traffic = endpoint.traffic
        self.bytes_in = self.bytes_out = 0
        self.heard_ns = self.traffic.now()
        self.peer: Peer
        self._endpoint = endpoint
        self._to = to
        self._session = session
        self._splitter = FrameSplitter(None, frame_bytes_max)
        self._stream = bytearray()
        self._events = bytearray()
        self._next = 0  # the number of the next segment
        self._waiting: dict[int, tuple[bytes, int, int]] = {}  # number -> segment, when it was sent, how often
        self._expected = 0
        self._early: dict[int, bytes] = {}
        self._scheduled = False
        self._begun = False  # whether the other end knows of the session; until then only the first segment is sent
        self._closing = False  # nothing more is taken; what waits is still sent
        self._over = False
        self._reason = ""

    def begin(self, peer: Peer) -> None:
        self.peer = self._splitter.reader = peer
        self.traffic.connections[self] = None

    # --- what arrives

    def arrived(self, kind: int, number: int, content: bytes) -> None:
        traffic = self.traffic
        self.heard_ns = traffic.now_ns = traffic.now()
        self.bytes_in += len(content)
        self._begun = True
        try:
            if kind == SEGMENT:
                self._segment(number, content)
            elif kind == ACKNOWLEDGED:
                for known in [known for known in self._waiting if known < number]:
                    del self._waiting[known]
                self._send_more()
            elif kind == EVENTS and isinstance(self.peer, Link) and not self._closing:
                FrameSplitter(self.peer, self._splitter.length_max).feed(content)
        except WireError as error:
            traffic.misbehaved(self.address, str(error))
            self.refuse(str(error))

    def _segment(self, number: int, content: bytes) -> None:
        if self._expected <= number < self._expected + EARLY_MAX:
            self._early[number] = content
        while not self._closing and (following := self._early.pop(self._expected, None)) is not None:
            self._expected += 1
            self._splitter.feed(following)
        if self._closing:
            self._expected = max(self._expected, number + 1)  # what is not read any more need not be sent again
        if not self._over:
            self._put(ACKNOWLEDGED, self._expected, b"")

    # --- what peers do

    def become(self, peer: Peer, frame_bytes_max: int) -> None:
        self.peer = self._splitter.reader = peer
        self._splitter.length_max = frame_bytes_max

    def send(self, frame: bytes) -> None:
        if self._over or self._closing:
            return
        if frame[KIND_AT] != EVENT:
            self._stream += frame
        elif len(frame) <= DATAGRAM_BYTES_MAX:
            if len(self._events) + len(frame) > EVENTS_BYTES:
                self._put_events()
            self._events += frame
        if not self._scheduled:
            self._scheduled = True
            self.traffic.loop.call_soon(self.flush)

    def say(self, message: msgspec.Struct) -> int:
        frame = control_frame(message)
        self.send(frame)
        return len(frame)

    def flush(self) -> None:
        self._scheduled = False
        if self._over:
            return
        stream, self._stream = bytes(self._stream), bytearray()
        for at in range(0, len(stream), SEGMENT_BYTES):
            self._waiting[self._next] = stream[at : at + SEGMENT_BYTES], 0, 0
            self._next += 1
        if len(self._waiting) > SEGMENTS_MAX:
            self.abort("does not acknowledge what it gets")
            return
        self._send_more()
        self._put_events()

    @property
    def waiting_bytes(self) -> int:
        return len(self._stream) + sum(len(segment) for segment, _, _ in self._waiting.values())

    def read(self, on: bool) -> None:
        """A socket that is shared cannot be closed to one; what is not read of others is lost."""

    def refuse(self, reason: str) -> None:
        self.say(Refused(reason))
        self.close(reason)

    def close(self, reason: str) -> None:
        if self._closing or self._over:
            return
        self.flush()
        self._closing = True
        self._reason = reason
        self._splitter.reader = None
        self.traffic.loop.call_later(CLOSE_AFTER_S, self.abort, reason)
        self._send_more()

    def abort(self, reason: str) -> None:
        if self._over:
            return
        self._put(RESET, 0, b"")
        self.over(reason)

    def over(self, reason: str) -> None:
        """The session has ended."""
        if self._over:
            return
        self._over = True
        self._waiting.clear()
        self._early.clear()
        self.traffic.connections.pop(self, None)
        self._endpoint.forget(self._to, self._session)
        self.traffic.loop.call_soon(self.peer.ended, self._reason or reason)

    # --- sending

    def _put_events(self) -> None:
        if self._events:
            self._put(EVENTS, 0, bytes(self._events))
            self._events = bytearray()

    def _put(self, kind: int, number: int, content: bytes) -> None:
        self.bytes_out += len(content)
        self._endpoint.put(HEADER.pack(VERSION, kind, self._session, number) + content, self._to)

    def _send_more(self) -> None:
        """What was not sent yet, and what was not acknowledged for too long; a burst at a time."""
        now_ns = self.traffic.now()
        if self._closing and not self._waiting:
            self.abort(self._reason)
            return
        for number, (segment, sent_ns, tries) in list(islice(self._waiting.items(), BURST_MAX if self._begun else 1)):
            if sent_ns and now_ns - sent_ns < AGAIN_AFTER_NS:
                continue
            if tries >= TRIES_MAX:
                self.over("does not acknowledge what it gets")
                return
            self._waiting[number] = segment, now_ns, tries + 1
            self._put(SEGMENT, number, segment)

    def look(self) -> None:
        """To be called every `AGAIN_AFTER_NS`."""
        if self._waiting or self._closing:
            self._send_more()


class Datagrams(asyncio.DatagramProtocol):
    """A broker's UDP socket and the sessions over it. `accept` makes the peer of a session that another opens."""

    def __init__(self, traffic: Traffic, accept: Callable[[DatagramLine], Peer], frame_bytes_max: int) -> None:
        self.traffic = traffic
        self._accept = accept
        self._frame_bytes_max = frame_bytes_max
        self._lines: dict[tuple[Address, int], DatagramLine] = {}
        self._ended: dict[tuple[Address, int], None] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self._look()

    def _look(self) -> None:
        for line in list(self._lines.values()):
            line.look()
        self.traffic.loop.call_later(AGAIN_AFTER_NS / SECOND_NS, self._look)

    def open(self, to: Address, frame_bytes_max: int) -> DatagramLine:
        session = int.from_bytes(os.urandom(8), "big")
        line = self._lines[to, session] = DatagramLine(self, to, session, frame_bytes_max)
        return line

    def datagram_received(self, data: bytes, sender: Address) -> None:
        if len(data) < HEADER.size:
            return
        version, kind, session, number = HEADER.unpack_from(data)
        sender = sender[:2]
        if version != VERSION or kind not in (SEGMENT, ACKNOWLEDGED, EVENTS, RESET):
            self.traffic.misbehaved(f"udp://{sender[0]}:{sender[1]}", f"datagram of version {version}, kind {kind}")
            return
        line = self._lines.get((sender, session))
        if kind == RESET:
            if line is not None:
                line.over("the other end has ended it")
        elif line is not None:
            line.arrived(kind, number, data[HEADER.size :])
        elif kind == SEGMENT and number == 0 and (sender, session) not in self._ended:
            line = self._lines[sender, session] = DatagramLine(self, sender, session, self._frame_bytes_max)
            line.begin(self._accept(line))
            line.arrived(kind, number, data[HEADER.size :])
        else:
            self.put(HEADER.pack(VERSION, RESET, session, 0), sender)

    def put(self, datagram: bytes, to: Address) -> None:
        if not self._transport.is_closing():
            self._transport.sendto(datagram, to)

    def forget(self, to: Address, session: int) -> None:
        self._lines.pop((to, session), None)
        self._ended[to, session] = None
        if len(self._ended) > ENDED_MAX:
            del self._ended[next(iter(self._ended))]

    def close(self) -> None:
        for line in list(self._lines.values()):
            line.abort("the broker stops")
        self._transport.close()

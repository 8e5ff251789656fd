"""Frames: what travels on a socket, byte by byte. `docs/wire.md` is the specification, with examples that are tested.

A frame is a length, a version, a kind, and a body. There are two kinds. A *control* frame is one MessagePack object,
and who may send which is said by a message's type (`talk.py` and the brain's own messages). An *event* frame is relayed
as it came: what changes from hop to hop stands at fixed places in front, so that a broker overwrites a few bytes and
copies the rest.

Everything that arrives is hostile until it is checked. What is not exactly as described raises `WireError` with one
reason; whoever reads from a socket answers with a refusal and ends the connection. Nothing here allocates what the
other side has only announced.
"""

from collections.abc import Mapping
from hashlib import blake2b
from struct import Struct
from typing import Annotated, Any, Protocol

import msgspec

from regraft.errors import RegraftError
from regraft.model.events import INT64_MAX, INT64_MIN, Event, Value

VERSION = 1
CONTROL = 1
EVENT = 2

LENGTH_BYTES = 4
CONTROL_HEADER_BYTES = 8
EVENT_HEADER_BYTES = 48

FLAGS_AT, HOPS_AT, EXCHANGE_AT, PASSED_AT = 6, 7, 8, 16
NUMBER_AT = EXCHANGE_AT  # towards a durable client: the number of the delivery
PASSED_MAX = 8
NUMBER_BYTES = 4
HOPS_MAX = 255

FLAG_ACKNOWLEDGE = 1  # the publisher is to be told when nothing can lose it any more
FLAG_AGAIN = 2  # this event may have been sent before
FLAGS = FLAG_ACKNOWLEDGE | FLAG_AGAIN

HEAD = Struct(">IBB")  # length, version, kind
HEADER = Struct(">IBBBBQ")  # length, version, kind, flags, hops, exchange; the brokers passed follow
_CONTROL_HEADER = Struct(">IBBBB")
_NOBODY_PASSED = bytes(PASSED_MAX * NUMBER_BYTES)

Name = Annotated[str, msgspec.Meta(pattern=r"^[^\s/\x00-\x1f\x7f]{1,128}$")]
_Attribute = Annotated[str, msgspec.Meta(min_length=1)]
_Integer = Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)]
_Sequence = Annotated[int, msgspec.Meta(ge=1, le=INT64_MAX)]
_Publisher = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]

_encode = msgspec.msgpack.Encoder().encode
_event_decoder = msgspec.msgpack.Decoder(
    tuple[_Publisher, _Sequence, dict[_Attribute, str | _Integer | float | bool], bytes]
)


class WireError(RegraftError):
    """What came from the other side is not what it may send; the connection is of no further use."""


def broker_number(name: str) -> bytes:
    """What stands for a broker in the list of those passed: four bytes, never all zero."""
    number = blake2b(name.encode(), digest_size=NUMBER_BYTES).digest()
    return number if any(number) else b"\0\0\0\1"


def exchange_number(exchange: str) -> int:
    """What stands for an exchange in front of an event that travels by the tree to come; 0 for none."""
    return int.from_bytes(blake2b(exchange.encode(), digest_size=8).digest(), "big") or 1 if exchange else 0


def control_frame(message: msgspec.Struct) -> bytes:
    body = _encode(message)
    return _CONTROL_HEADER.pack(CONTROL_HEADER_BYTES - LENGTH_BYTES + len(body), VERSION, CONTROL, 0, 0) + body


def event_frame(
    publisher: str, sequence: int, attributes: Mapping[str, Value], payload: bytes = b"", flags: int = 0
) -> bytes:
    """As its publisher sends it: no hops yet, nobody passed."""
    body = _encode((publisher, sequence, attributes, payload))
    length = EVENT_HEADER_BYTES - LENGTH_BYTES + len(body)
    return HEADER.pack(length, VERSION, EVENT, flags, 0, 0) + _NOBODY_PASSED + body


def marked(frame: bytes) -> bytes:
    """The same event, as one that may have been sent before."""
    return b"".join((frame[:FLAGS_AT], bytes((frame[FLAGS_AT] | FLAG_AGAIN,)), frame[HOPS_AT:]))


def decode_event(body: bytes) -> Event:
    """What follows an event frame's header."""
    try:
        return Event(*_event_decoder.decode(body))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireError(f"this is no event: {error}") from None


def decode_control(decoder: "msgspec.msgpack.Decoder[Any]", body: bytes) -> Any:
    """What follows a control frame's header, if it is one of the messages that `decoder` knows."""
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireError(f"this is no message that may come here: {error}") from None


class Reader(Protocol):
    """Whoever takes the frames: an event's between two places of what was read, a message's body."""

    def event(self, data: bytes, begin: int, end: int) -> None: ...

    def control(self, body: bytes) -> None: ...


class FrameSplitter:
    """Cuts what comes from a stream into frames; keeps at most one frame that is not whole yet.

    `reader` may be replaced between two frames, as when a greeting tells who the other side is. When it is None, what
    still comes is thrown away.
    """

    def __init__(self, reader: Reader | None, length_max: int) -> None:
        self.reader = reader
        self.length_max = length_max
        self._partial = bytearray()
        self._needed = 0

    def feed(self, data: bytes) -> None:
        """Raises `WireError`; whoever catches it feeds no more."""
        if self._partial:
            self._partial += data
            if len(self._partial) < self._needed:
                return
            data = bytes(self._partial)
            self._partial = bytearray()
        at, end = 0, len(data)
        while end - at >= CONTROL_HEADER_BYTES:
            length, version, kind = HEAD.unpack_from(data, at)
            if version != VERSION:
                raise WireError(f"this speaks version {version} of the wire format, we speak {VERSION}")
            if length > self.length_max:
                raise WireError(f"a frame of {length} bytes is too long, at most {self.length_max} are taken here")
            following = at + LENGTH_BYTES + length
            if following > end:
                break
            reader = self.reader
            if reader is None:
                return
            if kind == EVENT:
                if length <= EVENT_HEADER_BYTES - LENGTH_BYTES:
                    raise WireError(f"a frame of {length} bytes is too short for an event")
                reader.event(data, at, following)
            elif kind == CONTROL:
                if length <= CONTROL_HEADER_BYTES - LENGTH_BYTES:
                    raise WireError(f"a frame of {length} bytes is too short for a message")
                reader.control(data[at + CONTROL_HEADER_BYTES : following])
            else:
                raise WireError(f"there is no kind {kind} of frames")
            at = following
        if at < end and self.reader is not None:
            self._partial += data[at:]
            known = end - at >= CONTROL_HEADER_BYTES
            self._needed = LENGTH_BYTES + HEAD.unpack_from(data, at)[0] if known else CONTROL_HEADER_BYTES

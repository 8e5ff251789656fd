"""Frames: the examples of docs/wire.md, and that nothing which arrives does harm."""

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import attributes_of

from regraft.broker.messages import Claim, Control, Subscribe
from regraft.model.events import Event
from regraft.net import talk
from regraft.net.wire import (
    CONTROL_HEADER_BYTES,
    EVENT_HEADER_BYTES,
    EXCHANGE_AT,
    FLAG_ACKNOWLEDGE,
    HOPS_AT,
    NUMBER_AT,
    PASSED_AT,
    FrameSplitter,
    WireError,
    broker_number,
    control_frame,
    decode_control,
    decode_event,
    event_frame,
    exchange_number,
    marked,
)

DOCUMENT = Path(__file__).parents[3] / "docs" / "wire.md"
QUOTE = {"symbol": "IBM", "price": 120.5}
LENGTH_MAX = 4_096


def relayed(exchange: str = "") -> bytes:
    frame = bytearray(event_frame("desk-7", 1, QUOTE, b"hello"))
    frame[HOPS_AT] = 1
    frame[EXCHANGE_AT:PASSED_AT] = exchange_number(exchange).to_bytes(8, "big")
    frame[PASSED_AT : PASSED_AT + 4] = broker_number("a")
    return bytes(frame)


def delivered(number: int) -> bytes:
    frame = bytearray(relayed())
    frame[NUMBER_AT:PASSED_AT] = number.to_bytes(8, "big")
    return bytes(frame)


EXAMPLES: list[Callable[[], bytes]] = [
    lambda: control_frame(talk.ClientHello("desk-7", 5, 7)),
    lambda: control_frame(talk.ClientWelcome("a", 3, 1_048_576)),
    lambda: control_frame(talk.Ask(1, "price > 10", True)),
    lambda: control_frame(talk.Refused("no")),
    lambda: event_frame("desk-7", 1, QUOTE, b"hello"),
    lambda: control_frame(talk.ClientHello("desk-7", 5, 7, True, 9, 4)),
    lambda: control_frame(talk.ClientWelcome("a", 3, 1_048_576, 9, ("price > 10",))),
    lambda: control_frame(talk.Got(5)),
    lambda: marked(delivered(5)),
    lambda: control_frame(talk.ClientHello("desk-7", 5, 7, True, 0, 0, 8, (("a", "127.0.0.1:4270"),), ("price > 10",))),
    lambda: control_frame(talk.Arrived(8, "whole", 0)),
    lambda: control_frame(talk.Direct("b", 7, "127.0.0.1:4271")),
    lambda: control_frame(Claim("desk-7", 8, 0)),
    lambda: event_frame("desk-7", 1, QUOTE, b"hello", FLAG_ACKNOWLEDGE),
    relayed,
    lambda: relayed("a-b>a-c#1"),
    lambda: control_frame(Subscribe(("price > 10",))),
    lambda: control_frame(talk.Settled(7)),
    lambda: control_frame(talk.Beacon(whole=False)),
    lambda: control_frame(talk.Beacon(9, True)),
]


class Taken:
    """Takes frames and remembers them."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.bodies: list[bytes] = []

    def event(self, data: bytes, begin: int, end: int) -> None:
        self.frames.append(data[begin:end])

    def control(self, body: bytes) -> None:
        self.bodies.append(body)


def split(*reads: bytes) -> Taken:
    taken = Taken()
    splitter = FrameSplitter(taken, LENGTH_MAX)
    for data in reads:
        splitter.feed(data)
    return taken


def test_the_examples_of_the_document_are_what_the_code_writes() -> None:
    written = re.findall(r"^\| .* \| `([0-9a-f]+)` \|$", DOCUMENT.read_text(), re.MULTILINE)
    assert [bytes.fromhex(text) for text in written] == [example() for example in EXAMPLES]


def test_every_message_of_a_broker_comes_back_as_it_was() -> None:
    messages = [Subscribe(("price > 10",), "a-b#1", "e", True), talk.Beacon(9), talk.Bye("done"), talk.Refused("no")]
    for message in messages:
        assert decode_control(talk.from_broker, control_frame(message)[CONTROL_HEADER_BYTES:]) == message
    tags = {message.__struct_config__.tag for message in Control.__args__}
    own = {message.__struct_config__.tag for message in (talk.Beacon, talk.Bye, talk.Refused)}
    assert tags.isdisjoint(own)


@given(attributes_of(mixed=True), st.binary(max_size=50), st.integers(1, 2**63 - 1))
def test_an_event_comes_back_as_it_was(
    values: dict[str, str | int | float | bool], payload: bytes, number: int
) -> None:
    frame = event_frame("desk-7", number, values, payload)
    event = decode_event(frame[EVENT_HEADER_BYTES:])
    assert (event.publisher, event.sequence, event.payload) == ("desk-7", number, payload)
    assert repr(event.attributes) == repr(values)  # 1, 1.0 and True are different, and NaN is itself


@given(st.lists(st.sampled_from(EXAMPLES), max_size=6), st.lists(st.integers(0, 400), max_size=6))
def test_frames_are_cut_out_wherever_reads_end(examples: list[Callable[[], bytes]], cuts: list[int]) -> None:
    frames = [example() for example in examples]
    stream = b"".join(frames)
    places = sorted(min(cut, len(stream)) for cut in cuts)
    ends = zip([0, *places], [*places, len(stream)], strict=True)
    taken = split(*(stream[begin:end] for begin, end in ends))
    assert taken.frames == [frame for frame in frames if frame[5] == 2]
    assert taken.bodies == [frame[8:] for frame in frames if frame[5] == 1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00\x00\x00\x10\x02\x01\x00\x00", "version 2"),
        (b"\x00\x00\x00\x05\x01\x03\x00\x00\x80", "no kind 3"),
        (b"\x7f\xff\xff\xff\x01\x01\x00\x00", "too long"),
        (b"\x00\x00\x00\x04\x01\x01\x00\x00", "too short for a message"),
        (b"\x00\x00\x00\x2c\x01\x02" + bytes(42), "too short for an event"),
        (b"GET / HTTP/1.1\r\n\r\n", "version 47"),
    ],
)
def test_a_frame_that_is_none_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        split(data)


def test_nothing_is_stored_for_what_is_only_announced() -> None:
    splitter = FrameSplitter(Taken(), 2**32 - 1)
    splitter.feed(b"\xff\xff\xff\x00\x01\x01\x00\x00")
    assert len(splitter._partial) == CONTROL_HEADER_BYTES


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\x94\xa1p\x01\x80",
        b"\x94\xa1p\x00\x80\xc4\x00",  # sequence 0
        b"\x94\xa0\x01\x80\xc4\x00",  # a publisher without a name
        b"\x94\xa1p\x01\x81\xa0\x01\xc4\x00",  # an attribute without a name
        b"\x94\xa1p\x01\x81\xa1a\xc0\xc4\x00",  # nil
        b"\x94\xa1p\x01\x81\xa1a\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xc4\x00",  # beyond int64
        b"\x94\xa1p\x01\x81\xa1a\x90\xc4\x00",  # an array
        b"\x94\xa1p\x01\x81\xa1\xff\x01\xc4\x00",  # not UTF-8
        b"\x95\xa1p\x01\x80\xc4\x00\xc0",
        b"\x94\xa1p\x01\x80\xc4\x00\x00",  # something behind it
        b"\x91" * 5_000,
    ],
)
def test_an_event_of_the_wrong_shape_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        decode_event(body)


DECODERS = (
    talk.greetings,
    talk.from_broker,
    talk.from_client,
    talk.from_operator,
    talk.to_client,
    talk.to_operator,
    talk.from_afar,
)


class Decoding(Taken):
    """As a peer does, everything that comes is decoded."""

    def event(self, data: bytes, begin: int, end: int) -> None:
        assert type(decode_event(data[begin + EVENT_HEADER_BYTES : end])) is Event

    def control(self, body: bytes) -> None:
        for decoder in DECODERS:
            try:
                decode_control(decoder, body)
            except WireError as error:
                reason = str(error)
        raise WireError(reason)


def hostile() -> st.SearchStrategy[bytes]:
    """Frames with bytes changed, cut and put together, and plain noise."""
    frame = st.sampled_from(EXAMPLES).map(lambda example: example())
    changed = st.builds(
        lambda data, at, value: data[: at % len(data)] + bytes([value]) + data[at % len(data) + 1 :],
        frame,
        st.integers(0, 200),
        st.integers(0, 255),
    )
    body = st.binary(max_size=80).map(lambda body: (len(body) + 4).to_bytes(4, "big") + b"\1\1\0\0" + body)
    event = st.binary(max_size=80).map(lambda body: (len(body) + 44).to_bytes(4, "big") + b"\1\2" + bytes(42) + body)
    return st.lists(st.one_of(frame, changed, body, event, st.binary(max_size=40)), max_size=8).map(b"".join)


@given(hostile(), st.integers(1, 100))
def test_whatever_comes_is_taken_or_refused(data: bytes, step: int) -> None:
    splitter = FrameSplitter(Decoding(), LENGTH_MAX)
    with contextlib.suppress(WireError):
        for at in range(0, len(data), step):
            splitter.feed(data[at : at + step])
    assert len(splitter._partial) <= LENGTH_MAX + CONTROL_HEADER_BYTES

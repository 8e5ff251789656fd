"""Settling against a simple model: a source has come as far as every way has that its events took."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.model.events import Event
from regraft.net.settling import Outbox, Settling, Source
from regraft.net.wire import FLAG_AGAIN, FLAGS_AT, WireError, event_frame

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("event"), st.integers(0, 1), st.sets(st.integers(0, 2))),  # source, ways
        st.tuples(st.just("turn"), st.just(0), st.just(0)),
        st.tuples(st.just("settle"), st.integers(0, 2), st.integers(1, 3)),  # way, how many more
        st.tuples(st.just("exchange"), st.booleans(), st.just(0)),
    ),
    max_size=60,
)


class Loop:
    """Remembers what is to be called when the turn is over."""

    def __init__(self) -> None:
        self.soon: list[Any] = []

    def call_soon(self, callback: Any) -> None:
        self.soon.append(callback)

    def turn(self) -> None:
        callbacks, self.soon = self.soon, []
        for callback in callbacks:
            callback()


def frame(number: int) -> bytes:
    return event_frame("p", number, {})


@given(STEPS)
@settings(max_examples=300)
def test_nothing_is_settled_before_all_its_ways_have_and_all_is_in_the_end(steps: list[Any]) -> None:
    loop: Any = Loop()
    settling = Settling(loop)
    told: list[list[int]] = [[], []]
    sources = [Source(told[0].append), Source(told[1].append)]
    ways = [Outbox(), Outbox(), Outbox()]
    for way in ways:
        way.begin(lambda _: None)
    sources[0].back = ways[0]
    sources[1].back = ways[1]
    needs: list[list[dict[int, int]]] = [[], []]  # of each source's events, what each way must have settled
    settled = [0, 0, 0]
    exchanging = False

    def check() -> None:
        for source, told_of in enumerate(told):
            assert told_of == sorted(told_of)
            for need in needs[source][: told_of[-1] if told_of else 0]:
                assert all(settled[way] >= number for way, number in need.items())

    def settle(way: int, more: int) -> None:
        more = min(more, ways[way].sent - settled[way])
        if more:
            settled[way] += more
            ways[way].settled_by(settled[way])
        check()

    number = 0
    for kind, one, other in steps:
        if kind == "event":
            number += 1
            event = Event("p", number, {})
            sources[one].took(10)
            needs[one].append({})
            if exchanging:
                settling.came_alone(sources[one], len(needs[one]), event)
            else:
                settling.came(sources[one], len(needs[one]))
            for way in sorted(other - {one}):  # nothing goes back to where it came from
                ways[way].put(frame(number))
                settling.went(ways[way], event)
                needs[one][-1][way] = ways[way].sent
        elif kind == "turn":
            loop.turn()
        elif kind == "exchange":
            if exchanging and not one:
                settling.exchanged()
            exchanging = one
        else:
            settle(one, other)
        check()
    settling.exchanged()
    loop.turn()
    for way in range(3):
        settle(way, 10**6)
    for source, events in zip(sources, needs, strict=True):
        assert source.settled == len(events)
        assert (source.unsettled, source.unsettled_bytes) == (0, 0)


def test_what_is_not_settled_is_sent_again_in_order_and_marked() -> None:
    outbox = Outbox()
    outbox.put(frame(1))  # the neighbour is not there yet
    sent: list[bytes] = []
    outbox.begin(sent.append)
    outbox.put(frame(2))
    outbox.put(frame(3))
    outbox.settled_by(1)
    assert len(outbox) == 2
    outbox.send = None
    outbox.put(frame(4))
    again: list[bytes] = []
    outbox.begin(again.append)
    assert [each[FLAGS_AT] & FLAG_AGAIN for each in again] == [FLAG_AGAIN] * 3
    assert [each[FLAGS_AT + 1 :] for each in again] == [frame(number)[FLAGS_AT + 1 :] for number in (2, 3, 4)]
    outbox.settled_by(3)
    assert len(outbox) == 0
    with pytest.raises(WireError, match="settles what it was not sent"):
        outbox.settled_by(4)


def test_what_is_given_up_counts_as_settled() -> None:
    loop: Any = Loop()
    settling, outbox, told = Settling(loop), Outbox(), list[int]()
    source = Source(told.append)
    source.took(10)
    event = Event("p", 1, {})
    settling.came(source, 1)
    outbox.put(frame(1))
    settling.went(outbox, event)
    loop.turn()
    assert told == []
    assert outbox.give_up() == 1
    assert told == [1]
    assert outbox.give_up() == 0

"""Clocks find the deliveries that come too late, whatever waits and whenever it is settled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.pipeline import clocks
from regraft.pipeline.clocks import Clocks

CLIENTS = 4

# (client, None) publishes; (client, k) is delivered the k-th event published so far, modulo their number.
steps = st.lists(st.tuples(st.integers(0, CLIENTS - 1), st.none() | st.integers(0, 60)), max_size=80)


def by_definition(script: list[tuple[int, int | None]]) -> set[tuple[int, int, bool]]:
    """(client, event, FIFO too) for each first delivery that comes too late; an event's past is kept as a set."""
    pasts: list[set[int]] = []
    publishers: list[int] = []
    received: list[list[int]] = [[] for _ in range(CLIENTS)]
    known: list[set[int]] = [set() for _ in range(CLIENTS)]
    late = set()
    for client, event in script:
        if event is None:
            pasts.append(set(known[client]))
            known[client].add(len(publishers))
            publishers.append(client)
        elif publishers and (event := event % len(publishers)) not in received[client]:
            overtaken = [e2 for e2 in received[client] if event in pasts[e2]]
            if overtaken:
                same = any(publishers[e2] == publishers[event] for e2 in overtaken)
                late.add((client, event, same))
            received[client].append(event)
            known[client] |= pasts[event] | {event}
    return late


def by_clocks(script: list[tuple[int, int | None]]) -> set[tuple[int, int, bool]]:
    found = Clocks()
    for _ in range(CLIENTS):
        found.add_client()
    sequences = [0] * CLIENTS
    events = 0
    received: set[tuple[int, int]] = set()
    for n, (client, event) in enumerate(script):
        if event is None:
            sequences[client] += 1
            found.add_event(client, sequences[client])
            found.published(client, events)
            events += 1
        elif events and (client, event % events) not in received:
            received.add((client, event % events))
            found.delivered(client, event % events, n)
    found.settle_all()
    assert all(script[n][0] == client for client, _, n, _ in found.late), "a violation names its own delivery"
    return {(client, event, fifo) for client, event, _, fifo in found.late}


@given(steps)
def test_late_deliveries_are_those_of_the_definition(script: list[tuple[int, int | None]]) -> None:
    assert by_clocks(script) == by_definition(script)


@given(steps)
def test_deliveries_may_wait_for_any_number_of_others(script: list[tuple[int, int | None]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clocks, "PENDING_MAX", 2)
        assert by_clocks(script) == by_definition(script)


def test_room_grows_with_clients_publishers_and_pasts() -> None:
    found = Clocks()
    many = 100
    for number in range(many):
        found.add_client()
        found.add_event(number, 1)
        if number:
            found.delivered(number, number - 1, number)
        found.published(number, number)
    found.add_client()
    found.delivered(many, many - 1, many)  # its past is the whole chain
    for number in range(many - 1):
        found.delivered(many, number, many + 1 + number)
    found.settle_all()
    assert found.late == [(many, number, many + 1 + number, False) for number in range(many - 1)]

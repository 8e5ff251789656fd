"""A broker's state is a value: cloned, compared, hashed."""

from itertools import pairwise

import pytest

from regraft.broker import Broker, BrokerConfig, FixedCatalogue, clone, inputs, left_over, state_of
from regraft.broker.messages import Lock, Membership, Signal, Subscribe, Unsubscribe
from regraft.model.events import Event

FILTER = "price > 10"
EVENT = Event("p", 1, {"price": 12})
EXCHANGE = inputs.ExchangeOrdered("e", ("b", "a", "c"), 1, "fifo")

# A life in which every part comes to hold something.
LIFE = (
    inputs.JoinOrdered(),
    inputs.LinkUp("a", 1),
    inputs.ClientPublished(EVENT),
    inputs.Received("a", Subscribe((FILTER,))),
    inputs.Received("a", Membership("welcome")),
    inputs.LinkUp("d", 1),
    inputs.ClientSubscribed("s", FILTER, True),
    inputs.Received("d", Subscribe((FILTER,))),
    EXCHANGE,
    inputs.LinkUp("c", 1, "e"),
    inputs.Received("c", Signal("e", "locked")),
    inputs.ClientPublished(Event("p", 2, {"price": 12})),
    inputs.Received("a", Signal("e", "locked")),
    inputs.LinkDown("d"),
    inputs.ClientUnsubscribed("s", FILTER),
    inputs.Received("a", Unsubscribe((FILTER,))),
    inputs.Received("a", Lock("other", ("a", "b", "d"), 2, "none")),
    inputs.LinkDown("a"),
)


def fresh() -> Broker:
    return Broker("b", BrokerConfig(), FixedCatalogue((FILTER,)))


def test_a_clone_answers_as_the_broker_itself_would_and_leaves_it_alone() -> None:
    broker, witness = fresh(), fresh()
    for number, given in enumerate(LIFE):
        before = state_of(broker)
        other = clone(broker)
        assert state_of(other) == before
        assert hash(state_of(other)) == hash(before)
        for later in LIFE[number:]:
            other.handle(0, later)
        assert state_of(broker) == before
        assert broker.handle(0, given) == witness.handle(0, given)
        broker = clone(broker)


def test_states_that_differ_are_told_apart() -> None:
    broker = fresh()
    states = [state_of(broker)]
    for given in LIFE:
        broker.handle(0, given)
        states.append(state_of(broker))
    changes = sum(before != after for before, after in pairwise(states))
    assert changes == len(LIFE) - 4  # four change nothing: an event routed, and what comes out of turn


def test_an_event_stays_itself_in_a_clone() -> None:
    broker = fresh()
    broker.handle(0, inputs.JoinOrdered())
    broker.handle(0, inputs.LinkUp("a", 1))
    broker.handle(0, inputs.ClientPublished(EVENT))
    other = clone(broker)
    other.handle(0, inputs.Received("a", Subscribe((FILTER,))))
    (forward,) = other.handle(0, inputs.Received("a", Membership("welcome")))
    assert forward.event is EVENT


def test_what_a_broker_still_waits_for_is_named() -> None:
    broker = fresh()
    assert left_over(broker) == []
    broker.handle(0, inputs.LinkUp("a", 1))
    broker.handle(0, inputs.LinkUp("d", 1))
    broker.handle(0, inputs.Received("a", Subscribe((FILTER,))))
    assert left_over(broker) == []
    broker.handle(0, inputs.LinkDown("a"))
    assert left_over(broker) == ["replacing.lost.waiting: {'withdraw:a-b#1': 1}"]
    broker.handle(0, inputs.TimerFired("withdraw:a-b#1"))
    assert left_over(broker) == []


def test_a_closure_is_refused() -> None:
    broker = fresh()
    broker._settlement._withheld = lambda: 0
    with pytest.raises(AssertionError, match="a function may hide state"):
        state_of(broker)


def test_a_filter_that_was_not_foreseen_is_refused() -> None:
    with pytest.raises(AssertionError, match="was not foreseen"):
        FixedCatalogue((FILTER,)).hold("size > 1")

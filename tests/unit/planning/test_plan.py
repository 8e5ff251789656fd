"""What is refused, and how long large plans take."""

import time
from itertools import pairwise
from random import Random

import pytest

from effort import quick_first
from regraft.errors import UsageError
from regraft.model.trees import Link, adjacency_of
from regraft.planning import LeafAddition, LeafRemoval, LinkExchange, carry_out, plan
from trees import as_set, tree_of

BROKERS = [f"b{number}" for number in range(1_000)]


def chain(brokers: list[str]) -> list[Link]:
    return list(pairwise(brokers))


def star(brokers: list[str]) -> list[Link]:
    return [(brokers[0], leaf) for leaf in brokers[1:]]


def bush(brokers: list[str]) -> list[Link]:
    dice = Random(1)
    return [(brokers[dice.randrange(place)], brokers[place]) for place in range(1, len(brokers))]


@pytest.mark.parametrize("shape", [bush, chain, star])
@pytest.mark.parametrize("wanted_shape", quick_first([bush, chain, star], 1))
def test_a_thousand_brokers_are_planned_within_ten_seconds(shape, wanted_shape) -> None:
    shuffled = Random(7).sample(BROKERS, len(BROKERS))
    current, wanted = shape(BROKERS), wanted_shape(shuffled)
    begin_s = time.process_time()
    groups = plan(current, wanted)
    assert time.process_time() - begin_s < 10.0
    adjacency = adjacency_of(current, "current")
    for group in groups:
        for step in group:
            carry_out(adjacency, step)
    assert {frozenset((a, b)) for a in adjacency for b in adjacency[a]} == as_set(wanted)
    assert sum(len(group) for group in groups) == len(as_set(wanted) - as_set(current))


def test_exchanges_far_from_each_other_share_a_group() -> None:
    current = chain(["a", "b", "c", "d", "e", "f"])
    wanted = [("a", "c"), ("b", "c"), ("c", "d"), ("d", "f"), ("e", "f")]
    (group,) = plan(current, wanted)
    assert sorted(step.cycle for step in group if isinstance(step, LinkExchange)) == [("a", "c", "b"), ("d", "f", "e")]


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        ([], "no links"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "link c-a closes a loop"),
        ([("a", "b"), ("b", "a")], "link b-a closes a loop"),
        ([("a", "a")], "link a-a closes a loop"),
        ([("a", "b"), ("c", "d")], "c is not connected with a"),
    ],
)
def test_what_is_no_tree_is_refused_on_either_side(links: list[Link], reason: str) -> None:
    with pytest.raises(UsageError, match=f"the current tree: .*{reason}"):
        plan(links, [("a", "b")])
    with pytest.raises(UsageError, match=f"the wanted tree: .*{reason}"):
        plan([("a", "b")], links)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (LeafAddition("a", "b"), "add a at b: there is a broker a already"),
        (LeafAddition("x", "y"), "add x at y: there is no broker y"),
        (LeafRemoval("b", "a"), "remove b from a: b is no leaf of a"),
        (LeafRemoval("x", "a"), "remove x from a: x is no leaf of a"),
        (LinkExchange(("a", "c"), ("b", "c"), ("a", "b", "c"), 2), "exchange a-c for b-c: the tree is another"),
    ],
)
def test_a_step_that_does_not_fit_the_tree_is_refused(step, reason: str) -> None:
    adjacency = adjacency_of([("a", "b"), ("b", "c")], "current")
    with pytest.raises(UsageError, match=reason):
        carry_out(adjacency, step)
    assert adjacency == adjacency_of([("a", "b"), ("b", "c")], "current")


def test_trees_for_tests_are_trees() -> None:
    for seed in range(20):
        adjacency_of(tree_of(BROKERS[:10], Random(seed)), "test")

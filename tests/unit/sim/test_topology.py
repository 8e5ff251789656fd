"""What the generators make is a tree of the wanted degree, and what is no tree is refused by name."""

from itertools import permutations
from random import Random

import pytest

from regraft.errors import ScenarioError
from regraft.model.trees import check_tree
from regraft.sim.scenario import LinkQuality, TreeShape
from regraft.sim.topology import make_tree


@pytest.mark.parametrize("shape", ["attachment", "balanced", "transit_stub"])
@pytest.mark.parametrize("brokers", [1, 2, 3, 50])
@pytest.mark.parametrize("degree_max", [2, 4])
def test_generated_tree_is_a_tree_of_bounded_degree(shape: str, brokers: int, degree_max: int) -> None:
    wanted = TreeShape(shape=shape, brokers=brokers, degree_max=degree_max, nodes=200, domains=10)
    tree = make_tree(wanted, LinkQuality(), Random(7))
    assert len(tree.brokers) == brokers
    assert len(tree.links) == brokers - 1
    check_tree(tree.brokers, [(a, b) for a, b, _ in tree.links], "tree.links")
    for broker in tree.brokers:
        assert sum(broker in link[:2] for link in tree.links) <= degree_max


@pytest.mark.parametrize("domains", [1, 5, 20])
def test_no_two_brokers_on_a_transit_stub_network_are_farther_apart_than_the_longest_latency(domains: int) -> None:
    wanted = TreeShape(shape="transit_stub", brokers=40, nodes=1_000, domains=domains, latency_ms_max=100.0)
    tree = make_tree(wanted, LinkQuality(), Random(1))
    assert max(tree.latency_ns(a, b) for a, b in permutations(tree.brokers, 2)) == 100_000_000
    assert all(latency_ns == tree.latency_ns(a, b) > 0 for a, b, latency_ns in tree.links)


def test_a_message_on_a_transit_stub_network_takes_the_shortest_way() -> None:
    wanted = TreeShape(shape="transit_stub", brokers=30, nodes=300, domains=6)
    apart = make_tree(wanted, LinkQuality(), Random(1))
    for a, b, c in permutations(apart.brokers, 3):
        assert apart.latency_ns(a, b) == apart.latency_ns(b, a)
        assert apart.latency_ns(a, c) <= apart.latency_ns(a, b) + apart.latency_ns(b, c) + 2  # each is rounded


def test_a_broker_that_joins_later_is_as_far_as_the_link_says() -> None:
    tree = make_tree(TreeShape(shape="transit_stub", brokers=3), LinkQuality(latency_us=7.0), Random(1))
    assert tree.latency_ns("new", tree.brokers[0]) == 7_000


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        (("a-b", "b-c", "c-a"), "link c-a closes a loop"),
        (("a-b", "c-d"), "c is not connected with a"),
        (("a-b", "a-b"), "link a-b closes a loop"),
        (("a-a",), "is no link"),
        (("ab",), "is no link"),
        (("a-b-c",), "is no link"),
    ],
)
def test_what_is_no_tree_is_refused_by_name(links: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        make_tree(TreeShape(shape="explicit", links=links), LinkQuality(), Random(1))

"""What the generators make is a tree of the wanted degree, and what is no tree is refused by name."""

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


def test_transit_stub_keeps_to_the_longest_latency() -> None:
    wanted = TreeShape(shape="transit_stub", brokers=40, nodes=1_000, domains=20, latency_ms_max=100.0)
    tree = make_tree(wanted, LinkQuality(), Random(1))
    latencies = [latency_ns for _, _, latency_ns in tree.links]
    assert max(latencies) == 100_000_000
    assert min(latencies) > 0


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

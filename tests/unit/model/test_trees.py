"""What lies beyond each link, against a walk through the tree for each."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from regraft.model.trees import beyond_each_wire, parents
from regraft.sim.scenario import LinkQuality, TreeShape
from regraft.sim.topology import make_tree


@given(st.integers(1, 30), st.integers(0, 10_000), st.integers(0, 5))
def test_beyond_a_wire_is_what_a_walk_finds(brokers: int, seed: int, broken: int) -> None:
    dice = Random(seed)
    tree = make_tree(TreeShape(brokers=brokers), LinkQuality(), dice)
    adjacency: dict[str, dict[str, int]] = {broker: {} for broker in tree.brokers}
    for a, b, latency_ns in list(tree.links)[broken:]:
        adjacency[a][b] = adjacency[b][a] = latency_ns
    local = {broker: dice.getrandbits(6) for broker in tree.brokers}

    def walk(broker: str, came_from: str) -> int:
        found = local[broker]
        for neighbour in adjacency[broker]:
            if neighbour != came_from:
                found |= walk(neighbour, broker)
        return found

    expected = {(a, b): walk(b, a) for a in adjacency for b in adjacency[a]}
    assert beyond_each_wire(adjacency, local) == expected
    above = parents(adjacency, tree.brokers[0])
    assert above[tree.brokers[0]] == ""
    assert all(parent in adjacency[broker] for broker, parent in above.items() if parent)

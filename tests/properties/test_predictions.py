"""What a plan predicts for each step is what the simulator then counts, message by message, in a quiet network."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import EXAMPLES
from quiet import LATENCY_NS, come_to_rest, quiet_world
from regraft.model.trees import Link, adjacency_of
from regraft.planning import LeafAddition, LeafRemoval, LinkExchange, plan, predict
from regraft.trace import TraceBuffer
from trees import two_trees


@pytest.mark.parametrize("protocol", ["coordinated-none", "coordinated-fifo", "coordinated-causal"])
@settings(max_examples=EXAMPLES // 4)
@given(trees=two_trees(brokers_max=10), seed=st.integers(0, 2**32), batch=st.booleans())
def test_a_step_costs_what_was_predicted(
    protocol, trees: tuple[list[Link], list[Link]], seed: int, batch: bool
) -> None:
    current, wanted = trees
    world = quiet_world(current, Random(seed), protocol, TraceBuffer("plan"), batch=batch)
    local = {broker: node.core.table.local for broker, node in world.nodes.items()}
    groups = plan(current, wanted)
    causal = protocol == "coordinated-causal"
    predictions = predict(adjacency_of(current, "current"), groups, local, causal=causal, batch=batch)
    steps = [step for group in groups for step in group]
    accounts = world.chronicle.accounts
    for step, predicted in zip(steps, [one for group in predictions for one in group], strict=True):
        before = world.chronicle.control_hops
        match step:
            case LeafAddition(leaf, at):
                world.leaves.add(leaf, at, LATENCY_NS)
            case LinkExchange(removed, added):
                name = world.exchanges.begin(removed, added, LATENCY_NS)
            case LeafRemoval(leaf):
                world.leaves.remove(leaf, clients_too=True)
        come_to_rest(world)
        assert world.chronicle.control_hops - before == predicted.messages
        if isinstance(step, LinkExchange):
            (account,) = [account for account in accounts.settled() if account.reconfiguration == name]
            assert (account.outcome, account.touched_off_path) == ("done", 0)
            assert (account.messages, account.filters_carried) == (predicted.messages, predicted.filters_carried)
            assert account.floor == predicted.floor
    assert world.adjacency.keys() == adjacency_of(wanted, "wanted").keys()
    assert not world.refused

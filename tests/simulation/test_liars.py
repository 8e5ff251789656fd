"""One broker says what it may not say, while others exchange links: it is reported and isolated, the others go on."""

from contextlib import suppress
from random import Random

import pytest

from regraft.broker import BrokerConfig
from regraft.broker.inputs import Received
from regraft.broker.messages import Confirm, Control, Lock, Membership, Signal, SignalStep
from regraft.errors import UsageError
from regraft.sim.checkers import Quiet, Tables
from regraft.sim.scenario import LinkQuality, TreeShape
from regraft.sim.topology import make_tree
from regraft.sim.world import World
from regraft.trace import TraceBuffer

MILLISECOND_NS = 1_000_000
LIAR = "b03"


def lie(world: World, dice: Random) -> Control:
    exchange = dice.choice([*world.exchanges.under_way, "none"])
    under_way = world.exchanges.under_way.get(exchange)
    cycle, near = (under_way.cycle, under_way.near) if under_way else ((LIAR, *sorted(world.adjacency[LIAR]), "b00"), 2)
    return dice.choice(
        [
            Signal(exchange, dice.choice(SignalStep.__args__)),
            Signal(exchange, dice.choice(SignalStep.__args__)),
            Lock(exchange, cycle, near, "causal"),
            Membership(dice.choice(["welcome", "join"])),
            Confirm(LIAR, 1, 1, ("price > 1",)),
        ]
    )


@pytest.mark.parametrize("seed", range(1, 9))
def test_the_others_go_on_when_a_liar_is_isolated(seed: int) -> None:
    dice = Random(seed)
    world = World(BrokerConfig(), TraceBuffer("liar"), "counted", dice=Random(seed), exchange_order="causal")
    tree = make_tree(TreeShape(brokers=14, degree_max=4), LinkQuality(latency_us=1_000.0), Random(seed))
    for name in tree.brokers:
        world.add_broker(name)
        world.add_client(f"c.{name}", name)
    for a, b, latency_ns in tree.links:
        world.link_up(a, b, latency_ns)
    for name in tree.brokers:
        world.subscribe(f"c.{name}", f"price > {dice.randrange(10)}", True)
    done: list[str] = []
    world.exchanges.ended.append(lambda exchange, outcome: done.append(outcome))
    isolated_after = 0

    def mend() -> None:
        """The tree is joined again without the liar."""
        others = [name for name in world.nodes if name != LIAR and LIAR not in world.oracle.component(name)]
        for name in others:
            if name not in world.oracle.component(others[0]):
                world.link_up(name, others[0], MILLISECOND_NS)

    def exchange() -> None:
        links = [(a, b) for a in world.adjacency for b in world.adjacency[a] if a < b and LIAR not in (a, b)]
        ends = [name for name in sorted(world.nodes) if name != LIAR]
        with suppress(UsageError):  # no exchange: the link is not on the way between the two
            world.exchanges.begin(dice.choice(links), tuple(dice.sample(ends, 2)), MILLISECOND_NS)

    for moment in range(400):
        world.advance(world.now_ns + 2 * MILLISECOND_NS)
        mend()
        if moment % 4 == 0:
            exchange()
        world.publish(f"c.{dice.choice(tree.brokers)}", {"price": dice.randrange(12)})
        if world.adjacency[LIAR] or not isolated_after:
            target = dice.choice(sorted(world.nodes[LIAR].wires) or [name for name in tree.brokers if name != LIAR])
            world.give(world.nodes[target], Received(LIAR, lie(world, dice)))
            world.nodes[target].core.check()
        if not world.adjacency[LIAR] and not isolated_after:
            isolated_after = len(done)
    world.crash(LIAR)
    while world.step():
        mend()
    complaints = [complaint for complaint in world.misbehaved if not complaint.startswith(LIAR)]
    assert complaints
    assert all(f" of {LIAR}: " in complaint for complaint in complaints)
    assert isolated_after, "the liar was never isolated"
    assert "done" in done[isolated_after:]
    assert not world.exchanges.under_way
    world.nodes.pop(LIAR), world.adjacency.pop(LIAR)
    world.home.pop(f"c.{LIAR}")
    assert Tables().violations(world) == []
    assert Quiet().violations(world) == []

"""Two ends of a link that hold different tables say everything again."""

from random import Random

import pytest

from regraft.broker import BrokerConfig
from regraft.broker.inputs import TablesDiffer
from regraft.sim.checkers import Tables
from regraft.sim.world import World
from regraft.trace import TraceBuffer

MILLISECOND_NS = 1_000_000


def world() -> World:
    """a-b-c, a client with a filter at each, and all is told."""
    made = World(BrokerConfig(), TraceBuffer("test"), "full", dice=Random(1))
    for name in "abc":
        made.add_broker(name)
        made.add_client(f"client {name}", name)
    made.link_up("a", "b", MILLISECOND_NS)
    made.link_up("b", "c", MILLISECOND_NS)
    for number, name in enumerate("abc"):
        made.subscribe(f"client {name}", f"price > {number}")
    while made.step():
        pass
    return made


@pytest.mark.parametrize("both", [False, True])
def test_what_was_not_heard_is_told_again(both: bool) -> None:
    made = world()
    b = made.nodes["b"]
    b.core.table.heard["a"] = 0
    assert Tables().violations(made)
    made.give(b, TablesDiffer("a"))
    if both:
        made.give(made.nodes["a"], TablesDiffer("b"))
    while made.step():
        pass
    assert Tables().violations(made) == []
    for node in made.nodes.values():
        node.core.check()
    made.give(b, TablesDiffer("a"))  # it can be said again
    assert made.step(), "something is under way"


def test_it_says_nothing_where_there_is_no_link() -> None:
    made = world()
    made.give(made.nodes["a"], TablesDiffer("c"))
    assert not made.step(), "nothing is under way"

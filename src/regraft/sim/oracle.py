"""What only the world knows: the whole tree, what lies beyond each of its links, and where its root is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regraft.broker.inputs import ParentAssigned
from regraft.errors import UsageError
from regraft.model.trees import behind, beyond_each_wire, component, connected, parents
from regraft.planning import differing, floor_of

if TYPE_CHECKING:
    from regraft.sim.world import World


class Oracle:
    """`stale` is set by whatever changes the tree or the clients' filters."""

    def __init__(self, world: "World", root: str) -> None:
        self._world = world
        self._root = root
        self.stale = True

    def component(self, name: str) -> dict[str, None]:
        """The brokers that the tree, as it is, connects with this one."""
        return component(self._world.adjacency, name)

    def demand_apart(self, a: str, b: str) -> None:
        """Refuses a link that the tree has no room for."""
        if b in self._world.adjacency[a]:
            raise UsageError(f"{a} and {b} are linked already")
        if connected(self._world.adjacency, a, b):
            raise UsageError(f"a link {a}-{b} would close a loop")

    def floor(self, cycle: Sequence[str], near: int) -> int | None:
        """Of the exchange on this cycle (`planning/floor.py`), by the clients' filters of now. None where somebody on
        it is down, and in a hierarchy."""
        world = self._world
        down = [broker for broker in cycle if broker not in world.nodes or not world.nodes[broker].alive]
        if down or world.config.forwarding == "hierarchical":
            return None
        if world.config.forwarding == "message":
            return 0
        filters = behind(world.adjacency, cycle, self.local())
        maximal = [world.catalogue.maximal] if world.config.covering else []
        return floor_of(differing(filters, near, *maximal))

    def local(self) -> dict[str, int]:
        """The filters of each broker's clients."""
        return {name: node.core.table.local if node.alive else 0 for name, node in self._world.nodes.items()}

    def look_beyond_wires(self) -> None:
        """Which filters lie beyond each wire. An event that crosses a wire beyond which nobody wants it is misrouted
        (icdcs03 §6.3); a gray one goes by the tree that is being made."""
        world = self._world
        local = self.local()
        beyond = beyond_after = beyond_each_wire(world.adjacency, local)
        if world.exchanges.under_way:
            beyond_after = beyond_each_wire(world.exchanges.adjacency_after(), local)
        world.wires = [wire for wire in world.wires if wire.alive]
        for wire in world.wires:
            pair = wire.source.name, wire.target.name
            wire.beyond_after = beyond_after.get(pair, 0)
            wire.beyond = beyond.get(pair, wire.beyond_after)
        self.stale = False

    def assign_parents(self) -> None:
        world = self._world
        if world.config.forwarding != "hierarchical":
            return
        for name, parent in parents(world.adjacency, self._root or next(iter(world.nodes))).items():
            node = world.nodes[name]
            if node.alive and node.parent != parent:
                node.parent = parent
                world.give(node, ParentAssigned(parent))

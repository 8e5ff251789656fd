"""Links that break without warning, the links that replace them, and who is told of that.

A replacement belongs to the break whose two sides it joins. As long as every break that waits is replaced by a link
between its own two sides there is only one such break: contracted to its parts, with the breaks that wait as links, the
forest is a tree. A link that joins the sides of no break (a crashed broker comes back) is announced to nobody, and on
no account.

The overlay manager is the world's. Under `path` it tells both ends of the broken link the way between them, by way of
the new link; under `informed`, each the end of the new link in its part of the tree; under `auto`, what it knows and
`planning/choosing.py` advises. It is not told when a reconfiguration is over, and takes one for under way as long as
those that it has told may wait.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from regraft.broker.inputs import EndFound, PathFound
from regraft.broker.messages import Informed, Order, change_name
from regraft.model.trees import Link, in_order, path
from regraft.planning import Knowledge, Known, choose
from regraft.sim.accounts import Entry
from regraft.sim.network import Node, Wire
from regraft.trace import schema as row

if TYPE_CHECKING:
    from regraft.sim.world import World


class Breaks:
    def __init__(self, world: "World", knows: Knowledge) -> None:
        self._world = world
        self._knows = knows
        self._announced: dict[str, int] = {}  # until when those that are told may wait
        self._latencies_ns: dict[str, int] = {}  # of the new links that were announced
        self._open: dict[str, tuple[str, str, int]] = {}  # those that wait for a replacement: their ends, incarnation

    def begin(self, a: str, b: str) -> None:
        """The link between these two breaks."""
        world = self._world
        world.link_down(a, b)
        incarnation = world.incarnations[in_order(a, b)]
        name = change_name(a, b, incarnation, comes=False)
        self._open[name] = (a, b, incarnation)
        world.chronicle.accounts.entries[name] = Entry((a, b), (name,))
        known: dict[str, object] = {"removed": (a, b), "changes": (name,)}
        if world.config.reconfiguration == "auto":
            known |= asdict(choose(Known(planned=False, order=None, knowledge="nothing", under_way=0)))
        self._write(row.KIND_RECONFIGURATION_BEGIN, a, name, known)

    def replace(self, a: str, b: str, latency_ns: int, loss: float = 0.0) -> None:
        """A new link, which replaces one that is broken, if it joins the sides of one."""
        world = self._world
        for name, (r1, r2, incarnation) in self._open.items():
            if r1 not in world.adjacency or r2 not in world.adjacency:
                continue  # a leaf that has left
            for a1, a2 in ((a, b), (b, a)):
                head, tail = (path(world.adjacency, *ends) for ends in ((r1, a1), (a2, r2)))
                if head and tail:
                    del self._open[name]
                    way, near = (*head, *tail), len(head)
                    chosen = self.chosen(planned=False, order=None)
                    self._replaced(name, (r1, r2), (a1, a2), way, near, chosen)
                    self.announce(incarnation, way, near, latency_ns, loss, chosen)
                    return
        world.link_up(a, b, latency_ns, loss)

    def chosen(self, *, planned: bool, order: Order | None) -> dict[str, str]:
        """Under `auto`, the protocol for this reconfiguration, and why; under any other, nothing is to be chosen."""
        world = self._world
        if world.config.reconfiguration != "auto":
            return {}
        self._announced = {name: until for name, until in self._announced.items() if until > world.now_ns}
        under_way = len(self._open) + len(self._announced) + len(world.exchanges.under_way)
        return asdict(choose(Known(planned, order, self._knows, under_way)))

    def announce(
        self, incarnation: int, way: Sequence[str], near: int, latency_ns: int, loss: float, chosen: dict[str, str]
    ) -> None:
        """The new link, and who must know of it: the link lost between the ends of the way had that incarnation."""
        world = self._world
        r1, a1, a2, r2 = way[0], way[near - 1], way[near], way[-1]
        protocol = chosen.get("protocol", world.config.reconfiguration)
        if protocol not in ("path", "informed") or not (world.nodes[r1].alive and world.nodes[r2].alive):
            world.link_up(a1, a2, latency_ns, loss)
            return
        name = change_name(r1, r2, incarnation, comes=False)
        self._latencies_ns[name] = latency_ns
        self._announced[name] = world.now_ns + world.config.announced_within_ns + world.config.withdraw_after_ns
        world.link_up(a1, a2, latency_ns, loss, announced=name)
        for end, other, new_end in ((r2, r1, a2), (r1, r2, a1)):
            node = world.nodes[end]
            wire = node.wires.get(other)
            if wire is not None and not wire.alive:
                world.tell_link_down(node, other, wire)
            if protocol == "path":
                world.give(node, PathFound(other, incarnation, tuple(way), near))
            else:
                world.give(node, EndFound(other, incarnation, new_end))

    def send_direct(self, node: Node, broker: str, message: Informed) -> None:
        """A connection for this message alone, as fast as the new link."""
        world = self._world
        target = world.nodes.get(broker)
        if target is not None:
            latency_ns = self._latencies_ns[message.reconfiguration]
            world.traffic.send(Wire(node, target, latency_ns, 0.0), message)

    def _replaced(
        self, name: str, removed: Link, added: Link, cycle: tuple[str, ...], near: int, chosen: dict[str, str]
    ) -> None:
        world = self._world
        come = world.incarnations.get(in_order(*added), 0) + 1
        changes = (name, change_name(*added, come, comes=True))
        floor = world.oracle.floor(cycle, near)
        world.chronicle.accounts.entries[name] = Entry(removed, changes, cycle, "replaced", floor)
        known: dict[str, object] = {"outcome": "replaced", "removed": removed, "added": added}
        known |= {"cycle": cycle, "near": near, "changes": changes, "floor": floor}
        self._write(row.KIND_RECONFIGURATION_END, removed[0], name, known | chosen)

    def _write(self, kind: str, broker: str, name: str, known: dict[str, object]) -> None:
        self._world.chronicle.reconfiguration(self._world.now_ns, kind, broker, name, known)

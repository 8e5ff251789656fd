"""A plan carried out while events flow: one group of steps after the other, the steps of a group at the same time.

A group is over when each of its exchanges has ended, well or not, and each of its leaves has gone; then the plan is
made anew from the tree as it then is. If nothing came between, the new plan is the rest of the old one; if a link
broke, an exchange failed or an operator moved something else, it leads to the wanted tree all the same. While the
network is no tree nothing is ordered, and a step that is refused comes again with the next plan. A plan that has not
arrived when the run is over is a violation.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from regraft.errors import UsageError
from regraft.model.trees import Link
from regraft.planning import LeafAddition, LeafRemoval, LinkExchange, Step, describe, plan
from regraft.sim.topology import Latency

if TYPE_CHECKING:
    from regraft.sim.world import World

LOOK_AGAIN_NS = 10_000_000


class PlanInHand:
    """`go_on` is due when the plan is; `until_ns` is when it is given up. `leaf_arrived` is told of each new broker."""

    def __init__(
        self,
        world: "World",
        wanted: list[Link],
        latency_ns: Latency,
        loss: float,
        leaf_arrived: Callable[[str], None],
        until_ns: int,
    ) -> None:
        self._world = world
        self._wanted = wanted
        self._latency_ns = latency_ns
        self._loss = loss
        self._leaf_arrived = leaf_arrived
        self._until_ns = until_ns
        self._exchanges: dict[str, None] = {}  # of the group in hand
        self._leaves: dict[str, None] = {}  # that are to go
        self._refusal = ""  # the last one
        self.steps = 0  # ordered
        self.arrived = False

    def go_on(self) -> None:
        world = self._world
        if self._under_way() or not self._is_tree():
            self._look_again()
            return
        links = [(a, b) for a, neighbours in world.adjacency.items() for b in neighbours if a < b]
        groups = plan(links, self._wanted)
        if not groups:
            self.arrived = True
            return
        self._exchanges.clear()
        self._leaves.clear()
        for step in groups[0]:
            try:
                self._take(step)
                self.steps += 1
            except UsageError as error:
                self._refusal = f"{describe(step)}: {error}"
        self._look_again()

    def violations(self) -> list[str]:
        return [] if self.arrived else [f"the plan has not arrived: {self._refusal or 'its last group is under way'}"]

    def _under_way(self) -> bool:
        world = self._world
        return any(name in world.exchanges.under_way for name in self._exchanges) or any(
            name in world.leaves.leaving for name in self._leaves
        )

    def _is_tree(self) -> bool:
        """A broker that is down has no links, so that the others are no tree with it."""
        world = self._world
        return len(world.oracle.component(next(iter(world.nodes)))) == len(world.nodes)

    def _take(self, step: Step) -> None:
        world = self._world
        match step:
            case LeafAddition(leaf, at):
                world.leaves.add(leaf, at, self._latency_ns(leaf, at), self._loss)
                self._leaf_arrived(leaf)
            case LinkExchange(removed, added):
                name = world.exchanges.begin(removed, added, self._latency_ns(*added), self._loss)
                self._exchanges[name] = None
            case LeafRemoval(leaf):
                world.leaves.remove(leaf, clients_too=True)
                self._leaves[leaf] = None

    def _look_again(self) -> None:
        if self._world.now_ns < self._until_ns:
            self._world.agenda.put(self._world.now_ns + LOOK_AGAIN_NS, self.go_on)

"""The operator's part of leaves: a broker is added to the network while it runs, or taken from it for good.

The broker and its neighbour do the rest (`broker/membership.py`). A broker that has left is forgotten by the world; of
one that refuses, the reason is kept with what else was refused.
"""

from typing import TYPE_CHECKING

from regraft.broker.inputs import JoinOrdered, LeaveOrdered
from regraft.errors import UsageError
from regraft.trace import schema as row

if TYPE_CHECKING:
    from regraft.sim.world import World


class Leaves:
    def __init__(self, world: "World") -> None:
        self._world = world
        self.leaving: dict[str, None] = {}

    def add(self, name: str, neighbour: str, latency_ns: int, loss: float = 0.0) -> None:
        """A new broker, hung on one that is there."""
        world = self._world
        if name in world.nodes:
            raise UsageError(f"there is a broker {name} already")
        if not world.node(neighbour).alive:
            raise UsageError(f"{neighbour} is down")
        self.demand_to_stay(neighbour)
        world.add_broker(name)
        world.give(world.nodes[name], JoinOrdered())
        world.link_up(name, neighbour, latency_ns, loss)

    def remove(self, name: str, *, clients_too: bool = False) -> None:
        """It has left when what it has sent has arrived. Its clients must have gone before, or go now."""
        world = self._world
        node = world.node(name)
        self.demand_to_stay(name)
        if not node.alive:
            raise UsageError(f"{name} is down")
        if len(world.adjacency[name]) > 1:
            raise UsageError(f"{name} is no leaf: it has {len(world.adjacency[name])} links")
        if len(world.nodes) == 1:
            raise UsageError(f"{name} is the last broker")
        for exchange in world.exchanges.under_way.values():
            if name in exchange.cycle:
                raise UsageError(f"{name} takes part in the exchange {exchange.name}")
        for client in [client for client, home in world.home.items() if home == name]:
            if clients_too:
                self.detach(client)
            elif world.subscriptions[client]:
                raise UsageError(f"{name} has a client with subscriptions, {client}; it must go first")
        self.leaving[name] = None
        world.give(node, LeaveOrdered())

    def may_go(self, name: str) -> bool:
        """Whether it is up, has joined, knows that it is a leaf, keeps nothing for clients, and is neither about to
        leave nor of an exchange."""
        node = self._world.nodes[name]
        is_free = not any(name in exchange.cycle for exchange in self._world.exchanges.under_way.values())
        knows = node.core.is_member() and len(node.wires) == 1 and not node.core.table.kept
        return node.alive and knows and name not in self.leaving and is_free

    def detach(self, client: str) -> None:
        """The client is gone for good, with all its subscriptions."""
        world = self._world
        world.node_of(client)
        for filter in list(world.subscriptions[client]):
            world.unsubscribe(client, filter)
        world.mobility.detached(client, world.node_of(client))
        del world.home[client], world.subscriptions[client]

    def demand_to_stay(self, name: str) -> None:
        if name in self.leaving:
            raise UsageError(f"{name} is about to leave")

    def closed(self, a: str, b: str) -> bool:
        """A broker has closed this link of the tree: whether because one of the two leaves."""
        for name in (a, b):
            if name in self.leaving:
                self._forget(name)
                return True
        return False

    def answered(self, name: str, reason: str) -> None:
        if reason:
            self.leaving.pop(name, None)
            self._world.refused.append(f"{name} does not leave: {reason}")
        elif name in self.leaving:
            self._forget(name)

    def _forget(self, name: str) -> None:
        world = self._world
        del self.leaving[name]
        world.exchanges.broker_down(name)
        for neighbour in list(world.adjacency[name]):
            world.link_down(name, neighbour)
        del world.nodes[name], world.adjacency[name]
        world.chronicle.topology(world.now_ns, row.KIND_BROKER_DOWN, name)
        for client in [client for client, home in world.home.items() if home == name]:
            world.mobility.forget(client)
            del world.home[client], world.subscriptions[client]
        world.oracle.stale = True

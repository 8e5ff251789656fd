"""What must hold in a run: one object a claim. A violation is a sentence; a run without any keeps its promises.

`Tables`, `Connected` and `Quiet` are promised by every protocol, `InForce` by every broker; `Delivered`, `InOrder` and
`Causal` only by some protocols, so a scenario names the checks that it wants.
"""

from typing import Protocol

from regraft.broker import BrokerConfig, FilterCatalogue
from regraft.model.trees import Adjacency, beyond_each_wire
from regraft.sim.causality import Causality
from regraft.sim.network import Node
from regraft.sim.world import World

EXAMPLES_MAX = 5


class Checker(Protocol):
    def violations(self, world: World) -> list[str]:
        """Asked once, when the run has ended and nothing is under way."""


class Overlay(Protocol):
    """What the tables are compared with: the tree, and what clients have subscribed to."""

    @property
    def config(self) -> BrokerConfig: ...
    @property
    def catalogue(self) -> FilterCatalogue: ...
    @property
    def nodes(self) -> dict[str, Node]: ...
    @property
    def adjacency(self) -> Adjacency: ...
    @property
    def home(self) -> dict[str, str]: ...
    @property
    def subscriptions(self) -> dict[str, dict[str, bool]]: ...


def _exact(world: Overlay, beyond: int, broker: str, neighbour: str) -> int:
    """What a broker should have heard from a neighbour, from the final tree and the clients' filters alone."""
    match world.config.forwarding:
        case "message":
            return 0
        case "hierarchical" if world.nodes[broker].parent == neighbour:
            return 0
    return world.catalogue.maximal(beyond) if world.config.covering else beyond


class Tables:
    """Every broker's table is the one that the final tree and the clients' filters give when built from scratch."""

    def violations(self, world: Overlay) -> list[str]:
        found = []
        for broker, node in world.nodes.items():
            if not node.alive:
                continue
            wanted = 0
            for client, home in world.home.items():
                if home == broker:
                    for filter in world.subscriptions[client]:
                        wanted |= world.catalogue.bit(filter)
            if node.core.table.local != wanted:
                found.append(f"{broker} has not the filters of its clients")
        local = {name: node.core.table.local if node.alive else 0 for name, node in world.nodes.items()}
        beyond = beyond_each_wire(world.adjacency, local)
        for broker, node in world.nodes.items():
            if not node.alive:
                continue
            if node.core.table.heard.keys() != world.adjacency[broker].keys():
                found.append(f"{broker} believes in links to {sorted(node.core.table.heard)}")
                continue
            for neighbour, heard in node.core.table.heard.items():
                difference = heard ^ _exact(world, beyond[broker, neighbour], broker, neighbour)
                if difference:
                    texts = ", ".join(world.catalogue.texts(difference)[:EXAMPLES_MAX])
                    found.append(f"{broker}: {difference.bit_count()} wrong entries towards {neighbour}: {texts}")
        return found


def wrong_entries(world: World) -> int:
    """How many (broker, neighbour, filter) entries differ from the exact tables."""
    local = {name: node.core.table.local if node.alive else 0 for name, node in world.nodes.items()}
    beyond = beyond_each_wire(world.adjacency, local)
    count = 0
    for broker, node in world.nodes.items():
        for neighbour, heard in node.core.table.heard.items() if node.alive else ():
            right = _exact(world, beyond.get((broker, neighbour), 0), broker, neighbour)
            count += (heard ^ right).bit_count()
    return count


class Connected:
    """The brokers that are up form one tree."""

    def violations(self, world: World) -> list[str]:
        up = [name for name, node in world.nodes.items() if node.alive]
        links = sum(len(neighbours) for neighbours in world.adjacency.values()) // 2
        if links != len(up) - 1:
            return [f"{len(up)} brokers are up, with {links} links between them"]
        missing = [name for name in up if name not in world.oracle.component(up[0])]
        return [f"{', '.join(missing[:EXAMPLES_MAX])} not connected with {up[0]}"] if missing else []


class Quiet:
    """After the last change the network comes to rest: nothing under way at the end, nothing left to be sent."""

    def violations(self, world: World) -> list[str]:
        found = []
        if world.traffic.control_under_way:
            found.append(f"{world.traffic.control_under_way} control messages under way at the end")
        locked = [name for name, node in world.nodes.items() if node.alive and node.core.is_locked]
        if locked:
            found.append(f"locked for an exchange at the end: {', '.join(locked[:EXAMPLES_MAX])}")
        owed = [name for name, node in world.nodes.items() if node.alive and node.core.confirmation.is_owed]
        if owed:
            found.append(f"clients still wait to be told what is in force at {', '.join(owed[:EXAMPLES_MAX])}")
        waiting = [name for name, node in world.nodes.items() if node.timers]
        if waiting:
            found.append(f"timers still run at {', '.join(waiting[:EXAMPLES_MAX])}")
        return found


class Delivered:
    """Nothing owed is lost, nothing is delivered twice."""

    def violations(self, world: World) -> list[str]:
        assert world.ledger is not None
        numbers = world.ledger.numbers()
        found = []
        if numbers.lost:
            found.append(f"{numbers.lost} lost: {', '.join(world.ledger.lost_events(EXAMPLES_MAX))}")
        if numbers.duplicated:
            found.append(f"{numbers.duplicated} duplicated")
        return found


class InOrder:
    """Each client gets each publisher's events in the order of their publication."""

    def violations(self, world: World) -> list[str]:
        assert world.ledger is not None
        count = world.ledger.numbers().out_of_order
        return [f"{count} out of order"] if count else []


class Causal:
    """Each client gets an event after all that happened before it and that the client gets at all."""

    def __init__(self, world: World) -> None:
        assert world.ledger is not None
        self._causality = world.ledger.causality = Causality()

    def violations(self, world: World) -> list[str]:
        return [f"{self._causality.late} against causal order"] if self._causality.late else []


class InForce:
    """When a client is told that its subscription is in force, there was a moment, after it asked, when every broker
    connected to it had the route: the beginning of the origin's second round (`broker/routing/confirmation.py`) or,
    where it had nobody to ask, now."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._without_route: dict[str, dict[str, str]] = {}  # origin -> filter -> a broker, at its last second round
        self._found: list[str] = []
        world.second_round.append(self._look)
        world.told_in_force.append(self._told)

    def _look(self, origin: str, filters: tuple[str, ...]) -> None:
        self._without_route[origin] = self._missing(origin, filters)

    def _told(self, origin: str, client: str, filter: str) -> None:
        if filter in self._without_route.get(origin, {filter: ""}):
            for broker in self._missing(origin, (filter,)).values():
                self._found.append(f"{client} was told that {filter} is in force, but {broker} has no route to it")

    def _missing(self, origin: str, filters: tuple[str, ...]) -> dict[str, str]:
        """For each filter without a route somewhere in the origin's part of the tree, a broker that has none."""
        world = self._world
        missing: dict[str, str] = {}
        towards = {origin: ""}
        queue = [origin]
        for here in queue:
            for there in world.adjacency[here]:
                if there in towards:
                    continue
                towards[there] = here
                queue.append(there)
                if world.config.forwarding == "message":
                    continue
                if world.config.forwarding == "hierarchical" and world.nodes[here].parent != there:
                    continue  # events come down to `there` by way of `here`, and up without a route
                heard = world.nodes[there].core.table.heard.get(here, 0)
                for filter in filters:
                    if not heard & world.catalogue.stand_for(filter):
                        missing[filter] = there
        return missing

    def violations(self, world: World) -> list[str]:
        return self._found

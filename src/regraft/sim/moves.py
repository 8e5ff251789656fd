"""Clients that move: they leave a broker, and a while later arrive at another, or at the same one.

The brokers do the rest (`broker/mobility/`). A client knows what its connection tells it: where it has arrived, since
it was last told that it has been handed off. What brokers say to each other about it goes directly, and takes a time
of its own; one message may overtake another.
"""

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from regraft.broker.effects import HandedOff
from regraft.broker.inputs import ClientArrived, ClientAway, ClientDetached, ClientSubscribed
from regraft.broker.messages import HandoffMessage
from regraft.errors import UsageError
from regraft.sim.network import Node, Wire
from regraft.sim.scenario import Moves, nanoseconds

if TYPE_CHECKING:
    from regraft.sim.world import World

TRY_AGAIN_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a client was told when it had arrived; it had left at `left_ns`."""

    client: str
    left_ns: int
    told: HandedOff


class Mobility:
    """`direct_ns` is how long a direct message takes, drawn from this range."""

    def __init__(self, world: "World", dice: Random) -> None:
        self.away: dict[str, None] = {}
        self.arrivals: list[Arrival] = []
        self.direct_ns = (0, 0)
        self._world = world
        self._dice = dice
        self._stayed: dict[str, tuple[str, ...]] = {}  # client -> where it may have stayed last, the latest first
        self._moves: dict[str, int] = {}
        self._confirmed: dict[str, dict[str, None]] = {}  # client -> filters that it knows to be in force
        self._left_ns: dict[str, int] = {}  # client -> when it left where it was last handed off

    def has_arrived(self, client: str) -> bool:
        return client not in self._left_ns

    def leave(self, client: str) -> None:
        world = self._world
        node = world.node_of(client)
        if client in self.away:
            raise UsageError(f"{client} has left already")
        self.away[client] = None
        self._left_ns.setdefault(client, world.now_ns)
        if node.alive:
            world.give(node, ClientAway(client))
        last = self._stayed.get(client, (node.name,))[-1]  # there is what it is owed, until it has arrived elsewhere
        world.home[client] = last if last in world.nodes else node.name
        world.oracle.stale = True

    def arrive(self, client: str, broker: str) -> None:
        world = self._world
        node = world.node(broker)
        if client not in self.away:
            raise UsageError(f"{client} has not left")
        if not node.alive:
            raise UsageError(f"{broker} is down")
        world.leaves.demand_to_stay(broker)
        del self.away[client]
        stayed = self._stayed.get(client, (world.home[client],))
        self._stayed[client] = (broker, *[other for other in stayed if other != broker])
        world.home[client] = broker
        world.oracle.stale = True
        self._tell_arrived(client, node, stayed)

    def _tell_arrived(self, client: str, node: Node, stayed: tuple[str, ...]) -> None:
        self._moves[client] = move = self._moves.get(client, 0) + 1
        world = self._world
        world.give(node, ClientArrived(client, move, stayed, tuple(world.subscriptions[client])))

    def handed_off(self, told: HandedOff) -> None:
        client = told.client
        if client in self.away or told.move != self._moves[client]:
            return
        self._stayed[client] = (self._world.home[client],)
        self.arrivals.append(Arrival(client, self._left_ns.pop(client), told))
        self._world.agenda.put(self._world.now_ns, partial(self._ask_again, client))

    def _ask_again(self, client: str) -> None:
        """For what it has not been told is in force."""
        world = self._world
        node = world.nodes[world.home[client]] if client in world.home else None
        if node is None or not node.alive or not self.has_arrived(client):
            return
        for filter, confirm in world.subscriptions[client].items():
            if confirm and filter not in self._confirmed.get(client, {}):
                world.give(node, ClientSubscribed(client, filter, True))

    def in_force(self, client: str, filter: str) -> None:
        self._confirmed.setdefault(client, {})[filter] = None

    def unsubscribed(self, client: str, filter: str) -> None:
        self._confirmed.get(client, {}).pop(filter, None)

    def restarted(self, client: str) -> bool:
        """Its broker is back; returns whether the client has something to say of its own."""
        stayed = self._stayed.get(client, ())
        if client not in self.away and client in self._left_ns:
            self._tell_arrived(client, self._world.node_of(client), stayed)
            return True
        return client in self.away

    def detached(self, client: str, node: Node) -> None:
        """For good."""
        if client in self._left_ns or client in self._stayed:
            self.forget(client)
            if node.alive:
                self._world.give(node, ClientDetached(client))

    def forget(self, client: str) -> None:
        """It has gone with its broker."""
        self.away.pop(client, None)
        self._left_ns.pop(client, None)

    def send_direct(self, node: Node, broker: str, message: HandoffMessage) -> None:
        target = self._world.nodes.get(broker)
        if target is not None:
            wire = Wire(node, target, self._dice.randint(*self.direct_ns), 0.0)
            self._world.traffic.send(wire, message)


class RandomMoves:
    """Puts random moves on the world's agenda."""

    def __init__(self, world: "World", moves: Moves, dice: Random) -> None:
        self._world = world
        self._away_s = moves.away_s
        self._dice = dice
        self.count = 0
        low_ms, high_ms = moves.direct_ms
        world.mobility.direct_ns = (round(low_ms * 1_000_000), round(high_ms * 1_000_000))
        begin_ns, every_ns = nanoseconds(moves.from_s), nanoseconds(moves.every_s)
        for number in range((nanoseconds(moves.until_s) - begin_ns + every_ns - 1) // every_ns):
            world.agenda.put(begin_ns + number * every_ns, self._leave)

    def _leave(self) -> None:
        world = self._world
        here = [client for client in world.home if client not in world.mobility.away and world.subscriptions[client]]
        if not here:
            return
        self.count += 1
        client = self._dice.choice(here)
        world.mobility.leave(client)
        self._arrive_after(client, nanoseconds(self._dice.uniform(*self._away_s)))

    def _arrive_after(self, client: str, after_ns: int) -> None:
        self._world.agenda.put(self._world.now_ns + after_ns, partial(self._arrive, client))

    def _arrive(self, client: str) -> None:
        world = self._world
        if client not in world.mobility.away:
            return  # it has gone for good
        places = [name for name, node in world.nodes.items() if node.alive and name not in world.leaves.leaving]
        if places:
            world.mobility.arrive(client, self._dice.choice(places))
        else:
            self._arrive_after(client, TRY_AGAIN_NS)

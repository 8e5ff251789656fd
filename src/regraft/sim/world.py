"""The virtual world: brokers, links and time, driving the same brain that runs on sockets.

It keeps what a world promises (`broker/inputs.py`): links are FIFO, a message on a link that has ended never arrives,
both ends hear of the end, each after a time of its own, and always before they hear that the link is up again.

A link is two `Wire`s. What a node believes (`Node.wires`) may lag behind what is (`World.adjacency`): what it sends
on a wire that has ended is dropped.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import assert_never

from regraft.broker import Broker, BrokerConfig, FilterCatalogue, inputs
from regraft.broker.catalogue import parse_filter
from regraft.broker.effects import (
    CancelTimer,
    CloseLink,
    Departed,
    Dismiss,
    Effect,
    ExchangeEnded,
    Forward,
    HandedOff,
    Keep,
    LeaveAnswered,
    OpenLink,
    PeerMisbehaved,
    Refuse,
    Released,
    Send,
    SendDirect,
    SetTimer,
    TellInForce,
)
from regraft.broker.inputs import Input
from regraft.broker.messages import Confirm, Informed, Order, Routes
from regraft.errors import UsageError
from regraft.model.events import Event, Value
from regraft.model.trees import Link, in_order
from regraft.planning import Knowledge
from regraft.sim.agenda import Agenda
from regraft.sim.breaks import Breaks
from regraft.sim.chronicle import Chronicle
from regraft.sim.exchanges import Exchanges
from regraft.sim.leaves import Leaves
from regraft.sim.ledger import Ledger
from regraft.sim.moves import Mobility
from regraft.sim.network import NANOSECONDS_PER_BYTE_AT_1_MBIT, Node, Wire
from regraft.sim.oracle import Oracle
from regraft.sim.traffic import Parcel, Traffic
from regraft.trace import TraceBuffer
from regraft.trace import schema as row

Recorder = Callable[[str, int, Input | None, list[Effect]], None]  # broker, time, input, effects


class World:
    """`record`, where given, is called with every input and its effects, and with no input where a core begins."""

    def __init__(
        self,
        config: BrokerConfig,
        trace: TraceBuffer,
        level: str,
        *,
        dice: Random,
        ns_per_byte: float = NANOSECONDS_PER_BYTE_AT_1_MBIT / 10,
        detect_ns: tuple[int, int] = (0, 0),
        root: str = "",
        exchange_order: Order | None = None,
        exchange_routes: Routes = "laid",
        knows: Knowledge = "path",
        record: Recorder | None = None,
    ) -> None:
        self.config = config
        self.catalogue = FilterCatalogue(config.covering)
        self.nodes: dict[str, Node] = {}
        self.adjacency: dict[str, dict[str, int]] = {}  # the tree as it is, with latencies
        self.home: dict[str, str] = {}  # client -> broker
        self.subscriptions: dict[str, dict[str, bool]] = {}  # client -> filter as issued -> whether to be confirmed
        self.agenda = Agenda()
        self.traffic = Traffic(self, dice, ns_per_byte)
        self.now_ns = 0
        self.ledger = Ledger(self.catalogue) if level != row.LEVEL_SUMMED else None
        self.second_round: list[Callable[[str, tuple[str, ...]], None]] = []  # origin, filters
        self.told_in_force: list[Callable[[str, str, str], None]] = []  # broker, client, filter
        self.misbehaved: list[str] = []
        self.refused: list[str] = []
        self.chronicle = Chronicle(trace, level)
        self.is_full = self.chronicle.full
        self._dice = dice
        self._detect_ns = detect_ns
        self.record = record
        self.incarnations: dict[Link, int] = {}  # the latest
        self._sequences: dict[str, int] = {}
        self.wires: list[Wire] = []  # those that are alive, and a few that have ended
        self.oracle = Oracle(self, root)
        self.exchanges = Exchanges(self, exchange_order, exchange_routes)
        self.leaves = Leaves(self)
        self.breaks = Breaks(self, knows)
        self.mobility = Mobility(self, dice)

    # --- what operators, faults and clients do

    def add_broker(self, name: str) -> None:
        self.nodes[name] = Node(name, self._new_core(name))
        self.adjacency[name] = {}
        self.chronicle.topology(self.now_ns, row.KIND_BROKER_UP, name)

    def _new_core(self, name: str) -> Broker:
        if self.record is not None:
            self.record(name, self.now_ns, None, [])
        return Broker(name, self.config, self.catalogue)

    def add_client(self, client: str, broker: str) -> None:
        self.home[client] = broker
        self.subscriptions[client] = {}

    def node(self, name: str) -> Node:
        if name not in self.nodes:
            raise UsageError(f"there is no broker {name}")
        return self.nodes[name]

    def node_of(self, client: str) -> Node:
        if client not in self.home:
            raise UsageError(f"there is no client {client}")
        return self.nodes[self.home[client]]

    def link_up(self, a: str, b: str, latency_ns: int, loss: float = 0.0, *, announced: str = "") -> None:
        one, other = self.node(a), self.node(b)
        if not one.alive or not other.alive:
            raise UsageError(f"{a}-{b} cannot be linked: one of them is down")
        self.oracle.demand_apart(a, b)
        self.exchanges.forget_opened(a, b)
        self.adjacency[a][b] = self.adjacency[b][a] = latency_ns
        self.chronicle.topology(self.now_ns, row.KIND_LINK_UP, a, b)
        self.connect(one, other, latency_ns, loss, announced=announced)
        self.oracle.assign_parents()

    def connect(self, a: Node, b: Node, latency_ns: int, loss: float, exchange: str = "", announced: str = "") -> None:
        """Wires between two brokers; they belong to the tree at once if no exchange is named."""
        pair = in_order(a.name, b.name)
        self.incarnations[pair] = incarnation = self.incarnations.get(pair, 0) + 1
        for node, neighbour in ((a, b), (b, a)):
            if neighbour.name in node.wires:
                self.tell_link_down(node, neighbour.name, node.wires[neighbour.name])
        there = Wire(a, b, latency_ns, loss)
        for wire in (there, Wire(b, a, latency_ns, loss)):
            if not there.alive:
                return  # it came too late for that end, which has closed it at once
            wire.source.wires[wire.target.name] = wire
            self.wires.append(wire)
            self.chronicle.watch(wire)
            self.oracle.stale = True
            self.give(wire.source, inputs.LinkUp(wire.target.name, incarnation, exchange, announced))

    def link_down(self, a: str, b: str) -> None:
        one, other = self.node(a), self.node(b)
        if b not in self.adjacency[a]:
            raise UsageError(f"{a} and {b} are not linked")
        del self.adjacency[a][b], self.adjacency[b][a]
        self.oracle.stale = True
        self.chronicle.topology(self.now_ns, row.KIND_LINK_DOWN, a, b)
        self.disconnect(one, other)
        self.oracle.assign_parents()

    def disconnect(self, one: Node, other: Node) -> None:
        """The wires between two brokers end; each end is told after a time of its own."""
        for node, neighbour in ((one, other), (other, one)):
            wire = node.wires.get(neighbour.name)
            if wire is None:
                continue
            wire.alive = False
            if not node.alive:
                continue
            low, high = self._detect_ns
            if high:
                tell = partial(self.tell_link_down, node, neighbour.name, wire)
                self.agenda.put(self.now_ns + self._dice.randint(low, high), tell)
            else:
                self.tell_link_down(node, neighbour.name, wire)

    def crash(self, name: str) -> None:
        """The broker is gone with all it knew; its clients wait for it."""
        node = self.node(name)
        if not node.alive:
            raise UsageError(f"{name} is down already")
        node.alive = False
        node.timers.clear()
        self.chronicle.topology(self.now_ns, row.KIND_BROKER_DOWN, name)
        for neighbour in list(self.adjacency[name]):
            self.link_down(name, neighbour)
        self.exchanges.broker_down(name)
        self.leaves.leaving.pop(name, None)

    def restart(self, name: str) -> None:
        """The broker is back, knowing nothing and linked to nobody; its clients subscribe again."""
        node = self.node(name)
        if node.alive:
            raise UsageError(f"{name} is up already")
        node.start(self._new_core(name))
        self.chronicle.topology(self.now_ns, row.KIND_BROKER_UP, name)
        for client, home in self.home.items():
            if home == name and not self.mobility.restarted(client):
                for filter, confirm in self.subscriptions[client].items():
                    self.give(node, inputs.ClientSubscribed(client, filter, confirm))
        self.oracle.stale = True

    def subscribe(self, client: str, filter: str, confirm: bool = False) -> None:
        node = self.node_of(client)
        filter = parse_filter(filter).text
        self.subscriptions[client][filter] = confirm
        self.chronicle.subscription(self.now_ns, row.KIND_SUBSCRIBE, node.name, client, filter)
        self.oracle.stale = True
        if node.alive:
            self.give(node, inputs.ClientSubscribed(client, filter, confirm))

    def unsubscribe(self, client: str, filter: str) -> None:
        node = self.node_of(client)
        filter = parse_filter(filter).text
        self.subscriptions[client].pop(filter, None)
        self.mobility.unsubscribed(client, filter)
        self.chronicle.subscription(self.now_ns, row.KIND_UNSUBSCRIBE, node.name, client, filter)
        self.oracle.stale = True
        if self.ledger is not None:
            self.ledger.cancelled(client, filter)
        if node.alive and client not in self.mobility.away:
            self.give(node, inputs.ClientUnsubscribed(client, filter))

    def publish(self, client: str, attributes: Mapping[str, Value]) -> None:
        """What a client publishes that is gone or has not arrived, or whose broker is down, is not published."""
        node = self.nodes[self.home[client]] if client in self.home else None
        if node is None or not node.alive or not self.mobility.has_arrived(client):
            return
        self._sequences[client] = sequence = self._sequences.get(client, 0) + 1
        event = Event(client, sequence, attributes)
        self.chronicle.publication(self.now_ns, node.name, event, attributes)
        if self.ledger is not None:
            self.ledger.published(event)
        self.give(node, inputs.ClientPublished(event))

    # --- time

    def advance(self, until_ns: int) -> None:
        """Let happen all that is due up to and including that time."""
        self.traffic.advance(until_ns)

    def step(self) -> bool:
        """Let the next thing happen; false if there is none."""
        return self.traffic.step()

    # --- effects

    def give(self, node: Node, given: Input) -> None:
        effects = node.handle(self.now_ns, given)
        if self.record is not None:
            self.record(node.name, self.now_ns, given, effects)
        for effect in effects:
            match effect:
                case Forward():
                    self._forward(node, effect)
                case Send():
                    if type(effect.message) is Confirm:
                        self._asked_again(node, effect.message)
                    self.traffic.send(node.wires[effect.neighbour], effect.message)
                case SendDirect():
                    if isinstance(effect.message, Informed):
                        self.breaks.send_direct(node, effect.broker, effect.message)
                    else:
                        self.mobility.send_direct(node, effect.broker, effect.message)
                case SetTimer():
                    due = partial(self._fire, node, effect.name)
                    self.agenda.put(self.now_ns + effect.after_ns, due)
                    due.keywords["serial"] = node.timers[effect.name] = self.agenda.serial
                case CancelTimer():
                    node.timers.pop(effect.name, None)
                case OpenLink() | CloseLink() | ExchangeEnded() | Released():
                    self.exchanges.carry_out(node, effect)
                case LeaveAnswered():
                    self.leaves.answered(node.name, effect.reason)
                case TellInForce():
                    self._in_force(node, effect)
                case HandedOff():
                    self.mobility.handed_off(effect)
                case Dismiss() | Keep() | Departed():
                    pass  # a client that has left is not connected, and there is no disk here
                case Refuse():
                    self.refused.append(f"{effect.client}: {effect.reason}")
                case PeerMisbehaved():
                    self.misbehaved.append(f"{node.name} of {effect.neighbour}: {effect.reason}")
                case _:
                    assert_never(effect)

    def _forward(self, node: Node, effect: Forward) -> None:
        parcel = self.traffic.parcel(effect.event)
        self.traffic.relay(node, effect.neighbours, parcel)
        if effect.gray:
            self.traffic.relay(node, effect.gray, self.traffic.parcel(effect.event, effect.exchange))
        if effect.clients:
            self.deliver(node, effect.clients, parcel)

    def deliver(self, node: Node, clients: tuple[str, ...], parcel: Parcel) -> None:
        self.chronicle.deliveries(self.now_ns, node.name, clients, parcel.name)
        if self.ledger is not None:
            self.ledger.delivered(clients, parcel.event, parcel.number)

    def _fire(self, node: Node, name: str, *, serial: int) -> None:
        if node.timers.get(name) == serial:
            del node.timers[name]
            self.give(node, inputs.TimerFired(name))

    def tell_link_down(self, node: Node, neighbour: str, wire: Wire) -> None:
        if node.wires.get(neighbour) is wire:  # it may have been told already, because the link is up again
            del node.wires[neighbour]
            self.give(node, inputs.LinkDown(neighbour))

    def _asked_again(self, node: Node, message: Confirm) -> None:
        if message.origin == node.name and message.round == 2:
            for listener in self.second_round:
                listener(node.name, message.filters)

    def _in_force(self, node: Node, effect: TellInForce) -> None:
        client, filter = effect.client, effect.filter
        self.mobility.in_force(client, filter)
        self.chronicle.subscription(self.now_ns, row.KIND_IN_FORCE, node.name, client, filter)
        if self.ledger is not None:
            self.ledger.in_force(client, filter)
        for listener in self.told_in_force:
            listener(node.name, client, filter)

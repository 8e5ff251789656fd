"""The virtual world: brokers, links and time, driving the same brain that runs on sockets.

It keeps what a world promises (`broker/inputs.py`): links are FIFO, a message on a link that has ended never arrives,
both ends hear of the end, each after a time of its own, and always before they hear that the link is up again.

A link is two `Wire`s. What a node believes (`Node.wires`) may lag behind what is (`World.adjacency`): what it sends
on a wire that has ended is dropped.

The world also knows what no broker knows, the whole tree. From it comes, for each wire, the set of filters that
brokers beyond it hold for their clients; an event that crosses a wire beyond which nobody wants it is misrouted
(icdcs03 §6.3).
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any, assert_never

import msgspec

from regraft.broker import Broker, BrokerConfig, FilterCatalogue
from regraft.broker.catalogue import parse_filter
from regraft.broker.effects import CancelTimer, Effect, Forward, PeerMisbehaved, Refuse, Send, SetTimer, TellInForce
from regraft.broker.inputs import (
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    Input,
    LinkDown,
    LinkUp,
    ParentAssigned,
    Received,
    TimerFired,
)
from regraft.broker.messages import Confirm, Control, Message
from regraft.errors import UsageError
from regraft.model.events import Event, Value
from regraft.sim.agenda import Agenda
from regraft.sim.chronicle import Chronicle
from regraft.sim.ledger import Ledger
from regraft.sim.network import Node, Wire
from regraft.sim.truth import beyond_each_wire, component, parents
from regraft.trace import TraceBuffer
from regraft.trace import schema as row

FRAME_BYTES = 8  # length, version and type of a message on the wire
HOP_FIELDS_BYTES = 8  # in front of an event, what changes from hop to hop
NANOSECONDS_PER_BYTE_AT_1_MBIT = 8_000

encode = msgspec.msgpack.encode

Recorder = Callable[[str, int, Input | None, list[Effect]], None]  # broker, time, input, effects
SecondRoundListener = Callable[[str, tuple[str, ...]], None]  # an origin's confirmation: broker, filters
ToldListener = Callable[[str, str, str], None]  # broker, client, filter


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
        record: Recorder | None = None,
    ) -> None:
        self.config = config
        self.catalogue = FilterCatalogue(config.covering)
        self._matched = self.catalogue.matched
        self.nodes: dict[str, Node] = {}
        self.adjacency: dict[str, dict[str, int]] = {}  # the tree as it is, with latencies
        self.home: dict[str, str] = {}  # client -> broker
        self.subscriptions: dict[str, dict[str, bool]] = {}  # client -> filter as issued -> whether to be confirmed
        self.agenda = Agenda()
        self.now_ns = 0
        self.ledger = Ledger(self.catalogue) if level != row.LEVEL_SUMMED else None
        self.second_round: list[SecondRoundListener] = []
        self.told_in_force: list[ToldListener] = []
        self.misbehaved: list[str] = []
        self.refused: list[str] = []
        self.control_under_way = 0
        self.chronicle = Chronicle(trace, level)
        self._full = self.chronicle.full
        self._dice = dice
        self._ns_per_byte = ns_per_byte
        self._detect_ns = detect_ns
        self._root = root
        self._record = record
        self._incarnations: dict[tuple[str, str], int] = {}
        self._sequences: dict[str, int] = {}
        self._wires: list[Wire] = []  # those that are alive, and a few that have ended
        self._truth_is_stale = True

    # --- what operators, faults and clients do

    def add_broker(self, name: str) -> None:
        self.nodes[name] = Node(name, self._new_core(name))
        self.adjacency[name] = {}
        self.chronicle.topology(self.now_ns, row.KIND_BROKER_UP, name)

    def _new_core(self, name: str) -> Broker:
        if self._record is not None:
            self._record(name, self.now_ns, None, [])
        return Broker(name, self.config, self.catalogue)

    def add_client(self, client: str, broker: str) -> None:
        self.home[client] = broker
        self.subscriptions[client] = {}
        self._sequences[client] = 0

    def node(self, name: str) -> Node:
        if name not in self.nodes:
            raise UsageError(f"there is no broker {name}")
        return self.nodes[name]

    def link_up(self, a: str, b: str, latency_ns: int, loss: float = 0.0) -> None:
        one, other = self.node(a), self.node(b)
        if b in self.adjacency[a]:
            raise UsageError(f"{a} and {b} are linked already")
        if not one.alive or not other.alive:
            raise UsageError(f"{a}-{b} cannot be linked: one of them is down")
        if b in self.component(a):
            raise UsageError(f"a link {a}-{b} would close a loop")
        self.adjacency[a][b] = self.adjacency[b][a] = latency_ns
        self._truth_is_stale = True
        pair = (a, b) if a < b else (b, a)
        self._incarnations[pair] = incarnation = self._incarnations.get(pair, 0) + 1
        self.chronicle.topology(self.now_ns, row.KIND_LINK_UP, a, b)
        for node, neighbour in ((one, other), (other, one)):
            if neighbour.name in node.wires:
                self._tell_link_down(node, neighbour.name, node.wires[neighbour.name])
        for node, neighbour in ((one, other), (other, one)):
            wire = Wire(node, neighbour, latency_ns, loss)
            node.wires[neighbour.name] = wire
            self._wires.append(wire)
            self.chronicle.watch(wire)
        for node, neighbour in ((one, other), (other, one)):
            self._input(node, LinkUp(neighbour.name, incarnation))
        self._assign_parents()

    def link_down(self, a: str, b: str) -> None:
        one, other = self.node(a), self.node(b)
        if b not in self.adjacency[a]:
            raise UsageError(f"{a} and {b} are not linked")
        del self.adjacency[a][b], self.adjacency[b][a]
        self._truth_is_stale = True
        self.chronicle.topology(self.now_ns, row.KIND_LINK_DOWN, a, b)
        for node, neighbour in ((one, other), (other, one)):
            wire = node.wires[neighbour.name]
            wire.alive = False
            if not node.alive:
                continue
            low, high = self._detect_ns
            if high:
                tell = partial(self._tell_link_down, node, neighbour.name, wire)
                self.agenda.put(self.now_ns + self._dice.randint(low, high), tell)
            else:
                self._tell_link_down(node, neighbour.name, wire)
        self._assign_parents()

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

    def restart(self, name: str) -> None:
        """The broker is back, knowing nothing and linked to nobody; its clients subscribe again."""
        node = self.node(name)
        if node.alive:
            raise UsageError(f"{name} is up already")
        node.start(self._new_core(name))
        self.chronicle.topology(self.now_ns, row.KIND_BROKER_UP, name)
        for client, home in self.home.items():
            if home == name:
                for filter, confirm in self.subscriptions[client].items():
                    self._input(node, ClientSubscribed(client, filter, confirm))
        self._truth_is_stale = True

    def subscribe(self, client: str, filter: str, confirm: bool = False) -> None:
        node = self.node(self.home[client])
        filter = parse_filter(filter).text
        self.subscriptions[client][filter] = confirm
        self.chronicle.subscription(self.now_ns, row.KIND_SUBSCRIBE, node.name, client, filter)
        self._truth_is_stale = True
        if node.alive:
            self._input(node, ClientSubscribed(client, filter, confirm))

    def unsubscribe(self, client: str, filter: str) -> None:
        node = self.node(self.home[client])
        filter = parse_filter(filter).text
        self.subscriptions[client].pop(filter, None)
        self.chronicle.subscription(self.now_ns, row.KIND_UNSUBSCRIBE, node.name, client, filter)
        self._truth_is_stale = True
        if self.ledger is not None:
            self.ledger.cancelled(client, filter)
        if node.alive:
            self._input(node, ClientUnsubscribed(client, filter))

    def publish(self, client: str, attributes: Mapping[str, Value]) -> None:
        """What a client of a broker that is down publishes is not published: nobody took it."""
        node = self.nodes[self.home[client]]
        if not node.alive:
            return
        self._sequences[client] = sequence = self._sequences[client] + 1
        event = Event(client, sequence, attributes)
        self.chronicle.publication(self.now_ns, node.name, event, attributes)
        if self.ledger is not None:
            self.ledger.published(event)
        size = FRAME_BYTES + HOP_FIELDS_BYTES + len(encode(event))
        given = ClientPublished(event)
        effects = node.handle(self.now_ns, given)
        if self._record is not None:
            self._record(node.name, self.now_ns, given, effects)
        self._carry_out(node, effects, size)

    # --- time

    def advance(self, until_ns: int) -> None:
        """Let happen all that is due up to and including that time."""
        agenda = self.agenda
        lane, heap = agenda.lane, agenda.heap
        while True:
            if lane and (not heap or lane[0] < heap[0]):
                if lane[0][0] > until_ns:
                    break
                entry = lane.popleft()
            elif heap and heap[0][0] <= until_ns:
                entry = agenda.pop()
            else:
                break
            self._happen(entry)
        self.now_ns = until_ns

    def step(self) -> bool:
        """Let the next thing happen; false if there is none."""
        if not len(self.agenda):
            return False
        self._happen(self.agenda.pop())
        return True

    def _happen(self, entry: tuple[int, int, Any, Any, int]) -> None:
        self.now_ns, _, what, message, size = entry
        if type(message) is Event:
            self._event_arrived(what, message, size)
        elif type(what) is Wire:
            self._control_arrived(what, message, size)
        else:
            what()

    def _event_arrived(self, wire: Wire, event: Event, size: int) -> None:
        if not wire.alive:
            self.chronicle.event_drop(self.now_ns, wire, event, size)
            return
        node = wire.target
        given = Received(wire.source.name, event)
        effects = node.handle(self.now_ns, given)
        if self._truth_is_stale:
            self._find_truth()
        if self._matched[event] & wire.beyond:
            cause = row.CAUSE_CLIENT
            wire.events_wanted += 1
            wire.bytes_wanted += size
        else:
            cause = row.CAUSE_RECONFIGURATION
            wire.events_misrouted += 1
            wire.bytes_misrouted += size
        if self._full:
            self.chronicle.event_hop(self.now_ns, wire, event, size, cause)
        if self._record is not None:
            self._record(node.name, self.now_ns, given, effects)
        for effect in effects:
            assert type(effect) is Forward
            self._forward(node, effect, size)

    def _control_arrived(self, wire: Wire, message: Control, size: int) -> None:
        self.control_under_way -= 1
        if not wire.alive:
            self.chronicle.control_drop(self.now_ns, wire, message, size)
            return
        self.chronicle.control_hop(self.now_ns, wire, message, size)
        self._input(wire.target, Received(wire.source.name, message))

    # --- effects

    def _input(self, node: Node, given: Input) -> None:
        effects = node.handle(self.now_ns, given)
        if self._record is not None:
            self._record(node.name, self.now_ns, given, effects)
        self._carry_out(node, effects, 0)

    def _carry_out(self, node: Node, effects: list[Effect], size: int) -> None:
        for effect in effects:
            match effect:
                case Forward():
                    self._forward(node, effect, size)
                case Send():
                    self.control_under_way += 1
                    if type(effect.message) is Confirm:
                        self._asked_again(node, effect.message)
                    wire = node.wires[effect.neighbour]
                    self._transmit(wire, effect.message, FRAME_BYTES + len(encode(effect.message)))
                case SetTimer():
                    due = partial(self._fire, node, effect.name)
                    self.agenda.put(self.now_ns + effect.after_ns, due)
                    node.timers[effect.name] = self.agenda.serial
                    due.keywords["serial"] = self.agenda.serial
                case CancelTimer():
                    node.timers.pop(effect.name, None)
                case TellInForce():
                    self._in_force(node, effect)
                case Refuse():
                    self.refused.append(f"{effect.client}: {effect.reason}")
                case PeerMisbehaved():
                    self.misbehaved.append(f"{node.name} of {effect.neighbour}: {effect.reason}")
                case _:
                    assert_never(effect)

    def _forward(self, node: Node, effect: Forward, size: int) -> None:
        event = effect.event
        for neighbour in effect.neighbours:
            wire = node.wires[neighbour]
            if wire.loss and self._dice.random() < wire.loss:
                self.chronicle.event_drop(self.now_ns, wire, event, size)
            else:
                self._transmit(wire, event, size)
        if effect.clients:
            self.chronicle.deliveries(self.now_ns, node.name, effect.clients, event)
            if self.ledger is not None:
                for client in effect.clients:
                    self.ledger.delivered(client, event)

    def _transmit(self, wire: Wire, message: Message, size: int) -> None:
        now_ns = self.now_ns
        start_ns = wire.busy_until_ns if wire.busy_until_ns > now_ns else now_ns
        wire.busy_until_ns = done_ns = start_ns + int(size * self._ns_per_byte)
        arrival_ns = done_ns + wire.latency_ns
        agenda = self.agenda
        lane = agenda.lane
        if not lane or lane[-1][0] <= arrival_ns:
            agenda.serial += 1
            lane.append((arrival_ns, agenda.serial, wire, message, size))
        else:
            agenda.put(arrival_ns, wire, message, size)

    def _fire(self, node: Node, name: str, *, serial: int) -> None:
        if node.timers.get(name) == serial:
            del node.timers[name]
            self._input(node, TimerFired(name))

    def _tell_link_down(self, node: Node, neighbour: str, wire: Wire) -> None:
        if node.wires.get(neighbour) is wire:  # it may have been told already, because the link is up again
            del node.wires[neighbour]
            self._input(node, LinkDown(neighbour))

    def _asked_again(self, node: Node, message: Confirm) -> None:
        if message.origin == node.name and message.round == 2:
            for listener in self.second_round:
                listener(node.name, message.filters)

    def _in_force(self, node: Node, effect: TellInForce) -> None:
        client, filter = effect.client, effect.filter
        self.chronicle.subscription(self.now_ns, row.KIND_IN_FORCE, node.name, client, filter)
        if self.ledger is not None:
            self.ledger.in_force(client, filter)
        for listener in self.told_in_force:
            listener(node.name, client, filter)

    # --- what only the world knows

    def component(self, name: str) -> dict[str, None]:
        """The brokers that the tree, as it is, connects with this one."""
        return component(self.adjacency, name)

    def _find_truth(self) -> None:
        local = {name: node.core.table.local if node.alive else 0 for name, node in self.nodes.items()}
        beyond = beyond_each_wire(self.adjacency, local)
        self._wires = [wire for wire in self._wires if wire.alive]
        for wire in self._wires:
            wire.beyond = beyond[wire.source.name, wire.target.name]
        self._truth_is_stale = False

    def _assign_parents(self) -> None:
        if self.config.forwarding != "hierarchical":
            return
        for name, parent in parents(self.adjacency, self._root or next(iter(self.nodes))).items():
            node = self.nodes[name]
            if node.alive and node.parent != parent:
                node.parent = parent
                self._input(node, ParentAssigned(parent))

"""What is under way: messages on wires, and the loop that lets one thing after another happen.

A message waits for those before it on its wire, takes its bytes over the bandwidth, then the latency.

Nearly all that happens in a run is that an event arrives at a broker and goes on. So this short way is written out in
one piece: the wire counts the hop, the broker's `route` is asked, and the event goes on the next wires. A *parcel*
carries what is the same at every hop of a message. All else takes the long way, through `Broker.handle` and its effects
(`World.give`): every control message, an event at a broker that is locked for an exchange or keeps it for a client, and
events in a run whose inputs are recorded. Both ways make the same trace.
"""

from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING

import msgspec

from regraft.broker.inputs import Received, ReceivedDirect
from regraft.broker.messages import Claim, Control, DirectMessage, Gray, Informed, Kept, Settled
from regraft.model.events import Event
from regraft.rows import control_cells
from regraft.sim.agenda import Entry
from regraft.sim.network import FRAME_BYTES, HOP_FIELDS_BYTES, Node, Wire
from regraft.trace import schema as row

if TYPE_CHECKING:
    from regraft.sim.world import World

encode = msgspec.msgpack.encode

CONTROL_PARCELS_MAX = 1_024


class Parcel:
    """An event on its way: `message` is the event itself or, by the tree that an exchange makes, `Gray`."""

    __slots__ = ("duration_ns", "event", "message", "name", "number", "size")

    def __init__(self, event: Event, message: Event | Gray, size: int, duration_ns: int, number: int) -> None:
        self.event = event
        self.message = message
        self.name = event.name
        self.number = number  # in the ledger
        self.size = size
        self.duration_ns = duration_ns  # on a wire, latency apart


class ControlParcel:
    """A control message on its way; one for all that say the same."""

    __slots__ = ("cells", "duration_ns", "message", "size")

    def __init__(self, message: Control | DirectMessage, ns_per_byte: float) -> None:
        self.message = message
        self.size = FRAME_BYTES + len(encode(message))
        self.duration_ns = int(self.size * ns_per_byte)
        self.cells = control_cells(message, self.size)


class Traffic:
    def __init__(self, world: "World", dice: Random, ns_per_byte: float) -> None:
        self.control_under_way = 0
        self._world = world
        self._dice = dice
        self._ns_per_byte = ns_per_byte
        self._control_parcels: dict[Control | DirectMessage, ControlParcel] = {}
        self._agenda = world.agenda
        self._matched = world.catalogue.matched

    # --- the loop

    def advance(self, until_ns: int) -> None:
        """Let happen all that is due up to and including that time."""
        lane, heap = self._agenda.lane, self._agenda.heap
        happen = self._happen
        while True:
            if lane and (not heap or lane[0] < heap[0]):
                if lane[0][0] > until_ns:
                    break
                happen(lane.popleft())
            elif heap and heap[0][0] <= until_ns:
                happen(heappop(heap))
            else:
                break
        self._world.now_ns = until_ns

    def step(self) -> bool:
        """Let the next thing happen; false if there is none."""
        if not len(self._agenda):
            return False
        self._happen(self._agenda.pop())
        return True

    def _happen(self, entry: Entry) -> None:
        now_ns, _, wire, message = entry
        world = self._world
        world.now_ns = now_ns
        if type(message) is not Parcel:
            if type(wire) is Wire:
                self._control_arrived(wire, message)
            else:
                wire()
            return
        if not wire.alive:
            world.chronicle.event_drop(now_ns, wire, message.name, message.size)
            return
        node = wire.target
        event, size = message.event, message.size
        is_gray = message.message is not event
        if world.oracle.stale:
            world.oracle.look_beyond_wires()
        matched = self._matched.get(event)
        if matched is None:
            matched = world.catalogue.match(event)
        if matched & (wire.beyond_after if is_gray else wire.beyond):
            wire.events_wanted += 1
            wire.bytes_wanted += size
            cause = row.CAUSE_CLIENT
        else:
            wire.events_misrouted += 1
            wire.bytes_misrouted += size
            cause = row.CAUSE_RECONFIGURATION
        if world.is_full:
            world.chronicle.event_hop(now_ns, wire, message.name, size, cause)
        core = node.core
        if is_gray or core.is_locked or world.record is not None:
            world.give(node, Received(wire.source.name, message.message))
            return
        route = core.route(wire.source.name, event)
        if route.keeps:
            world.give(node, Received(wire.source.name, event))
            return
        if route.neighbours:
            self.relay(node, route.neighbours, message)
        if route.clients:
            world.deliver(node, route.clients, message)

    # --- events

    def parcel(self, event: Event, exchange: str = "") -> Parcel:
        size = FRAME_BYTES + HOP_FIELDS_BYTES + len(encode(event))
        message = Gray(event, exchange) if exchange else event
        ledger = self._world.ledger
        number = 0 if ledger is None else ledger.number(event)
        return Parcel(event, message, size, int(size * self._ns_per_byte), number)

    def relay(self, node: Node, neighbours: tuple[str, ...], parcel: Parcel) -> None:
        now_ns = self._world.now_ns
        wires, agenda = node.wires, self._agenda
        size, duration_ns = parcel.size, parcel.duration_ns
        for neighbour in neighbours:
            wire = wires[neighbour]
            if wire.loss and self._dice.random() < wire.loss:
                self._world.chronicle.event_drop(now_ns, wire, parcel.name, size)
                continue
            start_ns = wire.busy_until_ns
            if start_ns < now_ns:
                start_ns = now_ns
            wire.busy_until_ns = start_ns = start_ns + duration_ns
            arrival_ns = start_ns + wire.latency_ns
            agenda.serial = serial = agenda.serial + 1
            if arrival_ns >= agenda.lane_end_ns:
                agenda.lane_end_ns = arrival_ns
                agenda.lane.append((arrival_ns, serial, wire, parcel))
            else:
                heappush(agenda.heap, (arrival_ns, serial, wire, parcel))

    # --- control messages

    def send(self, wire: Wire, message: Control | DirectMessage) -> None:
        parcel = self._control_parcels.get(message)
        if parcel is None:
            if len(self._control_parcels) >= CONTROL_PARCELS_MAX:
                self._control_parcels.clear()
            parcel = self._control_parcels[message] = ControlParcel(message, self._ns_per_byte)
        self.control_under_way += 1
        now_ns = self._world.now_ns
        start_ns = wire.busy_until_ns if wire.busy_until_ns > now_ns else now_ns
        wire.busy_until_ns = done_ns = start_ns + parcel.duration_ns
        self._agenda.append(done_ns + wire.latency_ns, wire, parcel)

    def _control_arrived(self, wire: Wire, parcel: ControlParcel) -> None:
        world = self._world
        self.control_under_way -= 1
        if not wire.alive or not wire.target.alive:
            world.chronicle.control_drop(world.now_ns, wire, parcel.cells)
            return
        world.chronicle.control_hop(world.now_ns, wire, parcel.cells)
        source, message = wire.source.name, parcel.message
        if isinstance(message, Informed | Claim | Kept | Settled):
            world.give(wire.target, ReceivedDirect(source, message))
        else:
            world.give(wire.target, Received(source, message))

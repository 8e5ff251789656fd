"""What a run writes down: the rows of its trace, at the level that was asked for, and the counts of its outcome.

A `full` trace has a row for each hop of an event. The others have, at the end of each interval, one for each wire and
cause; a `summed` one has sums instead of rows for publications and deliveries too (see `trace/schema.py`).
"""

from collections.abc import Mapping

import msgspec

from regraft.broker.effects import Released
from regraft.model.events import Event, Value
from regraft.rows import ControlCells
from regraft.sim.accounts import Accounts
from regraft.sim.network import Wire
from regraft.trace import TraceBuffer
from regraft.trace import schema as row

encode_json = msgspec.json.encode


class Chronicle:
    """Rows go into the buffer in the order of the calls; the counts are over the whole run."""

    def __init__(self, trace: TraceBuffer, level: str) -> None:
        self.published = self.delivered = self.dropped = 0
        self.event_hops = self.misrouted_hops = self.control_hops = 0
        self.accounts = Accounts()
        self._append = trace.append
        self.full = level == row.LEVEL_FULL
        self._summed = level == row.LEVEL_SUMMED
        self._wires: dict[Wire, None] = {}
        self._published_here: dict[str, int] = {}  # of this interval, by broker
        self._delivered_here: dict[str, int] = {}

    def topology(self, now_ns: int, kind: str, broker: str, peer: str | None = None) -> None:
        self._append((now_ns, kind, broker, peer, None, None, None, None, None, None, None, None))

    def reconfiguration(self, now_ns: int, kind: str, broker: str, name: str, known: dict[str, object]) -> None:
        text = encode_json(known).decode()
        self._append((now_ns, kind, broker, None, None, None, None, None, None, name, None, text))

    def release(self, now_ns: int, broker: str, what: Released) -> None:
        waited = f'{{"count":{what.count},"waited_ns":{what.waited_ns}}}'
        cells = (None, None, None, what.queue, row.CAUSE_RECONFIGURATION, what.exchange, None, waited)
        self._append((now_ns, row.KIND_RELEASE, broker, what.neighbour, *cells))

    def subscription(self, now_ns: int, kind: str, broker: str, client: str, filter: str) -> None:
        self._append((now_ns, kind, broker, None, client, None, filter, None, None, None, None, None))

    def publication(self, now_ns: int, broker: str, event: Event, attributes: Mapping[str, Value]) -> None:
        self.published += 1
        if self._summed:
            self._published_here[broker] = self._published_here.get(broker, 0) + 1
            return
        text = encode_json(attributes).decode()
        client = event.publisher
        self._append((now_ns, row.KIND_PUBLISH, broker, None, client, event.name, None, None, None, None, None, text))

    def deliveries(self, now_ns: int, broker: str, clients: tuple[str, ...], name: str) -> None:
        self.delivered += len(clients)
        if self._summed:
            self._delivered_here[broker] = self._delivered_here.get(broker, 0) + len(clients)
            return
        for client in clients:
            self._append((now_ns, row.KIND_DELIVER, broker, None, client, name, None, None, None, None, None, None))

    def event_hop(self, now_ns: int, wire: Wire, name: str, size: int, cause: str) -> None:
        """A row of a full trace; the wire counts for the others."""
        what = (None, name, None, row.MESSAGE_EVENT, cause, None, size, None)
        self._append((now_ns, row.KIND_HOP, wire.source.name, wire.target.name, *what))

    def event_drop(self, now_ns: int, wire: Wire, name: str, size: int) -> None:
        self.dropped += 1
        if not self._summed:
            what = (None, name, None, row.MESSAGE_EVENT, row.CAUSE_CLIENT, None, size, None)
            self._append((now_ns, row.KIND_DROP, wire.source.name, wire.target.name, *what))

    def control_hop(self, now_ns: int, wire: Wire, what: ControlCells) -> None:
        self.control_hops += 1
        change = what[5]
        if change is not None:
            filters = 1 if what[2] is not None else _filters_in(what[7])
            self.accounts.carried(change, wire.target.name, filters, what[6])
        self._append((now_ns, row.KIND_HOP, wire.source.name, wire.target.name, *what))

    def control_drop(self, now_ns: int, wire: Wire, what: ControlCells) -> None:
        self.dropped += 1
        self._append((now_ns, row.KIND_DROP, wire.source.name, wire.target.name, *what))

    def watch(self, wire: Wire) -> None:
        """From now on, the wire's counts are written down at the end of each interval."""
        self._wires[wire] = None

    def end_interval(self, begin_ns: int) -> None:
        """The sums of the interval that began then."""
        for wire in list(self._wires):
            if wire.events_wanted or wire.events_misrouted:
                self._write_sum(wire, begin_ns, row.CAUSE_CLIENT, wire.events_wanted, wire.bytes_wanted)
                self._write_sum(wire, begin_ns, row.CAUSE_RECONFIGURATION, wire.events_misrouted, wire.bytes_misrouted)
                self.event_hops += wire.events_wanted + wire.events_misrouted
                self.misrouted_hops += wire.events_misrouted
                wire.events_wanted = wire.events_misrouted = wire.bytes_wanted = wire.bytes_misrouted = 0
            if not wire.alive:
                del self._wires[wire]
        for kind, counts in ((row.KIND_PUBLISH, self._published_here), (row.KIND_DELIVER, self._delivered_here)):
            for broker, count in counts.items():
                what = (None, None, None, None, None, None, None, None, f'{{"count":{count}}}')
                self._append((begin_ns, kind, broker, *what))
            counts.clear()

    def _write_sum(self, wire: Wire, begin_ns: int, cause: str, count: int, size: int) -> None:
        if count and not self.full:
            what = (None, None, None, row.MESSAGE_EVENT, cause, None, size, f'{{"count":{count}}}')
            self._append((begin_ns, row.KIND_HOP, wire.source.name, wire.target.name, *what))


def _filters_in(attributes: str | None) -> int:
    """As `rows.control_cells` writes them."""
    return int(attributes[len('{"filters":') : -1]) if attributes else 0

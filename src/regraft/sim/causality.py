"""Which deliveries break causal order, counted while a run goes on.

A client's clock says, for each publisher, the latest of its events that the client was delivered, or that happened
before one that it was delivered. An event's past is its publisher's clock when it was published.
A delivery comes too late if the client's clock has reached the event already. The audit (`pipeline/clocks.py`) counts
the same from the trace; this one needs no trace and costs a pass over all publishers a delivery.
"""

from regraft.model.events import Event

Clock = dict[str, int]


class Causality:
    """Told of each publication and each delivery, in the order in which they happen; of several deliveries the first
    counts."""

    def __init__(self) -> None:
        self.late = 0
        self._clocks: dict[str, Clock] = {}
        self._pasts: dict[Event, Clock] = {}
        self._got: dict[tuple[str, Event], None] = {}

    def published(self, event: Event) -> None:
        self._pasts[event] = dict(self._clocks.get(event.publisher, {}))

    def delivered(self, client: str, event: Event) -> None:
        if (client, event) in self._got:
            return
        self._got[client, event] = None
        clock = self._clocks.setdefault(client, {})
        if clock.get(event.publisher, 0) >= event.sequence:
            self.late += 1
            return
        for publisher, sequence in self._pasts[event].items():
            if clock.get(publisher, 0) < sequence:
                clock[publisher] = sequence
        clock[event.publisher] = event.sequence

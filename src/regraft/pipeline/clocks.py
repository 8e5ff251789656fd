"""Vector clocks over the deliveries of one run: which events came too late.

A client's clock says for each publisher the latest of its events that the client was delivered, or that happened
before one it was delivered. One number a publisher is enough, since the events of one publisher are a chain: the
latest stands for those before it. The past of an event is its publisher's clock as it was at the publication. A
delivery is late if the client's clock has reached the event already; else the clock is raised to the event's past,
and to the event itself.

A delivery costs one comparison and one maximum over all publishers, and NumPy takes longer to be called than to do
that. But a client's clock is read only when the client publishes: until then its deliveries wait, and are settled
`PENDING_MAX` at a time. Their pasts are the rows of a matrix under the clock. Delivery i is late if the column of its
publisher reaches its number in a row above its own; the columns of the publishers concerned form a small matrix, of
which the part above the diagonal is looked at. The new clock is the maximum over all rows.

A late delivery is a FIFO violation as well if a later event of the same publisher was itself delivered before it;
that is looked for among the late ones alone.

Left out: the order of publications that a client hears of outside the system. Nobody can know it from a trace.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

PENDING_MAX = 48

Numbers = npt.NDArray[np.int64]

# Row r of the matrix came before delivery c if r <= c: row 0 is the clock, row r the delivery r - 1.
_BEFORE: Numbers = np.triu(np.ones((PENDING_MAX + 1, PENDING_MAX), dtype=np.int64))
_DELIVERIES = np.arange(PENDING_MAX)


class Clocks:
    """Clients, publishers and events are numbers from 0 that the caller gives out, one after the other.

    As deliveries are settled, `late` fills with (client, event, n, whether it is a FIFO violation, too), and `received`
    counts them by client.
    """

    def __init__(self) -> None:
        self.late: list[tuple[int, int, int, bool]] = []
        self.received: list[int] = []
        self._publishers: list[int] = []  # by event
        self._sequences: list[int] = []
        self._pasts: list[int] = []  # the row of `_past` that is the event's
        self._pending: list[list[int]] = []  # by client: events, and beside them the positions
        self._pending_positions: list[list[int]] = []
        self._snapshots: list[int] = []  # by client: the row of `_past` that is its clock still, or -1
        # One column a publisher; room is doubled when it runs out.
        self._clock: Numbers = np.zeros((16, 16), dtype=np.int64)
        self._delivered: Numbers = np.zeros((16, 16), dtype=np.int64)
        self._past: Numbers = np.zeros((16, 16), dtype=np.int64)
        self._past_rows = 1  # row 0 is the empty past

    def add_client(self) -> None:
        self.received.append(0)
        self._pending.append([])
        self._pending_positions.append([])
        self._snapshots.append(0)
        if len(self._pending) > len(self._clock):
            self._clock = _with_room(self._clock, rows=len(self._pending))
            self._delivered = _with_room(self._delivered, rows=len(self._pending))

    def add_event(self, publisher: int, sequence: int) -> None:
        self._publishers.append(publisher)
        self._sequences.append(sequence)
        self._pasts.append(0)
        if publisher >= self._past.shape[1]:
            self._clock = _with_room(self._clock, columns=publisher + 1)
            self._delivered = _with_room(self._delivered, columns=publisher + 1)
            self._past = _with_room(self._past, columns=publisher + 1)

    def published(self, client: int, event: int) -> None:
        """The event's past is what has reached its publisher by now."""
        self._settle(client)
        if self._snapshots[client] < 0:
            if self._past_rows == len(self._past):
                self._past = _with_room(self._past, rows=self._past_rows + 1)
            self._past[self._past_rows] = self._clock[client]
            self._snapshots[client] = self._past_rows
            self._past_rows += 1
        self._pasts[event] = self._snapshots[client]

    def delivered(self, client: int, event: int, n: int) -> None:
        """For the first time: a second delivery of an event says nothing about order."""
        pending = self._pending[client]
        pending.append(event)
        self._pending_positions[client].append(n)
        if len(pending) == PENDING_MAX:
            self._settle(client)

    def settle_all(self) -> None:
        for client in range(len(self._pending)):
            self._settle(client)

    def _settle(self, client: int) -> None:
        events = self._pending[client]
        if not events:
            return
        count = len(events)
        self.received[client] += count
        publishers = np.array([self._publishers[event] for event in events])
        sequences = np.array([self._sequences[event] for event in events])
        matrix = np.empty((count + 1, self._past.shape[1]), dtype=np.int64)
        matrix[0] = self._clock[client]
        np.take(self._past, [self._pasts[event] for event in events], axis=0, out=matrix[1:], mode="clip")
        matrix[_DELIVERIES[:count] + 1, publishers] = sequences
        reached = matrix.take(publishers, axis=1)
        reached *= _BEFORE[: count + 1, :count]
        late = reached.max(axis=0) >= sequences
        if late.any():
            self._note_late(client, np.flatnonzero(late).tolist(), publishers, sequences)
        np.maximum.reduce(matrix, axis=0, out=self._clock[client])
        np.maximum.at(self._delivered[client], publishers, sequences)
        self._snapshots[client] = -1
        events.clear()
        self._pending_positions[client].clear()

    def _note_late(self, client: int, late: Sequence[int], publishers: Numbers, sequences: Numbers) -> None:
        for delivery in late:
            publisher, sequence = publishers[delivery], sequences[delivery]
            before = sequences[:delivery][publishers[:delivery] == publisher]
            overtaken = self._delivered[client, publisher] > sequence or bool((before > sequence).any())
            event, n = self._pending[client][delivery], self._pending_positions[client][delivery]
            self.late.append((client, event, n, overtaken))


def _with_room(numbers: Numbers, *, rows: int = 0, columns: int = 0) -> Numbers:
    """The same numbers with at least so many rows and columns, twice as many as before in what was too small."""
    height, width = numbers.shape
    if rows > height:
        height = max(rows, 2 * height)
    if columns > width:
        width = max(columns, 2 * width)
    grown = np.zeros((height, width), dtype=np.int64)
    grown[: numbers.shape[0], : numbers.shape[1]] = numbers
    return grown

"""Reads the rows of one run in order, once, and knows in the end what was lost, duplicated and out of order.

What happened, in the order of `n`:

- *a subscription comes into force*: from here on its client is owed what it matches. Only subscriptions that are never
  cancelled later are told to a witness (`audit.standing` has found them), since the others owe nothing in the end.
- *an event is published*: the filters that it satisfies (one look-up in the matching index) say to whom it is owed.
- *an event is delivered*: for the first time to this client, or again.

Sets of clients are integers, a bit a client; **lost** is then `owed & ~seen`, event by event, at the end of the run.

Order is judged at the first delivery of e1 to a client, which is too late if the client has had an e2 already that
comes after e1. **FIFO**: e2 is a later event of the same publisher. **Causal**: e1 happened before e2, that is, e1 is
an earlier event of e2's publisher, or it was delivered to that publisher before it published e2, transitively
(`clocks`). Each event that comes too late counts once for its client, however many it should have preceded; what is a
FIFO violation is always a causal one, too. A duplicate is counted as a duplicate, and not as late as well.

Memory, which does not depend on how many deliveries or hops the run has; the rows themselves are never held:

- 2 bits for each (event, client), owed and seen, and about 500 bytes an event for its name and what belongs to it;
- at most 16 bytes for each (client, publisher) twice, and for each publisher and each event that was published after
  its publisher had been delivered something new (events published in between share their past).

For 200 clients that all publish, with 100,000 events, that is at most 400 MB.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from regraft.matching import FilterIndex, slots
from regraft.model.filters import Filter
from regraft.pipeline.clocks import Clocks
from regraft.trace import LEVEL_SUMMED, decode_attributes

ROLE_RUN, ROLE_IN_FORCE, ROLE_PUBLISH, ROLE_DELIVER = range(4)

LOST, DUPLICATED, FIFO, CAUSAL = MEASURES = ("lost", "duplicated", "fifo", "causal")

# One worker reads thousands of runs, and the runs of a campaign share their filters.
_parse = lru_cache(maxsize=100_000)(Filter.parse)


@dataclass(frozen=True, slots=True)
class Violation:
    measure: str
    client: str
    event: str
    n: int | None  # of the delivery; a lost event has none


@dataclass(frozen=True, slots=True)
class Debt:
    """What one event was owed, and how much of it was paid."""

    published_ns: int
    owed: int
    delivered: int


class Witness:
    """Feed it the batches of a run (`read`), `close` it at the end, take the violations found so far (`drain`)."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.auditable = True
        self._violations: list[Violation] = []
        self._index = FilterIndex()
        self._holders: dict[int, int] = {}  # slot -> the clients whose subscription it is
        self._owed_by_match: dict[int, int] = {}  # holds until the next subscription comes into force
        self._clocks = Clocks()
        self._client_ids: dict[str, int] = {}
        self._clients: list[str] = []
        self._publisher_ids: dict[str, int] = {}
        self._event_ids: dict[str, int] = {}
        self._events: list[str] = []
        self._published_ns: list[int | None] = []
        self._owed: list[int] = []
        self._seen: list[int] = []

    def read(self, batch: pa.RecordBatch) -> None:
        roles = batch["role"].to_numpy().tolist()
        positions = batch["n"].to_numpy().tolist()
        clients = _codes(batch["client"], self._client)
        events = _codes(batch["event"], self._event)
        seen, delivered = self._seen, self._clocks.delivered
        for row, role in enumerate(roles):
            if role == ROLE_DELIVER:  # most rows are, hence no call more than needed
                client, event, n = clients[row], events[row], positions[row]
                bit = 1 << client
                if seen[event] & bit:
                    self._report(DUPLICATED, client, event, n)
                else:
                    seen[event] |= bit
                    delivered(client, event, n)
            elif role == ROLE_PUBLISH and self.auditable:
                self._publish(clients[row], events[row], batch["t_ns"][row].as_py(), batch["attributes"][row].as_py())
            elif role == ROLE_IN_FORCE:
                self._in_force(clients[row], batch["attributes"][row].as_py())
            elif role == ROLE_RUN:
                parameters = json.loads(batch["attributes"][row].as_py())
                self.auditable = parameters.get("level") != LEVEL_SUMMED

    def drain(self) -> list[Violation]:
        for client, event, n, overtaken in self._clocks.late:
            if overtaken:
                self._report(FIFO, client, event, n)
            self._report(CAUSAL, client, event, n)
        self._clocks.late.clear()
        violations, self._violations = self._violations, []
        return violations

    def close(self) -> None:
        """The run is over: what is owed and was not seen is lost."""
        self._clocks.settle_all()
        for event, owed in enumerate(self._owed):
            for client in slots(owed & ~self._seen[event]):
                self._report(LOST, client, event, None)

    def clients(self) -> Iterator[tuple[str, int, int]]:
        """Each client with the number of events that it is owed, and of distinct events that it was delivered."""
        owed = [0] * len(self._clients)
        counts: dict[int, int] = {}
        for bits in self._owed:
            counts[bits] = counts.get(bits, 0) + 1
        for bits, count in counts.items():
            for client in slots(bits):
                owed[client] += count
        return zip(self._clients, owed, self._clocks.received, strict=True)

    def debts(self) -> Iterator[Debt]:
        """Each event that was published, in order."""
        for published_ns, owed, seen in zip(self._published_ns, self._owed, self._seen, strict=True):
            if published_ns is not None:
                yield Debt(published_ns, owed.bit_count(), (owed & seen).bit_count())

    def _in_force(self, client: int, text: str) -> None:
        slot = self._index.add(_parse(text))
        self._holders[slot] = self._holders.get(slot, 0) | 1 << client
        self._owed_by_match.clear()

    def _publish(self, client: int, event: int, t_ns: int, text: str) -> None:
        match = self._index.match(decode_attributes(text))
        owed = self._owed_by_match.get(match)
        if owed is None:
            owed = 0
            for slot in slots(match):
                owed |= self._holders[slot]
            self._owed_by_match[match] = owed
        self._owed[event] = owed
        self._published_ns[event] = t_ns
        self._clocks.published(client, event)

    def _report(self, measure: str, client: int, event: int, n: int | None) -> None:
        self._violations.append(Violation(measure, self._clients[client], self._events[event], n))

    def _client(self, name: str) -> int:
        client = self._client_ids.setdefault(name, len(self._clients))
        if client == len(self._clients):
            self._clients.append(name)
            self._clocks.add_client()
        return client

    def _event(self, name: str) -> int:
        event = self._event_ids.setdefault(name, len(self._events))
        if event == len(self._events):
            publisher, _, sequence = name.rpartition("/")
            self._events.append(name)
            self._published_ns.append(None)
            self._owed.append(0)
            self._seen.append(0)
            self._clocks.add_event(self._publisher_ids.setdefault(publisher, len(self._publisher_ids)), int(sequence))
        return event


def _codes(column: Any, code: Callable[[str], int]) -> list[int]:
    """The column with each distinct string replaced by its code; null is -1."""
    encoded = column.dictionary_encode()
    codes = np.array([*map(code, encoded.dictionary.to_pylist()), -1])
    positions = encoded.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False)
    numbers: list[int] = codes[positions].tolist()
    return numbers

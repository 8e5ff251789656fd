"""What is owed to whom: the three numbers without reading the trace again.

The definitions are the audit's (`pipeline/audit.py`, which is written apart from this and counts the same from the
trace): a client is owed an event if one of its subscriptions that the event satisfies was in force when the event was
published and is not cancelled before the run ends.

While a run goes on, what was promised and what was delivered is only written down, eight bytes each: events, clients
and subscriptions have numbers here. The account is made when somebody asks for it, on whole arrays.
"""

from array import array
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regraft.broker import FilterCatalogue
from regraft.matching import slots
from regraft.model.events import Event
from regraft.sim.causality import Causality

CLIENT_SHIFT = 40
EVENT_MASK = (1 << CLIENT_SHIFT) - 1

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ThreeNumbers:
    owed: int
    lost: int
    duplicated: int
    out_of_order: int


class Ledger:
    """A subscription that is cancelled and made again is another subscription, with a number of its own.

    A *debt* is a client and an event as one number, the client's above the event's.
    """

    def __init__(self, catalogue: FilterCatalogue) -> None:
        self.causality: Causality | None = None  # asked for by those who look at causal order
        self._catalogue = catalogue
        self._clients: dict[str, int] = {}  # client -> its number, shifted to where a debt has it
        self._in_force: dict[int, dict[int, int]] = {}  # slot -> client's number -> subscription's number
        self._promises: dict[int, array[int]] = {}  # slot -> the numbers of its subscriptions
        self._in_force_set = 0
        self._subscribers = array("q")  # subscription -> client, both by number
        self._is_cancelled = array("b")  # subscription -> whether
        self._events: dict[Event, int] = {}
        self._publishers = array("q")  # of each event, the number that the publisher has as a client
        self._promised = array("q")  # for each event, the subscriptions in force that it satisfies
        self._promised_until = array("q", [0])  # for each event, where its own end in `_promised`
        self._delivered = array("q")  # debts, as they were paid

    def number(self, event: Event) -> int:
        return self._events[event]

    def in_force(self, client: str, filter: str) -> None:
        slot = self._catalogue.bit(filter).bit_length() - 1
        if slot not in self._in_force:
            self._catalogue.hold(filter)
            self._in_force[slot] = {}
            self._in_force_set |= 1 << slot
        number = self._client(client)
        if number not in self._in_force[slot]:
            self._in_force[slot][number] = len(self._subscribers)
            self._promises[slot] = array("q", self._in_force[slot].values())
            self._subscribers.append(number)
            self._is_cancelled.append(False)

    def cancelled(self, client: str, filter: str) -> None:
        slot = self._catalogue.bit(filter).bit_length() - 1
        clients = self._in_force.get(slot, {})
        number = clients.pop(self._client(client), None)
        if number is None:
            return
        self._is_cancelled[number] = True
        self._promises[slot] = array("q", clients.values())
        if not clients:
            del self._in_force[slot], self._promises[slot]
            self._in_force_set &= ~(1 << slot)
            self._catalogue.release(slot)

    def _client(self, client: str) -> int:
        return self._clients.setdefault(client, len(self._clients) << CLIENT_SHIFT)

    def published(self, event: Event) -> None:
        self._events[event] = len(self._events)
        self._publishers.append(self._client(event.publisher))
        for slot in slots(self._catalogue.match(event) & self._in_force_set):
            self._promised.extend(self._promises[slot])
        self._promised_until.append(len(self._promised))
        if self.causality is not None:
            self.causality.published(event)

    def delivered(self, clients: tuple[str, ...], event: Event, number: int) -> None:
        for client in clients:
            self._delivered.append(self._client(client) | number)
            if self.causality is not None:
                self.causality.delivered(client, event)

    # --- the account

    def numbers(self) -> ThreeNumbers:
        """As of now: what is still under way counts as lost."""
        owed, delivered = self._owed(), np.frombuffer(self._delivered, np.int64)
        paid, first = np.unique(delivered, return_index=True)
        lost = np.setdiff1d(owed, paid, assume_unique=True)
        out_of_order = self._out_of_order(delivered[np.sort(first)])
        return ThreeNumbers(len(owed), len(lost), len(delivered) - len(paid), out_of_order)

    def lost_events(self, count_max: int) -> list[str]:
        """Some of what is lost, as `client <- event`."""
        lost = np.setdiff1d(self._owed(), np.frombuffer(self._delivered, np.int64))
        lost = lost[np.argsort(lost & EVENT_MASK, kind="stable")][:count_max].tolist()
        clients = {number: client for client, number in self._clients.items()}
        events = list(self._events) if lost else []
        return [f"{clients[debt & ~EVENT_MASK]} <- {events[debt & EVENT_MASK].name}" for debt in lost]

    def _owed(self) -> Numbers:
        """The debts for the sake of subscriptions that stand to the end; each once."""
        until = np.frombuffer(self._promised_until, np.int64)
        counts = until[1:] - until[:-1]
        subscriptions = np.frombuffer(self._promised, np.int64)
        debts = np.frombuffer(self._subscribers, np.int64)[subscriptions] | np.repeat(np.arange(len(counts)), counts)
        return np.unique(debts[np.frombuffer(self._is_cancelled, np.int8)[subscriptions] == 0])

    def _out_of_order(self, delivered: Numbers) -> int:
        """How many come after one of the same publisher that was published later, at the same client."""
        publishers = np.frombuffer(self._publishers, np.int64) >> CLIENT_SHIFT
        events = delivered & EVENT_MASK
        streams = (delivered >> CLIENT_SHIFT) * len(self._clients) + publishers[events]
        order = np.argsort(streams, kind="stable")
        streams, events = streams[order], events[order]
        # Events are numbered as they are published. Each stream is lifted above the one before it, so that the highest
        # number so far is that of the own stream.
        lifted = np.unique(streams, return_inverse=True)[1] * len(self._events) + events
        return int((lifted < np.maximum.accumulate(lifted)).sum())

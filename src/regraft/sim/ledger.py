"""What is owed to whom, kept while a run goes on: the three numbers without reading the trace again.

The definitions are the audit's (`pipeline/audit.py`, which is written apart from this and counts the same from the
trace): a client is owed an event if one of its subscriptions that the event satisfies was in force when the event was
published and is not cancelled before the run ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regraft.broker import FilterCatalogue
from regraft.matching import slots
from regraft.model.events import Event
from regraft.sim.causality import Causality


@dataclass(frozen=True, slots=True)
class ThreeNumbers:
    owed: int
    lost: int
    duplicated: int
    out_of_order: int


class Ledger:
    """A subscription that is cancelled and made again is another subscription, with a number of its own."""

    def __init__(self, catalogue: FilterCatalogue) -> None:
        self.causality: Causality | None = None  # asked for by those who look at causal order
        self._catalogue = catalogue
        self._in_force: dict[int, dict[str, int]] = {}  # slot -> client -> number of the subscription
        self._in_force_set = 0
        self._last_number = 0
        self._cancelled: dict[int, None] = {}
        self._owed: dict[Event, dict[str, list[int]]] = {}  # not yet delivered: for the sake of which subscriptions
        self._got: dict[Event, dict[str, None]] = {}
        self._latest: dict[tuple[str, str], int] = {}  # (client, publisher) -> highest sequence number delivered
        self._paid: dict[tuple[int, ...], int] = {}  # owed and delivered: for the sake of which, and how often
        self._duplicated = 0
        self._out_of_order = 0

    def in_force(self, client: str, filter: str) -> None:
        slot = self._catalogue.bit(filter).bit_length() - 1
        if slot not in self._in_force:
            self._catalogue.hold(filter)
            self._in_force[slot] = {}
            self._in_force_set |= 1 << slot
        if client not in self._in_force[slot]:
            self._last_number += 1
            self._in_force[slot][client] = self._last_number

    def cancelled(self, client: str, filter: str) -> None:
        slot = self._catalogue.bit(filter).bit_length() - 1
        clients = self._in_force.get(slot, {})
        number = clients.pop(client, None)
        if number is None:
            return
        self._cancelled[number] = None
        if not clients:
            del self._in_force[slot]
            self._in_force_set &= ~(1 << slot)
            self._catalogue.release(slot)

    def published(self, event: Event) -> None:
        owed: dict[str, list[int]] = {}
        for slot in slots(self._catalogue.match(event) & self._in_force_set):
            for client, number in self._in_force[slot].items():
                owed.setdefault(client, []).append(number)
        self._owed[event] = owed
        self._got[event] = {}
        if self.causality is not None:
            self.causality.published(event)

    def delivered(self, client: str, event: Event) -> None:
        got = self._got[event]
        if client in got:
            self._duplicated += 1
            return
        got[client] = None
        if self.causality is not None:
            self.causality.delivered(client, event)
        numbers = self._owed[event].pop(client, None)
        if numbers is not None:
            sake = tuple(numbers)
            self._paid[sake] = self._paid.get(sake, 0) + 1
        key = (client, event.publisher)
        latest = self._latest.get(key, 0)
        if event.sequence < latest:
            self._out_of_order += 1
        else:
            self._latest[key] = event.sequence

    def numbers(self) -> ThreeNumbers:
        """As of now: what is still under way counts as lost."""
        lost = sum(self._counts(numbers) for owed in self._owed.values() for numbers in owed.values())
        paid = sum(count for numbers, count in self._paid.items() if self._counts(numbers))
        return ThreeNumbers(paid + lost, lost, self._duplicated, self._out_of_order)

    def _counts(self, numbers: Sequence[int]) -> bool:
        """Whether one of these subscriptions stands to the end."""
        return any(number not in self._cancelled for number in numbers)

    def lost_events(self, count_max: int) -> list[str]:
        """Some of what is lost, as `client <- event`."""
        lost = []
        for event, owed in self._owed.items():
            for client, numbers in owed.items():
                if self._counts(numbers):
                    lost.append(f"{client} <- {event.name}")
                    if len(lost) == count_max:
                        return lost
        return lost

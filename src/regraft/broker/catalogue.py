"""Numbers for filters: what turns a filter's text into a bit of the sets that routing computes with.

A broker holds each filter that its table speaks of, once, and lets it go when the last mention is gone. A world may
give each broker a catalogue of its own (a live broker) or let many share one (the simulator: an event is then matched
once and not once a broker). Nothing a broker does depends on the numbers, so both give the same effects.
"""

from functools import lru_cache

from regraft.errors import FilterError
from regraft.matching import FilterIndex, slots
from regraft.model.events import Event
from regraft.model.filters import Filter, covers

parse_filter = lru_cache(maxsize=65_536)(Filter.parse)

MEMO_LENGTH_MAX = 65_536


class Matched(dict[Event, int]):
    """What `match` has found, by the event's identity. It is the world's: a copy of a broker looks into the same."""


class FilterCatalogue:
    """`covering` keeps, for each filter, which others cover it: one comparison with each other filter when it comes.
    Brokers that share a catalogue ask about an event again and again; for one that has its own, and asks once, it
    `remembers` nothing."""

    def __init__(self, covering: bool = False, *, remembers: bool = True) -> None:
        self._index = FilterIndex()
        self._covering = covering
        self._remembers = remembers
        self._slots: dict[str, int] = {}
        self._holders: dict[int, int] = {}
        self._coverers: dict[int, int] = {}
        self._coverees: dict[int, int] = {}
        # For whoever cannot wait for a call. Emptied when a filter comes or goes, or when it grows too long.
        self.matched = Matched()

    @property
    def version(self) -> int:
        """Changes whenever a slot's meaning does."""
        return self._index.version

    def bit(self, text: str) -> int:
        """The bit of a filter that somebody holds, by its canonical text; 0 for any other."""
        slot = self._slots.get(text)
        return 0 if slot is None else 1 << slot

    def text(self, slot: int) -> str:
        return self._index.filter(slot).text

    def texts(self, filters: int) -> tuple[str, ...]:
        """In the order of the texts, so that no slot's number shows."""
        if filters & (filters - 1) == 0:
            return (self.text(filters.bit_length() - 1),) if filters else ()
        return tuple(sorted(self.text(slot) for slot in slots(filters)))

    def hold(self, text: str) -> int:
        """The slot of that canonical text, which stays its own until `release`. Raises `FilterError`."""
        slot = self._slots.get(text)
        if slot is None:
            new = parse_filter(text)
            slot = self._index.add(new)
            self._slots[new.text] = slot
            self._holders[slot] = 0
            self.matched.clear()
            if self._covering:
                self._compare(slot, new)
        self._holders[slot] += 1
        return slot

    def release(self, slot: int) -> None:
        self._holders[slot] -= 1
        if self._holders[slot]:
            return
        gone = self._index.filter(slot)
        del self._holders[slot]
        del self._slots[gone.text]
        self._index.remove(gone)
        self.matched.clear()
        if self._covering:
            for other in slots(self._coverers.pop(slot)):
                self._coverees[other] &= ~(1 << slot)
            for other in slots(self._coverees.pop(slot)):
                self._coverers[other] &= ~(1 << slot)

    def _compare(self, slot: int, new: Filter) -> None:
        coverers = coverees = 0
        for other in self._coverers:
            old = self._index.filter(other)
            above, below = covers(old, new), covers(new, old)
            if above and below:  # they say the same: the smaller text stands for both
                above, below = old.text < new.text, new.text < old.text
            if above:
                coverers |= 1 << other
                self._coverees[other] |= 1 << slot
            if below:
                coverees |= 1 << other
                self._coverers[other] |= 1 << slot
        self._coverers[slot] = coverers
        self._coverees[slot] = coverees

    def maximal(self, filters: int, among: int = -1) -> int:
        """Of these, without those that another of them covers; the answer is worked out for `among` only."""
        chosen = filters & among
        for slot in slots(chosen):
            if self._coverers[slot] & filters:
                chosen &= ~(1 << slot)
        return chosen

    def stand_for(self, text: str) -> int:
        """The held filters whose route serves this one: itself and, with covering, those that cover it.

        A text that nobody holds is compared with each; one that is no filter is served by none.
        """
        slot = self._slots.get(text)
        if slot is not None:
            return 1 << slot | (self._coverers[slot] if self._covering else 0)
        if not self._covering:
            return 0
        try:
            asked = parse_filter(text)
        except FilterError:
            return 0
        return sum(1 << other for other in self._coverers if covers(self._index.filter(other), asked))

    def with_covered(self, filters: int) -> int:
        """These and every held filter that one of them covers: all whose forwarding a change of these can touch."""
        if self._covering:
            for slot in slots(filters):
                filters |= self._coverees[slot]
        return filters

    def match(self, event: Event) -> int:
        """The set of held filters that the event satisfies."""
        if not self._remembers:
            return self._index.match(event.attributes)
        matched = self.matched.get(event)
        if matched is None:
            if len(self.matched) >= MEMO_LENGTH_MAX:
                self.matched.clear()
            matched = self.matched[event] = self._index.match(event.attributes)
        return matched

"""The index: which of many filters does an event satisfy?

A filter is an OR of conjunctions. One that says `text LIKE '%c%'` and no more is kept in `characters.py`; all others
are bits of the `grid.py`. Nothing is ever rebuilt: adding or removing a filter costs microseconds at any size.

A slot belongs to a filter as long as somebody holds it; then it is free, and the lowest free slot is given away first,
so that bitmaps stay short. A filter with several conjunctions in the grid takes further slots, one for each, which are
nobody's filter: they are replaced by the filter's own before an answer leaves.

As long as there are only a few filters, each is simply asked: below `FEW_FILTERS` that takes less time than to look
anything up.

What is left out: an index for substrings of more than one character. A filter `note LIKE '%urgent%'`, with nothing
beside it that could rule it out, is asked about each event.

Tried and dropped: lists of conjunctions under a key of one or two values, gone through test by test, with a grid only
for those without a key. That is the textbook's access predicate and it is the better for large lists in C; in Python a
test in a list costs as much as a bitmap operation over a thousand conjunctions, and the lists took three times as long
at every size measured. Rows as NumPy arrays are no faster from 100,000 slots on and half as fast below.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush

from regraft.errors import UsageError
from regraft.matching.bitmaps import slots
from regraft.matching.characters import Characters
from regraft.matching.grid import Grid
from regraft.matching.outline import contained_character
from regraft.model.events import Value
from regraft.model.filters import Filter

FEW_FILTERS = 8


class FilterIndex:
    """A set of filters, each in a slot, that answers which of them an event satisfies.

    `version` changes whenever a slot's meaning does, so that a table of slots made before can be told from a current
    one.
    """

    def __init__(self) -> None:
        self.version = 0
        self._slots: dict[str, int] = {}
        self._filters: list[Filter | None] = []
        self._holders: list[int] = []
        self._free: list[int] = []
        self._characters = Characters()
        self._grid = Grid()
        self._further: dict[int, list[int]] = {}
        self._owner: dict[int, int] = {}
        self._further_bitmap = 0
        self._few: list[tuple[int, Callable[[Mapping[str, Value]], bool]]] = []  # all, each with its bit, or none

    def __len__(self) -> int:
        """How many different filters there are."""
        return len(self._slots)

    def add(self, filter: Filter) -> int:
        """The filter's slot; if the same filter is there already, that one, and one holder more."""
        slot = self._slots.get(filter.text)
        if slot is not None:
            self._holders[slot] += 1
            return slot
        slot = self._take_slot()
        self._slots[filter.text] = slot
        self._filters[slot] = filter
        self._holders[slot] = 1
        self.version += 1
        for conjunction in filter.conjunctions:
            contained = contained_character(conjunction)
            if contained is not None:
                self._characters.add(slot, *contained)
            elif slot not in self._grid:
                self._grid.add(slot, conjunction)
            else:
                further = self._take_slot()
                self._grid.add(further, conjunction)
                self._further.setdefault(slot, []).append(further)
                self._owner[further] = slot
                self._further_bitmap |= 1 << further
        self._list_few()
        return slot

    def remove(self, filter: Filter) -> None:
        """One holder less; with the last one the filter goes, and its slot is free for another."""
        slot = self._slots.get(filter.text)
        if slot is None:
            raise UsageError(f"the filter is not in the index: {filter.text}")
        self._holders[slot] -= 1
        if self._holders[slot]:
            return
        self.version += 1
        for conjunction in filter.conjunctions:
            contained = contained_character(conjunction)
            if contained is not None:
                self._characters.remove(slot, *contained)
        if slot in self._grid:
            self._grid.remove(slot)
            for further in self._further.pop(slot, ()):
                self._grid.remove(further)
                del self._owner[further]
                self._further_bitmap ^= 1 << further
                heappush(self._free, further)
        del self._slots[filter.text]
        self._filters[slot] = None
        heappush(self._free, slot)
        self._list_few()

    def _list_few(self) -> None:
        few = self._slots.values() if len(self._slots) <= FEW_FILTERS else ()
        self._few = [(1 << slot, self.filter(slot).matches) for slot in few]

    def slot(self, filter: Filter) -> int | None:
        """The filter's slot, or None if it is not in the index."""
        return self._slots.get(filter.text)

    def filter(self, slot: int) -> Filter:
        """The filter in a slot."""
        found = self._filters[slot] if 0 <= slot < len(self._filters) else None
        if found is None:
            raise UsageError(f"no filter is in slot {slot}")
        return found

    def match(self, attributes: Mapping[str, Value]) -> int:
        """The bitmap of the slots whose filter an event with these attributes satisfies."""
        if self._few:
            found = 0
            for bit, matches in self._few:
                if matches(attributes):
                    found |= bit
            return found
        found = self._characters.match(attributes) if self._characters else 0
        if not self._grid:
            return found
        in_grid = self._grid.match(attributes)
        further = in_grid & self._further_bitmap
        if further:
            in_grid ^= further
            # One bit at a time: a conjunction among several of a filter is found seldom enough.
            for bit in slots(further):
                in_grid |= 1 << self._owner[bit]
        return found | in_grid if found else in_grid

    def _take_slot(self) -> int:
        if self._free:
            return heappop(self._free)
        slot = len(self._filters)
        self._filters.append(None)
        self._holders.append(0)
        return slot

    def check(self) -> None:
        """State the invariants; for tests."""
        assert all(self.filter(slot).text == text for text, slot in self._slots.items())
        assert [slot for slot, filter in enumerate(self._filters) if filter is not None] == sorted(self._slots.values())
        assert all(
            (count > 0) == (filter is not None) for count, filter in zip(self._holders, self._filters, strict=True)
        )
        taken = {*self._slots.values(), *self._owner}
        assert sorted([*self._free, *taken]) == list(range(len(self._filters)))
        assert self._owner == {bit: slot for slot, bits in self._further.items() for bit in bits}
        assert [bit for bit, _ in self._few] == [1 << slot for slot in self._slots.values()][: len(self._few)]
        assert len(self._few) == (len(self._slots) if len(self._slots) <= FEW_FILTERS else 0)
        assert list(slots(self._further_bitmap)) == sorted(self._owner)
        self._characters.check()
        self._grid.check()

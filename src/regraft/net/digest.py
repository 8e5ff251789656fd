"""Do the two ends of a link hold the same tables?

What a broker has told a neighbour (`told`) is what that neighbour has heard from it (`heard`), once all that is under
way has arrived. Links are FIFO, so a digest of `told` that travels as any other message can be compared with `heard` at
the moment when it arrives. It travels with each beacon. A difference is a bug, or a message that was refused; it is
counted, and mended by both ends saying everything again (`TablesDiffer`). A link counts as up when both ends have found
the other's last digest to be their own.

While a link is exchanged a broker on the cycle has two tables and sends no digest.

The digest of a set is the sum of its filters' 64-bit hashes: it depends on the texts and not on a broker's slots.
"""

from hashlib import blake2b

from regraft.broker import Broker, FilterCatalogue

REMEMBERED_MAX = 1_000_000
_64_BITS = (1 << 64) - 1


class Digests:
    """Of one broker's tables; remembers what did not change."""

    def __init__(self, core: Broker, catalogue: FilterCatalogue) -> None:
        self._core = core
        self._catalogue = catalogue
        self._hashes: dict[str, int] = {}
        self._last: dict[tuple[str, str], tuple[int, int, int]] = {}  # version of the catalogue, set, its digest

    def told(self, neighbour: str) -> int | None:
        return self._of("told", neighbour, self._core.table.told)

    def heard(self, neighbour: str) -> int | None:
        return self._of("heard", neighbour, self._core.table.heard)

    def _of(self, kind: str, neighbour: str, sets: dict[str, int]) -> int | None:
        filters = sets.get(neighbour)
        if filters is None or self._core.is_locked:
            return None
        version = self._catalogue.version
        known = self._last.get((kind, neighbour))
        if known is None or known[:2] != (version, filters):
            known = self._last[kind, neighbour] = version, filters, self._sum(filters)
        return known[2]

    def _sum(self, filters: int) -> int:
        hashes = self._hashes
        if len(hashes) > REMEMBERED_MAX:
            hashes.clear()
        total = 0
        for text in self._catalogue.texts(filters):
            found = hashes.get(text)
            if found is None:
                found = hashes[text] = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
            total += found
        return total & _64_BITS

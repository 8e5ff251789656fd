"""What a broker does to its tables where the routes of an exchange are grafted (`reconfiguration/first_phase.py`)."""

from collections.abc import Callable, Iterable
from hashlib import blake2b

import msgspec

from regraft.broker.catalogue import FilterCatalogue
from regraft.broker.effects import Effect, Send
from regraft.broker.messages import Compare, Control, Graft, GraftPart
from regraft.broker.reconfiguration.cycle import Part
from regraft.broker.routing import Settlement


class Grafting:
    """`hold` gives the bit of a filter that a neighbour has named; `process` takes a message as if it came now."""

    def __init__(
        self,
        settlement: Settlement,
        catalogue: FilterCatalogue,
        *,
        batch: bool,
        hold: Callable[[str, str], int],
        emit: Callable[[Effect], None],
        process: Callable[[str, Control], None],
    ) -> None:
        self._settlement = settlement
        self._catalogue = catalogue
        self._batch = batch
        self._hold = hold
        self._emit = emit
        self._process = process

    def begin(self, part: Part) -> None:
        """An old end: what the other has asked for comes from inward."""
        self._pass_on(part, self._settlement.table_after.close(part.outward))

    def go_on(self, part: Part, grafts: list[Graft]) -> None:
        """As the neighbour outward has done, so do we."""
        moved = self._bits(part.outward, (text for graft in grafts for text in graft.moved))
        kept = self._bits(part.outward, (text for graft in grafts for text in graft.kept))
        staying = self._bits(part.outward, (text for graft in grafts for text in graft.staying))
        unnamed = self._settlement.table_after.heard[part.outward] & ~(moved | kept | staying)
        moved |= unnamed if grafts[-1].rest == "moved" else 0
        kept |= unnamed if grafts[-1].rest == "kept" else 0
        self._settlement.grafted(part.outward, moved, moved | kept)
        self._pass_on(part, moved | kept)

    def _bits(self, neighbour: str, texts: Iterable[str]) -> int:
        bits = 0
        for text in texts:
            bits |= self._hold(text, neighbour)
        return bits

    def _pass_on(self, part: Part, crossing: int) -> None:
        if part.is_new_end:
            self._settlement.join_grafted(part.inward, crossing)
        else:
            told, moved = self._settlement.graft(crossing, part.inward)
            for graft in self._grafts(part.exchange, crossing, told, moved):
                self._emit(Send(part.inward, graft))
        self._settlement.settle(crossing, part.exchange)

    def _grafts(self, exchange: str, crossing: int, told: int, moved: int) -> list[Graft]:
        """The neighbour knows what it has been told: the largest of the three parts of it goes without saying."""
        parts: dict[GraftPart, int] = {"moved": moved, "kept": told & crossing & ~moved, "staying": told & ~crossing}
        rest = max(parts, key=lambda part: parts[part].bit_count())
        parts[rest] = 0
        parts["kept"] |= crossing & ~told  # with covering, some have not been told
        texts = {part: self._catalogue.texts(filters) for part, filters in parts.items()}
        if self._batch:
            return [Graft(exchange, texts["moved"], texts["kept"], texts["staying"], rest)]
        grafts = [Graft(exchange, moved=(text,)) for text in texts["moved"]]
        grafts += [Graft(exchange, kept=(text,)) for text in texts["kept"]]
        grafts += [Graft(exchange, staying=(text,)) for text in texts["staying"]]
        last = grafts.pop() if grafts else Graft(exchange)
        return [*grafts, msgspec.structs.replace(last, rest=rest)]

    # --- the new ends

    def compare(self, part: Part) -> None:
        """Tell the other what it should have heard from us, by its digest."""
        told = self._settlement.table_after.told[part.inward]
        self._emit(Send(part.inward, Compare(part.exchange, self._digest(told))))

    def believes(self, part: Part, digest: str) -> bool:
        return digest == self._digest(self._settlement.table_after.heard[part.inward])

    def _digest(self, filters: int) -> str:
        digest = blake2b(digest_size=16)
        for text in self._catalogue.texts(filters):
            digest.update(text.encode())
            digest.update(b"\0")
        return digest.hexdigest()

    def tell_all(self, part: Part) -> None:
        self._settlement.table_after.told[part.inward] = 0
        self._settlement.settle(self._settlement.in_use(), part.exchange)

    def hear_anew(self, part: Part, controls: list[Control]) -> None:
        """Instead of what we took for said, what the other new end has said."""
        heard = self._settlement.table_after.heard
        believed, heard[part.inward] = heard[part.inward], 0
        for message in controls:
            self._process(part.inward, message)
        self._settlement.settle(believed & self._settlement.in_use(), part.exchange)

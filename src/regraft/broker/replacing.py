"""What a broker does about links that are lost and replaced: the protocols, and their steps, done on its table.

What is lost is kept back or not by `strawman` or `deferred`; where the overlay manager announces a replacement, `path`
or `informed` takes over from there. Planned exchanges that are coordinated are another matter (`exchanging.py`).
"""

from collections.abc import Callable

from regraft.broker.catalogue import FilterCatalogue
from regraft.broker.config import BrokerConfig
from regraft.broker.effects import CancelTimer, Effect, SetTimer
from regraft.broker.inputs import EndFound, PathFound
from regraft.broker.messages import Reroute, Rerouted
from regraft.broker.reconfiguration import (
    Deferred,
    Informed,
    Path,
    ReconfigurationProtocol,
    Strawman,
    deferred,
    informed,
    path,
)
from regraft.broker.reconfiguration.path import ALL
from regraft.broker.routing import Settlement

ACTIVATION = "activate:"


def _protocol(config: BrokerConfig) -> ReconfigurationProtocol:
    if config.reconfiguration == "strawman":
        return Strawman()
    return Deferred(config.withdraw_after_ns, leaf_waits=config.reconfiguration != "deferred")


class Replacing:
    """The host of the protocols. `hold` gives the bit of a filter that a neighbour sent, `is_locked` says whether an
    exchange has made two tables of the one."""

    def __init__(
        self,
        name: str,
        config: BrokerConfig,
        catalogue: FilterCatalogue,
        settlement: Settlement,
        *,
        hold: Callable[[str, str], int],
        emit: Callable[[Effect], None],
    ) -> None:
        self.lost = _protocol(config)
        clean_ns = config.announced_within_ns + config.withdraw_after_ns
        self.path = Path(name, self, wait_ns=clean_ns, sent_max=config.reroutes_max)
        self.informed = Informed(name, self, wait_ns=clean_ns)
        self.emit = emit
        self._filters_max = config.filters_per_neighbour_max
        self._wait_ns = config.announced_within_ns
        self._clean_ns = clean_ns
        self._catalogue = catalogue
        self._settlement = settlement
        self._hold = hold
        self._activating: dict[str, str] = {}  # neighbour -> reconfiguration, of each that is not asked for all

    # --- what the broker tells

    @property
    def withheld(self) -> int:
        """The filters whose unsubscription must not be sent now."""
        return self.lost.withheld | self.path.withheld | self.informed.withheld

    def link_announced(self, neighbour: str, reconfiguration: str) -> None:
        """The new link replaces one whose ends know of it."""
        self._ask_later(neighbour, ALL, reconfiguration)

    def link_lost(self, neighbour: str, change: str, orphaned: int) -> None:
        self.withhold(change, orphaned)
        self._stop_waiting(neighbour)
        self.path.link_lost(neighbour)

    def lost_anew(self, neighbour: str) -> None:
        """The neighbour says everything again: what it asked for before is as good as lost with a link."""
        kept = self.path.ignored(neighbour)
        gone = 0
        for table in self._settlement.tables():
            if neighbour in table.heard:
                gone |= table.heard[neighbour] & ~kept
                table.heard[neighbour] &= kept
        self.withhold(f"{neighbour} anew", gone)
        self._settlement.settle(gone, "anew")

    def found(self, reconfiguration: str, found: PathFound | EndFound) -> None:
        """The overlay manager has replaced a link that we have lost."""
        if isinstance(found, PathFound):
            self.path.found(reconfiguration, found.way, found.near)
        else:
            self.informed.found(reconfiguration, found.new_end)

    def received(self, neighbour: str, message: Reroute | Rerouted) -> None:
        if isinstance(message, Reroute):
            self.path.rerouted_by(neighbour, message)
        else:
            self.path.answered(neighbour, message)

    def timer_fired(self, name: str) -> None:
        if name.startswith(ACTIVATION):
            neighbour = name.removeprefix(ACTIVATION)
            reconfiguration = self._activating.get(neighbour, "")
            self.ask_for_all(neighbour)
            self.settle(ALL, reconfiguration)
        elif name.startswith(informed.TIMER_PREFIX):
            self.informed.timer_fired(name)
        elif name.startswith(path.TIMER_PREFIX):
            self.path.timer_fired(name)
        else:
            self.settle(self.lost.expire(name), name.removeprefix(deferred.TIMER_PREFIX))

    def _stop_waiting(self, neighbour: str) -> None:
        if self._activating.pop(neighbour, None) is not None:
            self.emit(CancelTimer(ACTIVATION + neighbour))

    # --- what the protocols ask for

    def texts(self, filters: int) -> tuple[str, ...]:
        return self._catalogue.texts(filters)

    def hold(self, texts: tuple[str, ...], neighbour: str) -> int:
        held = 0
        for text in texts:
            held |= self._hold(text, neighbour)
        return held

    def known(self, texts: tuple[str, ...]) -> int:
        known = 0
        for text in texts:
            known |= self._catalogue.bit(text)
        return known

    def has_room_for(self, texts: tuple[str, ...]) -> bool:
        return len(texts) <= self._filters_max

    def can_pass_on(self, neighbour: str) -> bool:
        """Not while an exchange has made two tables of the one: they may differ in this neighbour."""
        return self._settlement.after is None and neighbour in self._settlement.table.heard

    def take_as_asked(self, neighbour: str, filters: int) -> None:
        self._settlement.table.heard[neighbour] |= filters

    def take_as_told(self, neighbour: str, filters: int) -> None:
        for table in self._settlement.tables():
            if neighbour in table.told:
                table.told[neighbour] |= filters

    def take_as_taken_back(self, neighbour: str, filters: int) -> int:
        gone = 0
        for table in self._settlement.tables():
            if neighbour in table.heard:
                gone |= filters & table.heard[neighbour]
                table.heard[neighbour] &= ~filters
        return gone

    def ask_for_all(self, neighbour: str) -> None:
        self._settlement.table.unasked.pop(neighbour, None)
        self._stop_waiting(neighbour)

    def ask_not_yet_beyond(self, neighbour: str, filters: int, reconfiguration: str) -> None:
        """What the neighbour asks us for, but for these, we do not ask it for; it is not taken back either."""
        table = self._settlement.table
        self._ask_later(neighbour, table.heard[neighbour] & ~filters & ~table.told[neighbour], reconfiguration)

    def announced(self, reconfiguration: str) -> str:
        """The neighbour beyond the new link that was announced by this name and waits to be used; empty for none."""
        for neighbour, name in self._activating.items():
            if name == reconfiguration and self._settlement.table.unasked[neighbour] == ALL:
                return neighbour
        return ""

    def wanted_here(self) -> int:
        once, _ = self._settlement.table.once_and_twice()
        return once

    def ask_for_all_but(self, neighbour: str, filters: int, reconfiguration: str) -> None:
        self._ask_later(neighbour, filters, reconfiguration, self._clean_ns)
        self.taken_back(~self._settlement.wanted())
        self.settle(ALL, reconfiguration)

    def taken_back(self, filters: int) -> None:
        """A neighbour has taken these back; who still asks for them wants them. They need be kept unasked no longer."""
        unasked = self._settlement.table.unasked
        for neighbour in [neighbour for neighbour in unasked if unasked[neighbour] != ALL]:
            unasked[neighbour] &= ~filters
            if not unasked[neighbour]:
                self.ask_for_all(neighbour)

    def _ask_later(self, neighbour: str, filters: int, reconfiguration: str, for_ns: int = 0) -> None:
        self._settlement.table.unasked[neighbour] = filters
        self._activating[neighbour] = reconfiguration
        self.emit(SetTimer(ACTIVATION + neighbour, for_ns or self._wait_ns))

    def take_over(self, reconfiguration: str) -> int:
        filters = self.lost.take_over(reconfiguration)
        if filters:
            self.emit(CancelTimer(deferred.TIMER_PREFIX + reconfiguration))
        return filters

    def withhold(self, reconfiguration: str, filters: int) -> None:
        for effect in self.lost.link_lost(reconfiguration, filters, is_leaf=not self._settlement.table.heard):
            self.emit(effect)

    def settle(self, changed: int, reconfiguration: str, apart: str = "") -> int:
        return self._settlement.settle(self._settlement.in_use() if changed == ALL else changed, reconfiguration, apart)

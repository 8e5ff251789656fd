"""Settling: each neighbour is told the difference between what it has been told and what it ought to be.

Usually there is one tree, and one table. While a link is exchanged (`reconfiguration/coordinated.py`) there are two
trees, the one *before* and the one *after*, and a broker on the cycle that they form keeps a table for each. They
differ in the neighbours on the cycle only; to the others, both trees look the same. So a neighbour on the cycle is told
for each tree apart, in one message where both need the same; any other neighbour is told what either tree needs. Every
change, whoever causes it, is settled in both tables, which is why subscriptions that come and go during an exchange
need no case of their own.
"""

from collections.abc import Callable

from regraft.broker.catalogue import FilterCatalogue
from regraft.broker.effects import Effect, Send
from regraft.broker.messages import Subscribe, Unsubscribe
from regraft.broker.routing.forwarding import ForwardingStrategy
from regraft.broker.routing.table import SubscriptionTable


class Settlement:
    """Owns the table, or both; `emit` takes the messages, in order."""

    def __init__(
        self,
        catalogue: FilterCatalogue,
        forwarding: ForwardingStrategy,
        *,
        covering: bool,
        batch: bool,
        withheld: Callable[[], int],
        emit: Callable[[Effect], None],
    ) -> None:
        self.table = SubscriptionTable()
        self.after: SubscriptionTable | None = None
        self.exchange = ""
        self._shared: tuple[str, ...] = ()  # the neighbours on the cycle in both trees
        self._apart: dict[str, None] = {}  # of these, whom each tree is spoken of apart
        self._grafted: dict[str, int] = {}  # neighbour -> what it asks for since a graft, and may not know yet
        self._catalogue = catalogue
        self._forwarding = forwarding
        self._covering = covering
        self._batch = batch
        self._withheld = withheld
        self._emit = emit

    # --- one tree or two

    def fork(self, exchange: str, shared: tuple[str, ...]) -> None:
        """From now on there are two tables, at first the same."""
        assert self.after is None
        self.exchange = exchange
        self._shared = shared
        self.after = self.table.fork()

    def adopt(self) -> None:
        """The tree after is the tree; the one before is forgotten."""
        assert self.after is not None
        self.table.heard, self.table.told = self.after.heard, self.after.told
        self.drop()

    def drop(self) -> None:
        """The tree before is the tree; the one after is forgotten."""
        self.after = None
        self.exchange = ""
        self._shared = ()
        self._apart.clear()
        self._grafted.clear()

    def tables(self) -> list[SubscriptionTable]:
        return [self.table] if self.after is None else [self.table, self.after]

    @property
    def table_after(self) -> SubscriptionTable:
        assert self.after is not None, "there is one tree"
        return self.after

    def spoken_of(self, neighbour: str, exchange: str, before: bool) -> list[SubscriptionTable]:
        """The tables that a message of this neighbour speaks of; `exchange` is empty where it speaks of all."""
        if self.after is None:
            return [] if before or neighbour not in self.table.heard else [self.table]
        if exchange and exchange == self.exchange:
            tables = [self.table if before else self.after]
        else:  # what is left over from another exchange speaks of the tree that came out of it
            tables = [] if before else self.tables()
        return [table for table in tables if neighbour in table.heard]

    def hear(self, neighbour: str, filters: int, exchange: str, before: bool) -> int:
        """The neighbour asks for these; returns what is new in some table."""
        changed = 0
        for table in self.spoken_of(neighbour, exchange, before):
            changed |= filters & ~table.heard[neighbour]
            table.heard[neighbour] |= filters
        return changed

    def take_back(self, neighbour: str, filters: int, exchange: str, before: bool) -> int:
        """The neighbour no longer asks for these; returns what is gone from some table."""
        changed = 0
        for table in self.spoken_of(neighbour, exchange, before):
            gone = filters & table.heard[neighbour]
            if table is self.after and not exchange:  # said before it knew of the graft, which has made it ask again
                gone &= ~self._grafted.get(neighbour, 0)
            elif table is self.after:
                self._grafted.pop(neighbour, None)
            changed |= gone
            table.heard[neighbour] &= ~gone
        return changed

    # --- grafting

    def graft(self, crossing: int, inward: str) -> tuple[int, int]:
        """In the tree after, `crossing` is asked for from inward: as if that neighbour had said so. Returns what it has
        been told, and what of that it need not bring to us any more, as only those beyond the old link wanted it."""
        after = self.table_after
        after.heard[inward] |= crossing
        self._grafted[inward] = crossing
        wanted = dict(self._forwarding.wanted(after, crossing))[inward]
        told = after.told[inward]
        moved = told & crossing & ~wanted & ~self._withheld()
        after.told[inward] = told & ~moved
        return told, moved

    def grafted(self, outward: str, moved: int, crossing: int) -> None:
        """The neighbour has done so: we ask it for `crossing`, and it does not ask us for `moved`."""
        after = self.table_after
        after.heard[outward] &= ~moved
        after.told[outward] |= crossing
        self._apart[outward] = None

    def join_grafted(self, inward: str, crossing: int) -> None:
        """The link that comes: both ends take for said what the old link's ends had said to each other."""
        after = self.table_after
        after.open(inward)
        after.heard[inward] = crossing
        once, _ = after.once_and_twice()
        after.told[inward] = dict(self._forwarding.wanted(after, once))[inward]

    def in_use(self) -> int:
        used = self.table.in_use()
        return used if self.after is None else used | self.after.in_use()

    def wanted(self) -> int:
        """All that anybody asked us for, in either tree."""
        union = 0
        for table in self.tables():
            once, _ = table.once_and_twice()
            union |= once
        return union

    # --- telling

    def settle(self, changed: int, reconfiguration: str, apart: str = "") -> int:
        """Bring every neighbour up to date, for the filters that a change can touch; returns what is taken back from
        the neighbour `apart`, to be told by the caller."""
        untold = 0
        if not changed:
            return untold
        among = self._catalogue.with_covered(changed) if self._covering else changed
        if self.after is not None:
            assert not apart
            self._settle_both(self.after, among, reconfiguration)
            return untold
        told = self.table.told
        for neighbour, wanted in self._forwarding.wanted(self.table, among):
            if (told[neighbour] ^ wanted) & among:
                asked, taken_back = self._difference(self.table, neighbour, wanted, among)
                if neighbour == apart:
                    untold, taken_back = taken_back, 0
                self._tell(neighbour, asked, taken_back, reconfiguration)
        return untold

    def _settle_both(self, after: SubscriptionTable, among: int, reconfiguration: str) -> None:
        after.local = self.table.local
        wanted_before = dict(self._forwarding.wanted(self.table, among))
        wanted_after = dict(self._forwarding.wanted(after, among))
        for neighbour in wanted_before | wanted_after:
            if neighbour in self._shared:
                asked, back = self._difference(self.table, neighbour, wanted_before[neighbour], among)
                asked_after, back_after = self._difference(after, neighbour, wanted_after[neighbour], among)
                both, both_back = (0, 0) if neighbour in self._apart else (asked & asked_after, back & back_after)
                self._tell(neighbour, both, both_back, reconfiguration)
                only_before = (asked & ~both, back & ~both_back)
                self._tell(neighbour, *only_before, reconfiguration, self.exchange, before=True)
                only_after = (asked_after & ~both, back_after & ~both_back)
                self._tell(neighbour, *only_after, reconfiguration, self.exchange)
                continue
            wanted = wanted_before.get(neighbour, 0) | wanted_after.get(neighbour, 0)
            tables = [table for table in (self.table, after) if neighbour in table.told]
            asked, back = self._difference(tables[0], neighbour, wanted, among)
            for table in tables[1:]:
                table.told[neighbour] = tables[0].told[neighbour]
            self._tell(neighbour, asked, back, reconfiguration)

    def _difference(self, table: SubscriptionTable, neighbour: str, wanted: int, among: int) -> tuple[int, int]:
        """What to ask for and what to take back; from now on it counts as told."""
        told = table.told[neighbour]
        asked = wanted & ~told
        taken_back = told & among & ~wanted
        if taken_back:
            taken_back &= ~self._withheld()
        table.told[neighbour] = (told | asked) & ~taken_back
        return asked, taken_back

    def _tell(
        self,
        neighbour: str,
        asked: int,
        taken_back: int,
        reconfiguration: str,
        exchange: str = "",
        before: bool = False,
    ) -> None:
        if asked:
            for filters in self._messages_of(asked):
                self._emit(Send(neighbour, Subscribe(filters, reconfiguration, exchange, before)))
        if taken_back:
            for filters in self._messages_of(taken_back):
                self._emit(Send(neighbour, Unsubscribe(filters, reconfiguration, exchange, before)))

    def _messages_of(self, filters: int) -> list[tuple[str, ...]]:
        texts = self._catalogue.texts(filters)
        return [texts] if self._batch else [(text,) for text in texts]

    # --- what holds between any two inputs

    def check(self, name: str) -> None:
        self.table.check()
        if self.after is None:
            self._check(name, self.table, self.table.heard)
            return
        assert self.after.local == self.table.local
        for table in (self.table, self.after):
            self._check(name, table, self._shared)

    def _check(self, name: str, table: SubscriptionTable, exactly: "tuple[str, ...] | dict[str, int]") -> None:
        withheld = self._withheld()
        for neighbour, wanted in self._forwarding.wanted(table, self.in_use()):
            told = table.told[neighbour]
            assert wanted & ~told == 0, f"{name} owes {neighbour} {self._catalogue.texts(wanted & ~told)}"
            excess = told & ~wanted & ~withheld
            assert not excess or neighbour not in exactly, f"{name} has told {neighbour} what it no longer wants"

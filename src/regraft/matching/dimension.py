"""What the conjunctions of a grid say about one attribute.

A constraint that admits a few single values (`symbol = 'IBM'`, an IN list) is kept by value: `exact[value]` is the set
of conjunctions that admit it, and all others of `exact_members` reject it. Everything else is kept on two lines, of
numbers and of strings, and for the values that are on neither (missing, NaN, false, true), which most constraints
reject, in a row of those that admit it.

A set of few is a list of bits, a set of many a row. A row would be wasteful for a value that hardly anybody wants (an
account number, say): each such value would take a page for every page that has one of its conjunctions.
"""

from collections.abc import Callable, Mapping

from regraft.matching.bitmaps import PAGE_SLOTS, Row, flip, join, slots
from regraft.matching.line import Line
from regraft.matching.outline import Key, number_outline, points, string_outline
from regraft.model.filters import Constraint

FEW = 8
FEW_SHARE = 1024
"""A set is kept as a list up to `FEW` bits, and one more for every `FEW_SHARE` slots; a row costs as much memory as it
would take to list one bit in 64 of these."""


class Admitting:
    """A set of bits that is a list while it is small, and then a row (`row` is not empty)."""

    __slots__ = ("bits", "count", "row")

    def __init__(self) -> None:
        self.bits: list[int] = []
        self.row: Row = []
        self.count = 0

    def add(self, bit: int, pages: int) -> None:
        self.count += 1
        if self.row:
            flip(self.row, bit)
            return
        self.bits.append(bit)
        if self.count > FEW + (pages * PAGE_SLOTS) // FEW_SHARE:
            self.row = [0] * pages
            for listed in self.bits:
                flip(self.row, listed)
            self.bits = []

    def remove(self, bit: int) -> None:
        self.count -= 1
        if not self.row:
            self.bits.remove(bit)
            return
        flip(self.row, bit)
        # Half of what makes a row, so that a set which changes around the limit does not change its form each time.
        if self.count <= (FEW + (len(self.row) * PAGE_SLOTS) // FEW_SHARE) // 2:
            self.bits = list(slots(join(self.row)))
            self.row = []


class Dimension:
    """One attribute of a grid.

    Invariants: a constraint is in `exact` or in the cells, never in both; `users` counts all of them and `cell_users`
    those in the cells, who are the `cell_members`; all rows have as many pages as the grid.
    """

    __slots__ = (
        "_pages",
        "cell_members",
        "cell_users",
        "exact",
        "exact_members",
        "false",
        "nan",
        "null",
        "numbers",
        "strings",
        "true",
        "users",
    )

    def __init__(self, pages: int, constraint_of: Callable[[int], Constraint]) -> None:
        self._pages = pages
        self.users = 0
        self.cell_users = 0
        self.exact: dict[Key, Admitting] = {}
        self.exact_members: Row = [0] * pages
        self.cell_members: Row = [0] * pages
        self.null, self.nan, self.false, self.true = ([0] * pages for _ in range(4))
        self.numbers: Line[float] = Line(pages, number_outline, constraint_of)
        self.strings: Line[str] = Line(pages, string_outline, constraint_of)

    def add_page(self) -> None:
        self._pages += 1
        self.exact_members.append(0)
        for admitting in self.exact.values():
            if admitting.row:
                admitting.row.append(0)
        for row in (self.cell_members, self.null, self.nan, self.false, self.true):
            row.append(0)
        self.numbers.add_page()
        self.strings.add_page()

    def add(self, bit: int, constraint: Constraint) -> None:
        self.users += 1
        keys = points(constraint)
        if keys is not None:
            flip(self.exact_members, bit)
            for key in keys:
                admitting = self.exact.get(key)
                if admitting is None:
                    admitting = self.exact[key] = Admitting()
                admitting.add(bit, self._pages)
            return
        self.cell_users += 1
        self._flip_off_lines(bit, constraint)
        self.numbers.add(bit, constraint)
        self.strings.add(bit, constraint)

    def remove(self, bit: int, constraint: Constraint) -> None:
        self.users -= 1
        keys = points(constraint)
        if keys is not None:
            flip(self.exact_members, bit)
            for key in keys:
                self.exact[key].remove(bit)
                if not self.exact[key].count:
                    del self.exact[key]
            return
        self.cell_users -= 1
        self._flip_off_lines(bit, constraint)
        self.numbers.remove(bit, constraint)
        self.strings.remove(bit, constraint)

    def exact_out(self, key: Key) -> Row:
        """Who rejects a value by what they say exactly. Made for each event anew: to remember it for each value takes
        as much memory as the sets themselves, and it would be wrong with the next filter that comes or goes."""
        admitting = self.exact.get(key)
        if admitting is None:
            return self.exact_members
        if admitting.row:
            return [members ^ admitted for members, admitted in zip(self.exact_members, admitting.row, strict=True)]
        rejecting = self.exact_members.copy()
        for bit in admitting.bits:
            flip(rejecting, bit)
        return rejecting

    def off_lines_out(self, admitting: Row) -> Row:
        """Who of the cells rejects a value that is on no line, given who admits it."""
        return [members ^ admitted for members, admitted in zip(self.cell_members, admitting, strict=True)]

    def _flip_off_lines(self, bit: int, constraint: Constraint) -> None:
        flip(self.cell_members, bit)
        for row in self._admitting(constraint):
            flip(row, bit)

    def _admitting(self, constraint: Constraint) -> list[Row]:
        """The rows of the values on no line that the constraint admits."""
        rows = []
        if constraint.null:
            rows.append(self.null)
        if constraint.nan:
            rows.append(self.nan)
        for value in constraint.booleans:
            rows.append(self.true if value else self.false)
        return rows

    def check(self, constraints: Mapping[int, Constraint], pages: int) -> None:
        """State the invariants, given the constraint of each conjunction on this attribute."""
        exact = {bit: keys for bit, constraint in constraints.items() if (keys := points(constraint)) is not None}
        in_cells = {bit: constraint for bit, constraint in constraints.items() if bit not in exact}
        assert self.users == len(constraints)
        assert self.cell_users == len(in_cells)
        assert self._pages == pages
        assert list(slots(join(self.exact_members))) == sorted(exact)
        admitted: dict[Key, list[int]] = {}
        for bit, keys in sorted(exact.items()):
            for key in keys:
                admitted.setdefault(key, []).append(bit)
        assert admitted.keys() == self.exact.keys()
        for key, admitting in self.exact.items():
            assert admitting.count == len(admitted[key])
            assert len(admitting.row) in (0, pages)
            assert not (admitting.row and admitting.bits)
            assert (sorted(admitting.bits) or list(slots(join(admitting.row)))) == admitted[key]
        assert list(slots(join(self.cell_members))) == sorted(in_cells)
        for row in (self.null, self.nan, self.false, self.true):
            assert len(row) == pages
            assert list(slots(join(row))) == [
                bit for bit, item in sorted(in_cells.items()) if any(row is other for other in self._admitting(item))
            ]
        self.numbers.check(in_cells)
        self.strings.check(in_cells)

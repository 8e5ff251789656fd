"""All conjunctions at once: for each attribute one bitmap of those that the event's value rules out.

    satisfied = members - (ruled out by attribute 1 | ruled out by attribute 2 | ...)

That is one operation on whole bitmaps for each attribute that any conjunction mentions (`dimension.py` finds the
bitmap), be there few conjunctions or many. Of those that are left, the ones that were open in some cell (`line.py`), or
have a LIKE pattern that is no prefix, are asked one by one; with 10,000 filters these are a handful. Each is asked once
in a while, so its constraints are gone through as they are: to compile a filter for that takes longer than ten answers.

Where all conjunctions name values of one attribute (an account, a symbol), and few that of the event, only these are
asked, and no bitmap is touched.

An attribute that is not in the event rules out by being missing. There may be many such attributes, far more than an
event has, and events of a kind have the same ones. So what all missing attributes rule out is kept, for each of the
last few combinations of attributes that events came with (a `_Shape`), and kept up to date as conjunctions come and go.

A conjunction is known here by a *bit*: the slot of its filter, or a further slot if the filter has several.
"""

from bisect import bisect_right
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from regraft.matching.bitmaps import PAGE_SHIFT, PAGE_SLOTS, Row, flip, join, slots
from regraft.matching.dimension import Dimension
from regraft.matching.line import Line
from regraft.matching.outline import Truth
from regraft.model.events import Value
from regraft.model.filters import Conjunction, Constraint

SHAPES_MAX = 16
"""For so many combinations of attributes the grid remembers what is ruled out by the missing ones."""


class _Shape:
    """The attributes that an event has: those with a dimension, and what the others rule out by being missing."""

    __slots__ = ("missing_out", "present")

    def __init__(self, present: list[tuple[str, Dimension]], missing_out: Row) -> None:
        self.present = present
        self.missing_out = missing_out


class Grid:
    """Invariants: a bit is set nowhere but for a member; a dimension is there as long as a member mentions its
    attribute; shapes are those of the dimensions that are there."""

    def __init__(self) -> None:
        self._members: Row = []
        self._patterned: Row = []
        self._conjunctions: list[Conjunction | None] = []
        self._dimensions: dict[str, Dimension] = {}
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, bit: int) -> bool:
        return bit < len(self._conjunctions) and self._conjunctions[bit] is not None

    def add(self, bit: int, conjunction: Conjunction) -> None:
        """Take a conjunction in."""
        while bit >= len(self._conjunctions):
            if len(self._conjunctions) % PAGE_SLOTS == 0:
                self._add_page()
            self._conjunctions.append(None)
        self._count += 1
        self._conjunctions[bit] = conjunction
        flip(self._members, bit)
        if _has_patterns(conjunction):
            flip(self._patterned, bit)
        for attribute, constraint in conjunction:
            dimension = self._dimensions.get(attribute)
            if dimension is None:
                dimension = self._dimensions[attribute] = self._dimension(attribute)
                self._shapes.clear()
            dimension.add(bit, constraint)
        self._flip_shapes(bit, conjunction)

    def remove(self, bit: int) -> None:
        conjunction = self._conjunctions[bit]
        assert conjunction is not None
        self._flip_shapes(bit, conjunction)
        for attribute, constraint in conjunction:
            dimension = self._dimensions[attribute]
            dimension.remove(bit, constraint)
            if not dimension.users:
                del self._dimensions[attribute]
                self._shapes.clear()
        if _has_patterns(conjunction):
            flip(self._patterned, bit)
        flip(self._members, bit)
        self._conjunctions[bit] = None
        self._count -= 1

    def match(self, attributes: Mapping[str, Value]) -> int:
        """The bitmap of the conjunctions that the attributes satisfy."""
        key = tuple(attributes)
        shape = self._shapes.get(key) or self._shape(key)
        out_rows = [shape.missing_out]
        open_rows = [self._patterned]
        for attribute, dimension in shape.present:
            value = attributes[attribute]
            kind = value.__class__
            if dimension.exact:
                if dimension.users - dimension.cell_users == self._count:  # everybody names values of this attribute
                    admitting = dimension.exact.get(value if kind is not bool else Truth(value))
                    if admitting is None:
                        return 0
                    if admitting.bits:
                        return self._ask(admitting.bits, attributes)
                out_rows.append(dimension.exact_out(value if kind is not bool else Truth(value)))
            if dimension.cell_users:
                line: Line[Any]
                if kind is float or kind is int:
                    if value != value:
                        out_rows.append(dimension.off_lines_out(dimension.nan))
                        continue
                    line = dimension.numbers
                elif kind is str:
                    line = dimension.strings
                else:
                    out_rows.append(dimension.off_lines_out(dimension.true if value else dimension.false))
                    continue
                cell = line.cells[bisect_right(line.cuts, value)]
                out_rows.append(cell.out)
                out_rows.append(cell.block.out)
                if cell.load:
                    open_rows.append(cell.open)
        satisfied: Row = []
        conjunctions, get = self._conjunctions, attributes.get
        pages = zip(self._members, zip(*out_rows, strict=True), zip(*open_rows, strict=True), strict=True)
        for page, (left, outs, opens) in enumerate(pages):
            left ^= reduce(or_, outs)  # whatever is ruled out is a member
            asked = left & reduce(or_, opens)
            while asked:
                highest = asked.bit_length() - 1
                asked ^= 1 << highest
                for attribute, constraint in conjunctions[(page << PAGE_SHIFT) + highest] or ():
                    if not constraint.admits(get(attribute)):
                        left ^= 1 << highest
                        break
            satisfied.append(left)
        return join(satisfied)

    def _ask(self, bits: list[int], attributes: Mapping[str, Value]) -> int:
        """Which of these conjunctions the attributes satisfy: for a few that takes less time than to rule all out."""
        satisfied = 0
        get = attributes.get
        for bit in bits:
            for attribute, constraint in self._conjunctions[bit] or ():
                if not constraint.admits(get(attribute)):
                    break
            else:
                satisfied |= 1 << bit
        return satisfied

    # --------------------------------------------------------------------------------------------------------- shapes

    def _shape(self, key: tuple[str, ...]) -> _Shape:
        """Make, and remember, the shape of events with these attributes."""
        if len(self._shapes) >= SHAPES_MAX:
            self._shapes.clear()
        present = [(attribute, self._dimensions[attribute]) for attribute in key if attribute in self._dimensions]
        missing_out = [0] * len(self._members)
        names = frozenset(key)
        for attribute, dimension in self._dimensions.items():
            if attribute not in names:
                for page, out in enumerate(dimension.off_lines_out(dimension.null)):
                    missing_out[page] |= dimension.exact_members[page] | out
        shape = self._shapes[key] = _Shape(present, missing_out)
        return shape

    def _flip_shapes(self, bit: int, conjunction: Conjunction) -> None:
        """Take a conjunction into the shapes whose events miss what it needs, or out of them."""
        needed = [attribute for attribute, constraint in conjunction if not constraint.null]
        for key, shape in self._shapes.items():
            for attribute in needed:
                if attribute not in key:
                    flip(shape.missing_out, bit)
                    break

    # ----------------------------------------------------------------------------------------------------------- rest

    def _dimension(self, attribute: str) -> Dimension:
        def constraint_of(bit: int) -> Constraint:
            conjunction = self._conjunctions[bit]
            assert conjunction is not None
            return next(constraint for name, constraint in conjunction if name == attribute)

        return Dimension(len(self._members), constraint_of)

    def _add_page(self) -> None:
        self._members.append(0)
        self._patterned.append(0)
        for dimension in self._dimensions.values():
            dimension.add_page()
        for shape in self._shapes.values():
            shape.missing_out.append(0)

    def check(self) -> None:
        """State the invariants; for tests."""
        members = {bit: conjunction for bit, conjunction in enumerate(self._conjunctions) if conjunction is not None}
        assert self._count == len(members)
        assert list(slots(join(self._members))) == list(members)
        patterned = [bit for bit, conjunction in members.items() if _has_patterns(conjunction)]
        assert list(slots(join(self._patterned))) == patterned
        by_attribute: dict[str, dict[int, Constraint]] = {}
        for bit, conjunction in members.items():
            for attribute, constraint in conjunction:
                by_attribute.setdefault(attribute, {})[bit] = constraint
        assert by_attribute.keys() == self._dimensions.keys()
        for attribute, constraints in by_attribute.items():
            self._dimensions[attribute].check(constraints, len(self._members))
        for key, shape in self._shapes.items():
            assert [name for name, _ in shape.present] == [name for name in key if name in self._dimensions]
            assert all(self._dimensions[name] is dimension for name, dimension in shape.present)
            assert list(slots(join(shape.missing_out))) == [
                bit
                for bit, conjunction in members.items()
                if any(name not in key and not constraint.null for name, constraint in conjunction)
            ]


def _has_patterns(conjunction: Conjunction) -> bool:
    return any(constraint.patterns for _, constraint in conjunction)

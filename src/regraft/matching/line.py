"""A line of values cut into cells, each with two bitmaps: who is out, and who has to be asked.

A line is all numbers, or all strings, that one attribute may have. Cuts divide it into cells, `[cut, next cut)`. To an
event's value belongs one cell, found by bisection, and in a cell the constraint that a conjunction puts on the
attribute is in one of three states:

- it rejects every value of the cell: the conjunction's bit is set in `out`, of the cell or of its block (see below);
- it admits every value of the cell: nothing is stored, as for a conjunction that does not mention the attribute;
- it is *open*, since an end of one of its intervals lies inside the cell: the bit is set in `open`.

Bitmaps hold rejections, not admissions, because then adding a conjunction touches only the attributes it mentions.

`price < 10` is out in half of all cells. Neighbouring cells therefore form *blocks*, and what is out in all cells of a
block is set there and not in the cells: one bit for many. Adding or removing a conjunction changes some 20 pages, not
hundreds.

A cell with too many open conjunctions is split at the middle one of their ends; a line with too many cells first joins
the two neighbours that are the least loaded. So the open ones of a cell stay near 1/128 of all ends on the line, which
is what an event has to ask, whatever comes and goes; and since either touches one or two blocks and nothing else, there
is no rebuilding. What is left out: a line that gets emptier keeps its cells until its last conjunction goes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from regraft.matching.bitmaps import PAGE_MASK, PAGE_SHIFT, Row, flip, join, slots
from regraft.matching.outline import Outline, Verdict, between
from regraft.model.filters import Constraint

T = TypeVar("T", float, str)

OPEN_MIN = 4
"""A cell with this many open conjunctions is never split."""
OPEN_SHARE = 128
"""A cell may have this fraction of all ends on its line open."""
CELLS_MAX = 2 * OPEN_SHARE
BLOCK_MAX = 24
"""A block with more cells is divided. Small blocks are united with a neighbour while the two have no more than half."""


class Block:
    """Neighbouring cells, and what is out in all of them."""

    __slots__ = ("out", "size")

    def __init__(self, out: Row, size: int) -> None:
        self.out = out
        self.size = size


class Cell:
    """A stretch of a line."""

    __slots__ = ("block", "load", "open", "out")

    def __init__(self, block: Block, out: Row) -> None:
        self.block = block
        self.out = out
        self.open: Row = [0] * len(out)
        self.load = 0
        """How many are open."""


class Line(Generic[T]):
    """The cells of one attribute's numbers, or strings.

    Invariants: `cuts` ascends strictly; there is one cell more than cuts; the cells of a block are neighbours; a bit is
    in a block's `out` exactly if all its cells are out, and then in none of theirs. Of the stretches of all outlines
    `ends` counts those that have a start, and `ends_at[cut]` those that start exactly at the cut.
    """

    __slots__ = ("cells", "constraint_of", "cuts", "ends", "ends_at", "outline_of")

    def __init__(
        self, pages: int, outline_of: Callable[[Constraint], Outline], constraint_of: Callable[[int], Constraint]
    ) -> None:
        self.cuts: list[T] = []
        self.cells = [Cell(Block([0] * pages, 1), [0] * pages)]
        self.ends = 0
        self.ends_at: dict[T, int] = {}
        self.outline_of = outline_of
        self.constraint_of = constraint_of

    def cell(self, value: T) -> Cell:
        return self.cells[bisect_right(self.cuts, value)]

    def add_page(self) -> None:
        for cell in self.cells:
            cell.out.append(0)
            cell.open.append(0)
        for block in self._blocks():
            block.out.append(0)

    def add(self, bit: int, constraint: Constraint) -> None:
        for index in reversed(self._flip(bit, self.outline_of(constraint), 1)):
            # From the right, so that a split moves no cell that is still to be looked at. (A join may; then the cell
            # is looked at when the next end falls into it.)
            self._relieve(index)

    def remove(self, bit: int, constraint: Constraint) -> None:
        self._flip(bit, self.outline_of(constraint), -1)

    def _flip(self, bit: int, outline: Outline, change: int) -> list[int]:
        """Enter an outline in all cells, or take it out; the indices of the cells inside which it has ends."""
        page, mask = bit >> PAGE_SHIFT, 1 << (bit & PAGE_MASK)
        cuts, cells = self.cuts, self.cells
        parts: list[int] = []
        first = 0
        for number, (_, verdict) in enumerate(outline, 1):
            if number < len(outline):
                end = outline[number][0]
                at = bisect_left(cuts, end)
                # The end is the cut `at`, or lies inside the cell `at`.
                on_cut = at < len(cuts) and cuts[at] == end
                last = at + on_cut
                self.ends += change
                if on_cut:
                    self.ends_at[end] += change
                elif not parts or parts[-1] != at:
                    parts.append(at)
                    cells[at].open[page] ^= mask
                    cells[at].load += change
            else:
                at = last = len(cells)
            if verdict is Verdict.OUT:
                self._flip_out(first, last, page, mask)
            elif verdict is Verdict.MIXED:
                for cell in cells[first:last]:
                    cell.open[page] ^= mask
                    cell.load += change
            first = at + 1
        return parts

    def _flip_out(self, first: int, last: int, page: int, mask: int) -> None:
        """Take a bit in or out of the `out` of these cells: of a block where all of its cells are among them."""
        cells = self.cells
        index = first
        while index < last:
            block = cells[index].block
            stop = index + block.size
            if stop <= last and (index == 0 or cells[index - 1].block is not block):
                block.out[page] ^= mask
                index = stop
            else:
                cells[index].out[page] ^= mask
                index += 1

    # ------------------------------------------------------------------------------------------- splitting, joining

    def _relieve(self, index: int) -> None:
        """Split the cell if it is too full, after joining two others if there are too many."""
        limit = max(OPEN_MIN, self.ends // OPEN_SHARE)
        if self.cells[index].load <= limit:
            return
        if len(self.cells) >= CELLS_MAX:
            joined = self._join_least(limit, index)
            if joined is None:
                return
            index -= joined < index
        self._split(index)

    def _split(self, index: int) -> None:
        left = self.cells[index]
        low, high = self._ends_of(index)
        open_ones = [(bit, self.outline_of(self.constraint_of(bit))) for bit in slots(join(left.open))]
        places = sorted(start for _, outline in open_ones for start, _ in between(outline, low, high)[1:])
        if not places:
            return  # integers and floats that disagree all along the cell: no cut would tell them apart
        cut = places[len(places) // 2]
        right = Cell(left.block, left.out.copy())
        left.block.size += 1
        left.open = [0] * len(left.open)
        left.load = 0
        self.cuts.insert(index, cut)
        self.cells.insert(index + 1, right)
        self.ends_at[cut] = places.count(cut)
        for bit, outline in open_ones:
            self._settle(index, bit, outline)
            self._settle(index + 1, bit, outline)
        if left.block.size > BLOCK_MAX:
            self._divide(self._cells_of(left.block, index))

    def _settle(self, index: int, bit: int, outline: Outline) -> None:
        """Enter, in one cell that is half of what it was, an outline that was open there."""
        cell = self.cells[index]
        stretches = between(outline, *self._ends_of(index))
        if len(stretches) > 1 or stretches[0][1] is Verdict.MIXED:
            flip(cell.open, bit)
            cell.load += 1
        elif stretches[0][1] is Verdict.OUT:
            flip(cell.out, bit)

    def _join_least(self, limit: int, keep: int) -> int | None:
        """Join the two neighbours of a block that have the least open together; the index of the left one, or None if
        even these have too much, or if the cell `keep` is one of them."""
        cells = self.cells
        loads = [
            (left.load + right.load + self.ends_at[cut], index)
            for index, (left, right, cut) in enumerate(zip(cells, cells[1:], self.cuts, strict=False))
            if left.block is right.block
        ]
        load, index = min(loads, default=(limit + 1, 0))
        if load > limit or keep in (index, index + 1):
            return None
        left, right = cells[index], cells[index + 1]
        # Open is what is open in either, and what one rejects and the other admits.
        left.open = [
            left_open | right_open | left_out ^ right_out
            for left_open, right_open, left_out, right_out in zip(
                left.open, right.open, left.out, right.out, strict=True
            )
        ]
        left.load = sum(page.bit_count() for page in left.open)
        left.out = _common([left.out, right.out])
        left.block.size -= 1
        del self.ends_at[self.cuts[index]], self.cuts[index], cells[index + 1]
        self._unite_around(index)
        return index

    # --------------------------------------------------------------------------------------------------------- blocks

    def _blocks(self) -> list[Block]:
        return list(dict.fromkeys(cell.block for cell in self.cells))

    def _cells_of(self, block: Block, index: int) -> list[Cell]:
        """The cells of a block, the cell `index` being one of them."""
        near = self.cells[max(0, index - block.size) : index + block.size]
        return [cell for cell in near if cell.block is block]

    def _divide(self, cells: list[Cell]) -> None:
        """Make two blocks of one."""
        whole = cells[0].block
        for half in (cells[: len(cells) // 2], cells[len(cells) // 2 :]):
            common = _common([cell.out for cell in half])
            block = Block([out | more for out, more in zip(whole.out, common, strict=True)], len(half))
            for cell in half:
                cell.out = [out ^ less for out, less in zip(cell.out, common, strict=True)]
                cell.block = block

    def _unite_around(self, index: int) -> None:
        """Make one block of the cell's and a neighbouring one, if both are small."""
        block: Block = self.cells[index].block
        own: list[Cell] = self._cells_of(block, index)
        first = self.cells.index(own[0])
        beside: int
        for beside in (first - 1, first + len(own)):
            if 0 <= beside < len(self.cells):
                other: Block = self.cells[beside].block
                if block.size + other.size <= BLOCK_MAX // 2:
                    self._unite([*own, *self._cells_of(other, beside)], block, other)
                    return

    def _unite(self, cells: list[Cell], block: Block, other: Block) -> None:
        united = Block(_common([block.out, other.out]), len(cells))
        for cell in cells:
            cell.out = [
                out | more ^ common for out, more, common in zip(cell.out, cell.block.out, united.out, strict=True)
            ]
            cell.block = united

    def _ends_of(self, index: int) -> tuple[T | None, T | None]:
        return self.cuts[index - 1] if index else None, self.cuts[index] if index < len(self.cuts) else None

    def check(self, constraints: Mapping[int, Constraint]) -> None:
        """State the invariants, given the constraint of each conjunction on this attribute."""
        assert len(self.cells) == len(self.cuts) + 1 <= CELLS_MAX
        assert all(left < right for left, right in zip(self.cuts, self.cuts[1:], strict=False))
        outlines = {bit: self.outline_of(constraint) for bit, constraint in constraints.items()}
        starts = [start for outline in outlines.values() for start, _ in outline[1:]]
        assert self.ends == len(starts)
        assert self.ends_at == {cut: starts.count(cut) for cut in self.cuts}
        for index, cell in enumerate(self.cells):
            out, opened = [], []
            for bit, outline in sorted(outlines.items()):
                verdicts = {verdict for _, verdict in between(outline, *self._ends_of(index))}
                if verdicts == {Verdict.OUT}:
                    out.append(bit)
                elif verdicts != {Verdict.IN}:
                    opened.append(bit)
            assert not any(_common([cell.out, cell.block.out]))
            assert list(slots(join(cell.out) | join(cell.block.out))) == out
            assert list(slots(join(cell.open))) == opened
            assert cell.load == len(opened)
        first = 0
        while first < len(self.cells):
            block = self.cells[first].block
            cells = self.cells[first : first + block.size]
            assert cells == self._cells_of(block, first)
            assert len(cells) == block.size <= BLOCK_MAX
            assert not any(_common([cell.out for cell in cells]))
            first += block.size


def _common(rows: list[Row]) -> Row:
    """What is in all of the rows."""
    common = rows[0]
    for row in rows[1:]:
        common = [one & other for one, other in zip(common, row, strict=True)]
    return common

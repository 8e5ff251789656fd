"""The index answers what each filter says by itself, whatever comes and goes in between.

The limits at which the index changes its form (a cell is split, a block is divided, a list becomes a row, a page is
added) are lowered, so that a few dozen filters cross all of them. A run that never did would be shown by
`test_index_limits_are_crossed_in_these_tests`.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from tests.strategies import attributes_of, filters

from effort import EXAMPLES
from regraft.matching import FilterIndex, bitmaps, dimension, grid, line, slots
from regraft.matching import index as index_module
from regraft.model.events import Value
from regraft.model.filters import Filter


@pytest.fixture(autouse=True, scope="module")
def _low_limits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        lower_limits(patch)
        yield


def lower_limits(patch: pytest.MonkeyPatch) -> None:
    """Few filters are 1, pages of 4 slots, lists of 1, cells with 1 open, 6 cells a line, blocks of 3, 2 shapes."""
    for module in (bitmaps, dimension, grid, line):
        for name, value in (("PAGE_SHIFT", 2), ("PAGE_SLOTS", 4), ("PAGE_MASK", 3), ("SHORT_BITS", 6)):
            if hasattr(module, name):
                patch.setattr(module, name, value)
    patch.setattr(index_module, "FEW_FILTERS", 1)
    patch.setattr(dimension, "FEW", 1)
    patch.setattr(grid, "SHAPES_MAX", 2)
    patch.setattr(line, "OPEN_MIN", 1)
    patch.setattr(line, "CELLS_MAX", 6)
    patch.setattr(line, "BLOCK_MAX", 3)


# Many small filters over few attributes meet more often than large ones over many.
range_filters = st.builds(
    lambda name, sign, literal, more: Filter.parse(f"{name} {sign} {literal}{more}"),
    st.sampled_from(["i", "d"]),
    st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    st.sampled_from(["-2", "0", "1", "2", "3", "0.5", "1.5D", "1e15", "9007199254740993", "9007199254740993D"]),
    st.sampled_from(["", " AND s IS NULL", " AND s = 'a'", " OR s > 'a'", " AND s LIKE 'a%'", " AND d IN (1, 2, 3)"]),
)
general_filters = st.one_of(filters(), filters(("s", "i", "d")))


@st.composite
def any_filters(draw: st.DrawFn) -> Filter:
    return draw(range_filters if draw(st.booleans()) else general_filters)


any_attributes = st.one_of(
    attributes_of(mixed=True),
    st.fixed_dictionaries(
        {},
        optional={
            "i": st.sampled_from([-2, -1, 0, 1, 2, 3, 4, 2**53, 2**53 + 1, 1.5, True]),
            "d": st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float(2**53), 2**53 + 1, float("nan"), False]),
            "s": st.sampled_from(["", "a", "ab", "b", "A"]),
        },
    ),
)


class Churn(RuleBasedStateMachine):
    """The index beside a list of filters, asked after every few changes."""

    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.index = FilterIndex()
        self.model: dict[str, tuple[Filter, int]] = {}

    @rule(target=held, added=st.lists(any_filters(), min_size=1, max_size=6))
    def add(self, added: list[Filter]) -> object:
        for filter in added:
            before = self.index.version
            known = self.index.slot(filter)
            slot = self.index.add(filter)
            holders = self.model[filter.text][1] if filter.text in self.model else 0
            assert (known is not None) == (holders > 0)
            assert known in (None, slot)
            assert (self.index.version == before) == (holders > 0)
            self.model[filter.text] = (filter, holders + 1)
        return multiple(*added)

    @rule(filter=consumes(held))
    def remove(self, filter: Filter) -> None:
        before, slot = self.index.version, self.index.slot(filter)
        self.index.remove(filter)
        _, holders = self.model.pop(filter.text)
        if holders > 1:
            self.model[filter.text] = (filter, holders - 1)
            assert self.index.slot(filter) == slot
            assert self.index.version == before
        else:
            assert self.index.slot(filter) is None
            assert self.index.version != before

    @rule(attributes=any_attributes)
    def match(self, attributes: dict[str, Value]) -> None:
        expected = sorted(
            slot
            for filter, _ in self.model.values()
            if filter.matches(attributes) and (slot := self.index.slot(filter)) is not None
        )
        assert list(slots(self.index.match(attributes))) == expected

    @invariant()
    def holds(self) -> None:
        self.index.check()
        assert len(self.index) == len(self.model)
        for filter, _ in self.model.values():
            slot = self.index.slot(filter)
            assert slot is not None
            assert self.index.filter(slot) == filter


Churn.TestCase.settings = settings(
    max_examples=EXAMPLES // 4, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow]
)
TestIndexUnderChurn = Churn.TestCase


@given(st.lists(any_filters(), max_size=30), st.lists(any_attributes, min_size=1, max_size=5))
def test_index_answers_what_each_filter_says(added: list[Filter], events: list[dict[str, Value]]) -> None:
    index = FilterIndex()
    for filter in added:
        index.add(filter)
    index.check()
    for attributes in events:
        expected = {index.slot(filter) for filter in added if filter.matches(attributes)}
        assert set(slots(index.match(attributes))) == expected


@settings(max_examples=EXAMPLES // 4)
@given(st.lists(any_filters(), min_size=1, max_size=12), st.lists(any_attributes, min_size=1, max_size=3))
def test_index_that_was_emptied_is_as_new(added: list[Filter], events: list[dict[str, Value]]) -> None:
    index = FilterIndex()
    for _ in range(2):
        held = [index.add(filter) for filter in added]
        for attributes in events:
            index.match(attributes)
        for filter in added:
            index.remove(filter)
        index.check()
        assert len(index) == 0
        assert all(index.match(attributes) == 0 for attributes in events)
        assert held == [index.add(filter) for filter in added]
        for filter in reversed(added):
            index.remove(filter)


@given(st.one_of(st.integers(0, 2**40), st.sets(st.integers(0, 5000)).map(lambda bits: sum(1 << bit for bit in bits))))
def test_slots_are_the_bits_in_ascending_order(bitmap: int) -> None:
    assert list(slots(bitmap)) == [bit for bit in range(bitmap.bit_length()) if bitmap >> bit & 1]


@seed(1)
@settings(max_examples=10)
@given(st.lists(range_filters, min_size=20, max_size=60, unique_by=lambda filter: filter.text))
def test_index_limits_are_crossed_in_these_tests(added: list[Filter]) -> None:
    index = FilterIndex()
    for filter in added:
        index.add(filter)
    lines = [item.numbers for item in index._grid._dimensions.values()]
    crossed = {
        "pages": len(index._grid._members) > 4,
        "cells": max(len(item.cells) for item in lines) > 3,
        "blocks": max(len(item._blocks()) for item in lines) > 1,
    }
    assert all(crossed.values()), crossed

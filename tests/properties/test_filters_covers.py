"""`covers(f, g)` is never yes where an event tells them apart, and is yes on simple conjunctions wherever it holds.

For the second claim a conjunction is judged attribute by attribute, on points. A test made of the literals below can
change its mind only at a literal or next to one; the points have one value in each stretch between, so that what holds
on them holds on all values.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from regraft.model.events import INT64_MAX, INT64_MIN, Value
from regraft.model.filters import Filter, covers
from strategies import (
    BOOLEANS,
    INTEGERS,
    STRINGS,
    Condition,
    Literal,
    attributes_of,
    betweens,
    boolean_literals,
    class_of,
    comparisons,
    conditions,
    memberships,
    null_tests,
    quoted,
)

NARROW = (STRINGS[0], INTEGERS[0], BOOLEANS[0])


def joined(word: str, *parts: Condition) -> Filter:
    return Filter.parse(f" {word} ".join(f"({part.text})" for part in parts))


@given(
    conditions(NARROW),
    conditions(NARROW),
    st.sampled_from(["AND", "OR", None]),
    st.lists(attributes_of(names=NARROW), min_size=1, max_size=30),
)
def test_covers_is_never_wrongly_yes(
    f: Condition, g: Condition, made_of: str | None, rows: list[dict[str, Value]]
) -> None:
    outer = Filter.parse(f.text) if made_of != "OR" else joined("OR", f, g)
    inner = Filter.parse(g.text) if made_of != "AND" else joined("AND", f, g)
    if covers(outer, inner):
        for attributes in rows:
            holds_for_inner = g.worth(attributes) is True and (made_of != "AND" or f.worth(attributes) is True)
            holds_for_outer = f.worth(attributes) is True or (made_of == "OR" and g.worth(attributes) is True)
            assert holds_for_outer or not holds_for_inner, attributes


# ------------------------------------------------------------------------------------------------ simple conjunctions

NUMBERS = [
    *(Literal(str(value), value) for value in (-1, 0, 1, 2, 2**53, 2**53 + 1, INT64_MIN, INT64_MAX, 2**64)),
    *(Literal(text, Decimal(text)) for text in ("0.5", "1.5", "-9223372036854775807.5")),
    *(Literal(f"{value!r}D", value) for value in (1.0, 1.5, 2.0**53, 2.0**63)),
]
TEXTS = ["", "a", "aa", "ab", "b", "a\0", "a\ud7ff", "b\U0010ffff"]
AFTER_PREFIX = ["b", "ab", "ac", "c", "a\1", "a\ue000"]


def number_points() -> list[Value]:
    near = {round(value) + step for value in map(literal_float, NUMBERS) for step in range(-3, 4)}
    exact = {int(literal.value) + step for literal in NUMBERS for step in (-1, 0, 1) if literal.value is not None}
    centres = [literal_float(literal) for literal in NUMBERS]
    floats = {math.nextafter(value, toward) for value in centres for toward in (-math.inf, value, math.inf)}
    return [
        *sorted(value for value in near | exact if INT64_MIN <= value <= INT64_MAX),
        *sorted(floats),
        *(-0.0, -math.inf, math.inf, math.nan),
    ]


def literal_float(literal: Literal) -> float:
    assert isinstance(literal.value, int | float | Decimal)
    return float(literal.value)


POINTS: dict[str, list[Value]] = {
    STRINGS[0]: sorted({*TEXTS, *(text + "\0" for text in TEXTS), *AFTER_PREFIX}),
    INTEGERS[0]: number_points(),
    BOOLEANS[0]: [False, True],
}
LITERALS: dict[str, st.SearchStrategy[Literal]] = {
    STRINGS[0]: st.sampled_from([Literal(f"'{text}'", text) for text in TEXTS]),
    INTEGERS[0]: st.sampled_from(NUMBERS),
    BOOLEANS[0]: boolean_literals,
}


def asks_for_a_type(tests: list[Condition]) -> bool:
    return any("NULL" not in test.text for test in tests)


@dataclass(frozen=True)
class Simple:
    """A conjunction, and its tests by attribute."""

    tests: Mapping[str, list[Condition]]

    @property
    def text(self) -> str:
        return " AND ".join(test.text for tests in self.tests.values() for test in tests) or "TRUE"

    def admits(self, name: str, value: Value | None) -> bool:
        """Whether the tests of one attribute are true for this value, None being a missing one."""
        tests = self.tests.get(name, [])
        is_of_the_type = value is not None and class_of(value) is class_of(POINTS[name][0])
        event = {} if value is None or (asks_for_a_type(tests) and not is_of_the_type) else {name: value}
        return all(test.worth(event) is True for test in tests)


def prefix_tests(name: str) -> st.SearchStrategy[Condition]:
    def test(prefix: str, negated: bool) -> Condition:
        text = f"{quoted(name)} {'NOT ' if negated else ''}LIKE '{prefix}%'"
        return Condition(text, lambda event: str(event[name]).startswith(prefix) != negated if name in event else None)

    return st.builds(test, st.sampled_from(TEXTS), st.booleans())


def simple_tests(name: str) -> st.SearchStrategy[Condition]:
    literals = LITERALS[name]
    choices = [comparisons(name, literals), betweens(name, literals), memberships(name, literals), null_tests(name)]
    return st.one_of([*choices, prefix_tests(name)] if name in STRINGS else choices)


simple_conjunctions = st.fixed_dictionaries(
    {}, optional={name: st.lists(simple_tests(name), min_size=1, max_size=3) for name in NARROW}
).map(Simple)


# Where a filter only asks whether an attribute is missing, a value of any type will do; with another test joined to it
# by OR, one of that test's type alone. Filters in which every attribute has such a test keep their meaning in company.
typed_conjunctions = st.fixed_dictionaries(
    {}, optional={name: st.lists(simple_tests(name), min_size=1, max_size=3).filter(asks_for_a_type) for name in NARROW}
).map(Simple)


def implied(f: Simple, g: Simple) -> bool:
    """Whether every event that satisfies `g` satisfies `f`, found by trying."""
    points = [None, *(point for points in POINTS.values() for point in points)]
    values = {name: [point for point in points if g.admits(name, point)] for name in NARROW}
    if not all(values.values()):
        return True
    return all(f.admits(name, value) for name in NARROW for value in values[name])


@given(simple_conjunctions, simple_conjunctions)
def test_covers_decides_pairs_of_simple_conjunctions(f: Simple, g: Simple) -> None:
    assert covers(Filter.parse(f.text), Filter.parse(g.text)) == implied(f, g)


@given(typed_conjunctions, typed_conjunctions)
def test_what_has_more_tests_is_covered(f: Simple, g: Simple) -> None:
    """Pairs drawn apart seldom imply each other; these always do."""
    both = Filter.parse(f"{f.text} AND {g.text}")
    assert implied(f, Simple({name: [*f.tests.get(name, []), *g.tests.get(name, [])] for name in NARROW}))
    assert covers(Filter.parse(f.text), both)
    assert covers(Filter.parse(f"{f.text} OR {g.text}"), Filter.parse(g.text))


@given(typed_conjunctions, typed_conjunctions, typed_conjunctions)
def test_a_conjunction_can_be_covered_by_several_together(f: Simple, g: Simple, h: Simple) -> None:
    """h is what it is where f holds and where f does not."""
    parts = Filter.parse(f"({h.text} AND {f.text}) OR ({h.text} AND NOT ({f.text} AND TRUE)) OR {g.text}")
    assert covers(Filter.parse(f"{h.text} OR {g.text}"), parts)

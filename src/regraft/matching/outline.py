"""What a constraint looks like to the index: points, one character, or the outline of a set on a line.

`points` and `contained_character` answer None where their form does not say exactly what the constraint says.

Numbers need care: a constraint has one set for int64 values and one for floats, and these need not agree (beyond 2**53
a comparison with an integer literal means different things to a BIGINT and to a DOUBLE). The line of numbers therefore
has both on it, in the order of their exact values, which is how Python compares them, and an outline is what they say
together: nearly always the same, else `MIXED`.
"""

import math
from bisect import bisect_left, bisect_right
from enum import Enum
from typing import Any, Final

from regraft.model.events import INT64_MAX, INT64_MIN
from regraft.model.filters import Conjunction, Constraint, contained_text
from regraft.model.filters.normal import EVERY_STRING

Number = int | float


class Truth(Enum):
    """The keys that stand for booleans, since to Python True is equal to 1."""

    FALSE = 0
    TRUE = 1


Key = Number | str | Truth

# A constraint that admits more single values than this is not looked up by value.
POINTS_MAX = 16


def points(constraint: Constraint) -> tuple[Key, ...] | None:
    """The values that the constraint admits, if they are few and no missing attribute is among them.

    Equal keys are equal numbers: a key found in a dictionary by an event's int or float is a value that is admitted.
    """
    if constraint.null or constraint.nan or constraint.patterns:
        return None
    if len(constraint.floats) + len(constraint.strings) > POINTS_MAX:
        return None
    keys: list[Key] = []
    integers: list[tuple[int, int]] = []
    for low, high in constraint.floats:
        if low != high:
            return None
        keys.append(low)
        if low.is_integer() and INT64_MIN <= low <= INT64_MAX:
            integers.append((int(low), int(low)))
    if _adjacent_joined(integers) != constraint.integers:
        return None
    for start, end in constraint.strings:
        if end != start + "\0":
            return None
        keys.append(start)
    keys.extend(Truth.TRUE if value else Truth.FALSE for value in constraint.booleans)
    return tuple(keys)


def _adjacent_joined(intervals: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for low, high in intervals:
        if joined and joined[-1][1] + 1 == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return tuple(joined)


def contained_character(conjunction: Conjunction) -> tuple[str, str] | None:
    """`(attribute, c)` if the conjunction says `attribute LIKE '%c%'` and no more: the papers' own filter."""
    if len(conjunction) != 1:
        return None
    attribute, constraint = conjunction[0]
    if len(constraint.patterns) != 1:
        return None
    pattern, negated = constraint.patterns[0]
    character = None if negated else contained_text(pattern)
    if character is None or len(character) != 1:
        return None
    # Equality of the whole constraint: anything else that it admits (a missing attribute, a number) shows here.
    is_alone = constraint == Constraint(strings=EVERY_STRING, patterns=constraint.patterns)
    return (attribute, character) if is_alone else None


class Verdict(Enum):
    """What a constraint says about all values of a stretch of a line."""

    OUT = "out"
    IN = "in"
    MIXED = "mixed"
    """Both occur however short the stretch: an integer is admitted and the float equal to it is not, or vice versa."""


Outline = tuple[tuple[Any, Verdict], ...]
"""Stretches that follow each other, each from its start (included) to the next one's; the first start is None, the
others are numbers, or strings, ascending. Verdicts of neighbours differ."""

EXACT_MAX = 2.0**53
"""Below this every integer is a float."""

EMPTY: Final[Outline] = ((None, Verdict.OUT),)


def number_outline(constraint: Constraint) -> Outline:
    """The constraint on the line of all numbers, integers and floats in one order. NaN is not on it."""
    if not constraint.integers and not constraint.floats:
        return EMPTY
    if len(constraint.floats) == 1:
        low, high = constraint.floats[0]
        if (-EXACT_MAX < high < EXACT_MAX or high == math.inf) and constraint.integers == _integers_within(low, high):
            return _interval_outline(low, high)
    # Where an interval begins, and where one has ended; what begins with the least value divides nothing.
    starts: set[Number] = set()
    for low, high in constraint.floats:
        if low != -math.inf:
            starts.add(low)
        if high != math.inf:
            starts.add(math.nextafter(high, math.inf))
    for integer_low, integer_high in constraint.integers:
        if integer_low != INT64_MIN:
            starts.add(integer_low)
        if integer_high != INT64_MAX:
            starts.add(integer_high + 1)
    line: list[Number | None] = [None, *sorted(starts)]
    outline: list[tuple[Any, Verdict]] = []
    for start, end in zip(line, [*line[1:], None], strict=True):
        verdict = _number_verdict(constraint, start, end)
        if verdict is not None and (not outline or outline[-1][1] is not verdict):
            outline.append((start if outline else None, verdict))
    return tuple(outline)


def _integers_within(low: float, high: float) -> tuple[tuple[int, int], ...]:
    first = INT64_MIN if low <= INT64_MIN else math.ceil(low) if low <= INT64_MAX else INT64_MAX + 1
    last = INT64_MAX if high >= INT64_MAX else math.floor(high) if high >= INT64_MIN else INT64_MIN - 1
    return ((first, last),) if first <= last else ()


def _interval_outline(low: float, high: float) -> Outline:
    """All numbers from low to high; there is no integer between `high` and the float after it."""
    outline: list[tuple[Any, Verdict]] = [(None, Verdict.IN)]
    if low != -math.inf:
        outline = [(None, Verdict.OUT), (low, Verdict.IN)]
    if high != math.inf:
        outline.append((math.nextafter(high, math.inf), Verdict.OUT))
    return tuple(outline)


def _number_verdict(constraint: Constraint, start: Number | None, end: Number | None) -> Verdict | None:
    """The verdict on a stretch within which no interval begins or ends; None if there is no value in it."""
    integer = INT64_MIN if start is None or start < INT64_MIN else _integer_from(start)
    number = -math.inf if start is None else _float_from(start)
    found = []
    if integer <= INT64_MAX and (end is None or integer < end):
        found.append(constraint.admits(integer))
    if end is None or number < end:
        found.append(constraint.admits(number))
    if not found:
        return None
    if all(found):
        return Verdict.IN
    return Verdict.MIXED if any(found) else Verdict.OUT


def _integer_from(start: Number) -> int:
    return INT64_MAX + 1 if start > INT64_MAX else math.ceil(start)


def _float_from(start: Number) -> float:
    """The least float that is not below `start`."""
    number = float(start)
    return number if number >= start else math.nextafter(number, math.inf)


def string_outline(constraint: Constraint) -> Outline:
    """The constraint on the line of all strings, residual patterns taken as satisfied."""
    if not constraint.strings:
        return EMPTY
    outline: list[tuple[Any, Verdict]] = []
    for low, high in constraint.strings:
        if low == "":
            outline.append((None, Verdict.IN))
        else:
            if not outline:
                outline.append((None, Verdict.OUT))
            outline.append((low, Verdict.IN))
        if high is not None:
            outline.append((high, Verdict.OUT))
    return tuple(outline)


def between(outline: Outline, low: Any, high: Any) -> Outline:
    """The stretches of the outline that meet [low, high); None leaves a side open."""
    starts = [start for start, _ in outline[1:]]
    first = 0 if low is None else bisect_right(starts, low)
    last = len(starts) if high is None else bisect_left(starts, high)
    return outline[first : last + 1]

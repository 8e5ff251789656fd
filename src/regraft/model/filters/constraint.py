"""The values that one attribute may have: a `Constraint`, and the algebra of such sets.

A constraint says of each type an attribute can be of (int64, float64, string, bool), and of its being missing, what is
admitted. Each type is a discrete total order, so that strict bounds vanish: `> 5` on integers is `>= 6`, on floats it
starts at the next float, on strings at the text with a NUL behind it. Hence the algebra is exact, except for LIKE
patterns that are not prefixes: these stay as residual tests on the string, and what is said about them is sound, not
complete.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from regraft.model.events import INT64_MAX, INT64_MIN, Value
from regraft.model.filters.intervals import closed, complement, contains, intersect, opened, unite
from regraft.model.filters.like import compile_pattern, escaped, implies

Integers = tuple[tuple[int, int], ...]
Floats = tuple[tuple[float, float], ...]
Strings = tuple[tuple[str, str | None], ...]
Patterns = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    """The values that one attribute may have. Equal sets are equal objects, but for residual patterns."""

    null: bool = False
    """A missing attribute is admitted."""
    integers: Integers = ()
    """Closed intervals, disjoint, sorted, not adjacent, within int64; for values of type int, which a bool is not."""
    floats: Floats = ()
    """Closed intervals of floats that are not NaN; a zero bound is 0.0 and admits -0.0, which is equal to it."""
    nan: bool = False
    """NaN is admitted."""
    strings: Strings = ()
    """Half-open intervals [low, high), high None being unbounded, in the order of code points (and of UTF-8 bytes)."""
    booleans: tuple[bool, ...] = ()
    patterns: Patterns = ()
    """LIKE patterns (spelled as in `like.py`; True with those that must not match) which a string within `strings`
    must satisfy, all of them."""

    def admits(self, value: Value | None) -> bool:
        """Whether the attribute may have this value; None is a missing attribute."""
        if type(value) is float:
            return _within(self.floats, value) if value == value else self.nan
        if type(value) is int:
            return _within(self.integers, value)
        if type(value) is str:
            return _within_half_open(self.strings, value) and all(
                compile_pattern(pattern)(value) != negated for pattern, negated in self.patterns
            )
        return self.null if value is None else value in self.booleans


FEW_SPANS = 4
"""So many are gone through faster than they are bisected."""


def _within(spans: tuple[tuple[Any, Any], ...], value: Any) -> bool:
    for low, high in spans if len(spans) <= FEW_SPANS else _nearest(spans, value):  # noqa: SIM110 - `any` is slower
        if low <= value <= high:
            return True
    return False


def _within_half_open(spans: Strings, value: str) -> bool:
    for low, high in spans if len(spans) <= FEW_SPANS else _nearest(spans, value):
        if low <= value and (high is None or value < high):
            return True
    return False


def _nearest(spans: tuple[tuple[Any, Any], ...], value: Any) -> tuple[tuple[Any, Any], ...]:
    """The only span in which the value can be, if there is one."""
    behind = bisect_right(spans, value, key=itemgetter(0))
    return spans[max(behind - 1, 0) : behind]


EVERY_INTEGER: Integers = ((INT64_MIN, INT64_MAX),)
EVERY_FLOAT: Floats = ((-math.inf, math.inf),)
EVERY_STRING: Strings = (("", None),)
EVERY_BOOLEAN = (False, True)

NOTHING = Constraint()
MISSING = Constraint(null=True)
ANYTHING = Constraint(True, EVERY_INTEGER, EVERY_FLOAT, True, EVERY_STRING, EVERY_BOOLEAN)


def weight(constraint: Constraint) -> int:
    """How much work it is to combine this constraint with another one."""
    spans = len(constraint.integers) + len(constraint.floats) + len(constraint.strings)
    return 1 + spans + len(constraint.patterns) * sum(len(pattern) for pattern, _ in constraint.patterns)


def intersection(left: Constraint, right: Constraint) -> Constraint:
    """What both admit."""
    return _tidy(
        Constraint(
            left.null and right.null,
            closed_integers(intersect(_opened_integers(left.integers), _opened_integers(right.integers))),
            closed_floats(intersect(_opened_floats(left.floats), _opened_floats(right.floats))),
            left.nan and right.nan,
            intersect(left.strings, right.strings),
            tuple(value for value in left.booleans if value in right.booleans),
            tuple(sorted({*left.patterns, *right.patterns})),
        )
    )


def union(left: Constraint, right: Constraint) -> Constraint | None:
    """What either admits, or None where residual patterns make that inexpressible."""
    if left.strings and right.strings and left.patterns != right.patterns:
        if includes(left, replace(NOTHING, strings=right.strings, patterns=right.patterns)):
            strings, patterns = left.strings, left.patterns
        elif includes(right, replace(NOTHING, strings=left.strings, patterns=left.patterns)):
            strings, patterns = right.strings, right.patterns
        else:
            return None
    else:
        strings, patterns = unite(left.strings, right.strings), left.patterns or right.patterns
    return Constraint(
        left.null or right.null,
        closed_integers(unite(_opened_integers(left.integers), _opened_integers(right.integers))),
        closed_floats(unite(_opened_floats(left.floats), _opened_floats(right.floats))),
        left.nan or right.nan,
        strings,
        tuple(value for value in EVERY_BOOLEAN if value in left.booleans or value in right.booleans),
        patterns,
    )


def difference(left: Constraint, right: Constraint) -> Constraint:
    """What `left` admits and `right` does not; too much, never too little, where `right` has residual patterns."""
    removed = tuple(span for span in left.strings if _patterns_hold((span,), left.patterns, right))
    return intersection(
        left,
        Constraint(
            not right.null,
            closed_integers(complement(_opened_integers(right.integers), INT64_MIN)),
            closed_floats(complement(_opened_floats(right.floats), -math.inf)),
            not right.nan,
            complement(intersect(removed, right.strings), ""),
            tuple(value for value in EVERY_BOOLEAN if value not in right.booleans),
        ),
    )


def includes(outer: Constraint, inner: Constraint) -> bool:
    """Whether `outer` admits all that `inner` admits; exact without residual patterns, and never wrongly yes."""
    return (
        inner.null <= outer.null
        and inner.nan <= outer.nan
        and all(value in outer.booleans for value in inner.booleans)
        and contains(outer.integers, inner.integers)
        and contains(outer.floats, inner.floats)
        and contains(outer.strings, inner.strings)
        and all(_patterns_hold((span,), inner.patterns, outer) for span in inner.strings)
    )


def _patterns_hold(strings: Strings, patterns: Patterns, wanted: Constraint) -> bool:
    """Whether the strings that satisfy `patterns` also satisfy the patterns of `wanted`, as far as can be told."""
    return all(
        (is_single(strings) and compile_pattern(pattern)(strings[0][0]) != negated)
        or any(_pattern_follows(known, (pattern, negated)) for known in (*patterns, *_prefix_patterns(strings)))
        for pattern, negated in wanted.patterns
    )


def is_single(strings: Strings) -> bool:
    """Whether this is an interval of one string only."""
    return len(strings) == 1 and strings[0][1] == strings[0][0] + "\0"


def _pattern_follows(known: tuple[str, bool], wanted: tuple[str, bool]) -> bool:
    (known_pattern, known_negated), (wanted_pattern, wanted_negated) = known, wanted
    if known_negated != wanted_negated:
        return False
    return implies(wanted_pattern, known_pattern) if known_negated else implies(known_pattern, wanted_pattern)


def _prefix_patterns(strings: Strings) -> Patterns:
    """What an interval says as a pattern: all strings of [ab, ac) begin with ab."""
    if len(strings) != 1:
        return ()
    low, high = strings[0]
    prefix = low
    while prefix and not (high is not None and (after := after_prefix(prefix)) is not None and high <= after):
        prefix = prefix[:-1]
    return ((escaped(prefix) + "%", False),) if prefix else ()


def _tidy(constraint: Constraint) -> Constraint:
    """The same set with the residual patterns decided where they can be."""
    if not constraint.patterns:
        return constraint
    tests = [(compile_pattern(pattern), negated) for pattern, negated in constraint.patterns]
    strings = tuple(
        span for span in constraint.strings if not is_single((span,)) or all(t(span[0]) != n for t, n in tests)
    )
    if all(is_single((span,)) for span in strings):
        return replace(constraint, strings=strings, patterns=())
    patterns: list[tuple[str, bool]] = []
    for index, wanted in enumerate(constraint.patterns):
        # A pattern goes if one that stays says it too; of two that say the same the first stays.
        others = [*patterns, *constraint.patterns[index + 1 :], *_prefix_patterns(strings)]
        if not any(_pattern_follows(known, wanted) for known in others):
            patterns.append(wanted)
    asked = [pattern for pattern, negated in patterns if not negated]
    refused = [pattern for pattern, negated in patterns if negated]
    if any(implies(pattern, other) for pattern in asked for other in refused):
        return replace(constraint, strings=(), patterns=())
    return replace(constraint, strings=strings, patterns=tuple(patterns))


def after_prefix(prefix: str) -> str | None:
    """The least string that is greater than every string which begins with `prefix`; None if there is none."""
    while prefix:
        code = ord(prefix[-1])
        if code < 0x10FFFF:
            # UTF-8 has no surrogates; the character behind U+D7FF is U+E000.
            return prefix[:-1] + chr(0xE000 if code == 0xD7FF else code + 1)
        prefix = prefix[:-1]
    return None


def next_float(value: float) -> float:
    """The least float above; a zero is +0.0."""
    return math.nextafter(value, math.inf) + 0.0


def _float_before(value: float) -> float:
    return math.nextafter(value, -math.inf) + 0.0


def _opened_integers(spans: Integers) -> tuple[tuple[int, int | None], ...]:
    return opened(spans, INT64_MAX, lambda value: value + 1)


def closed_integers(spans: tuple[tuple[int, int | None], ...]) -> Integers:
    return closed(spans, INT64_MAX, lambda value: value - 1)


def _opened_floats(spans: Floats) -> tuple[tuple[float, float | None], ...]:
    return opened(spans, math.inf, next_float)


def closed_floats(spans: tuple[tuple[float, float | None], ...]) -> Floats:
    return closed(spans, math.inf, _float_before)

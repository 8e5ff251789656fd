"""Normal forms as functions: the same answers as `normal.admits`, without looking at what a constraint does not ask.

Functions are put together from closures. No source text is generated and executed: a filter comes from a stranger.
An interval of a single value becomes a look-up, a run of intervals a bisection, and the papers' own test, whether a
text contains a character, is one `in` behind one type check.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from regraft.model.events import Value
from regraft.model.filters.constraint import (
    EVERY_FLOAT,
    EVERY_INTEGER,
    EVERY_STRING,
    Constraint,
    Strings,
    is_single,
)
from regraft.model.filters.like import compile_pattern, contained_text
from regraft.model.filters.normal import Conjunction, Normal

Matches = Callable[[Mapping[str, Value]], bool]
Admits = Callable[[Value | None], bool]

T = TypeVar("T", int, float)


def compile_normal(normal: Normal) -> Matches:
    """A function that tells whether attributes satisfy the normal form."""
    if not normal:
        return _never
    conjunctions = [compile_conjunction(conjunction) for conjunction in normal]
    if len(conjunctions) == 1:
        return conjunctions[0]

    def any_matches(attributes: Mapping[str, Value]) -> bool:
        for matches in conjunctions:  # noqa: SIM110 - `any` would make a generator for every event
            if matches(attributes):
                return True
        return False

    return any_matches


def compile_conjunction(conjunction: Conjunction) -> Matches:
    """A function that tells whether attributes satisfy every constraint."""
    if not conjunction:
        return _always
    if len(conjunction) == 1:
        ((name, constraint),) = conjunction
        return _compile_single(name, constraint)
    tests = [(name, compile_constraint(constraint)) for name, constraint in conjunction]
    if len(tests) == 2:
        (one, admits_one), (other, admits_other) = tests

        def both_admit(attributes: Mapping[str, Value]) -> bool:
            return admits_one(attributes.get(one)) and admits_other(attributes.get(other))

        return both_admit

    def all_admit(attributes: Mapping[str, Value]) -> bool:
        get = attributes.get
        for name, admits in tests:  # noqa: SIM110
            if not admits(get(name)):
                return False
        return True

    return all_admit


def _compile_single(name: str, constraint: Constraint) -> Matches:
    text = _only_contains(constraint)
    if text is not None:

        def contains(attributes: Mapping[str, Value]) -> bool:
            value = attributes.get(name)
            return type(value) is str and text in value

        return contains
    admits = compile_constraint(constraint)

    def single(attributes: Mapping[str, Value]) -> bool:
        return admits(attributes.get(name))

    return single


def _only_contains(constraint: Constraint) -> str | None:
    """The text if all that the constraint says is that a string contains it."""
    if constraint.strings != EVERY_STRING or len(constraint.patterns) != 1:
        return None
    ((pattern, negated),) = constraint.patterns
    only_strings = Constraint(strings=constraint.strings, patterns=constraint.patterns)
    return None if negated or constraint != only_strings else contained_text(pattern)


@lru_cache(maxsize=65_536)
def compile_constraint(constraint: Constraint) -> Admits:
    """A function that tells what `Constraint.admits` tells."""
    string = _compile_strings(constraint)
    integer = _compile_closed(constraint.integers, EVERY_INTEGER)
    number = _compile_floats(constraint)
    if constraint == Constraint(strings=constraint.strings, patterns=constraint.patterns):

        def admits_string(value: Value | None) -> bool:
            return type(value) is str and string(value)

        return admits_string
    if constraint == Constraint(integers=constraint.integers, floats=constraint.floats, nan=constraint.nan):

        def admits_number(value: Value | None) -> bool:
            kind = type(value)
            return number(value) if kind is float else kind is int and integer(value)  # type: ignore[arg-type]

        return admits_number
    null, booleans = constraint.null, frozenset(constraint.booleans)
    by_type: dict[type, Callable[..., bool]] = {
        str: string,
        int: integer,
        float: number,
        bool: booleans.__contains__,
        type(None): lambda value: null,
    }

    def admits(value: Value | None) -> bool:
        return by_type[type(value)](value)

    return admits


def _compile_strings(constraint: Constraint) -> Callable[[str], bool]:
    within = _compile_half_open(constraint.strings)
    tests = [(compile_pattern(pattern), not negated) for pattern, negated in constraint.patterns]
    if not tests:
        return within
    if len(tests) == 1 and constraint.strings == EVERY_STRING:
        test, wanted = tests[0]
        return test if wanted else lambda value: not test(value)

    def within_and_like(value: str) -> bool:
        return within(value) and all(test(value) == wanted for test, wanted in tests)

    return within_and_like


def _compile_half_open(spans: Strings) -> Callable[[str], bool]:
    if spans == EVERY_STRING:
        return _always
    if all(is_single((span,)) for span in spans):
        return frozenset(low for low, _ in spans).__contains__
    lows = [low for low, _ in spans]
    highs = [high for _, high in spans]

    def within(value: str) -> bool:
        place = bisect_right(lows, value) - 1
        if place < 0:
            return False
        high = highs[place]
        return high is None or value < high

    return within


def _compile_floats(constraint: Constraint) -> Callable[[float], bool]:
    within = _compile_closed(constraint.floats, EVERY_FLOAT)
    if not constraint.nan:
        return lambda value: value == value and within(value)
    return lambda value: value != value or within(value)


def _compile_closed(spans: tuple[tuple[T, T], ...], every: tuple[tuple[T, T], ...]) -> Callable[[T], bool]:
    if spans == every:
        return _always
    if all(low == high for low, high in spans):
        return frozenset(low for low, _ in spans).__contains__
    if len(spans) == 1:
        ((low, high),) = spans
        return lambda value: low <= value <= high
    lows = [low for low, _ in spans]
    highs = [high for _, high in spans]

    def within(value: T) -> bool:
        place = bisect_right(lows, value) - 1
        return place >= 0 and value <= highs[place]

    return within


def _always(_: object) -> bool:
    return True


def _never(_: object) -> bool:
    return False

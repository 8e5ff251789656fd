"""A filter's condition as a tree: tests of one attribute, joined by AND and OR, without NOT.

The parser pushes every NOT down to the tests as it reads, which Kleene's three-valued logic allows: NOT (x AND y) is
unknown exactly where NOT x OR NOT y is. A negated test is again a test. Above the tests there is no negation left, so
unknown and FALSE need not be told apart any more, and each test stands for the set of values for which it is TRUE:
`constraint` gives it, `normal_form` gives that of the whole.

`render` writes the one canonical text. Both sides of AND and OR are sorted and stand there once, a literal stands on
the right, BETWEEN is two comparisons, and names are quoted where they must be. The text is Spark SQL and selects the
same rows.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar, assert_never

from regraft.model.events import INT64_MAX, INT64_MIN
from regraft.model.filters import normal
from regraft.model.filters.constraint import (
    ANYTHING,
    EVERY_BOOLEAN,
    EVERY_FLOAT,
    EVERY_INTEGER,
    EVERY_STRING,
    Constraint,
    after_prefix,
    closed_floats,
    closed_integers,
    difference,
    next_float,
)
from regraft.model.filters.intervals import complement
from regraft.model.filters.lexing import render_name
from regraft.model.filters.like import is_prefix_test, literal_prefix
from regraft.model.filters.literals import Literal, Number, render_literal
from regraft.model.filters.normal import Budget, Normal, TooLargeError

# What a comparison says when its sides are exchanged, and when it is negated.
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

T = TypeVar("T", int, float, str)

NUMBER, STRING, BOOLEAN = "number", "string", "bool"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`attribute operator literal`, of a number or a string."""

    attribute: str
    operator: str
    literal: Number | str
    position: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """`attribute [NOT] IN (literals)`; numbers or strings, sorted, at least two."""

    attribute: str
    literals: tuple[Number, ...] | tuple[str, ...]
    negated: bool
    position: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Likeness:
    """`attribute [NOT] LIKE pattern`, the pattern being spelled as in `like.py` and having a wildcard."""

    attribute: str
    pattern: str
    negated: bool
    position: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Truth:
    """A bool attribute is one of these values; at least one."""

    attribute: str
    values: tuple[bool, ...]
    position: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class NullTest:
    """`attribute IS [NOT] NULL`."""

    attribute: str
    negated: bool
    position: int = field(compare=False)


Test = Comparison | Membership | Likeness | Truth | NullTest


@dataclass(frozen=True, slots=True)
class All:
    """AND of at least two parts; of none it is TRUE."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Any:
    """OR of at least two parts; of none it is FALSE."""

    parts: "tuple[Condition, ...]"


Condition = Test | All | Any

TRUE = All(())
FALSE = Any(())


def conjoin(parts: list[Condition]) -> Condition:
    """The AND of conditions in canonical shape: flat, sorted, each part once, constants folded."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, All) else (part,))]
    if FALSE in flat:
        return FALSE
    unique = _sorted_once(flat)
    return unique[0] if len(unique) == 1 else All(unique)


def disjoin(parts: list[Condition]) -> Condition:
    """The OR of conditions in canonical shape."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Any) else (part,))]
    if TRUE in flat:
        return TRUE
    unique = _sorted_once(flat)
    return unique[0] if len(unique) == 1 else Any(unique)


def _sorted_once(parts: list[Condition]) -> tuple[Condition, ...]:
    by_text: dict[str, Condition] = {}
    for part in parts:
        by_text.setdefault(render(part), part)
    return tuple(by_text[text] for text in sorted(by_text))


def tests(condition: Condition) -> Iterator[Test]:
    """Every test in the tree, from left to right."""
    if isinstance(condition, All | Any):
        for part in condition.parts:
            yield from tests(part)
    else:
        yield condition


def class_of_literal(literal: Literal) -> str:
    """The type class that a literal has: values of other classes are no match for it, whatever the operator."""
    if isinstance(literal, bool):
        return BOOLEAN
    return STRING if isinstance(literal, str) else NUMBER


def class_of_test(test: Test) -> str | None:
    """The type class that a test asks of its attribute; None if it takes any."""
    match test:
        case Comparison():
            return class_of_literal(test.literal)
        case Membership():
            return class_of_literal(test.literals[0])
        case Likeness():
            return STRING
        case Truth():
            return BOOLEAN
        case NullTest():
            return None
        case _:
            assert_never(test)


# ----------------------------------------------------------------------------------------------------- canonical text


def render(condition: Condition) -> str:
    """The canonical text."""
    match condition:
        case All(parts=()):
            return "TRUE"
        case Any(parts=()):
            return "FALSE"
        case All():
            return " AND ".join(f"({render(p)})" if isinstance(p, Any) else render(p) for p in condition.parts)
        case Any():
            return " OR ".join(render(part) for part in condition.parts)
        case Comparison():
            return f"{render_name(condition.attribute)} {condition.operator} {render_literal(condition.literal)}"
        case Membership():
            literals = ", ".join(render_literal(literal) for literal in condition.literals)
            return f"{render_name(condition.attribute)} {_not(condition.negated)}IN ({literals})"
        case Likeness():
            pattern = render_literal(condition.pattern)
            return f"{render_name(condition.attribute)} {_not(condition.negated)}LIKE {pattern}"
        case Truth(values=(True,)):
            return render_name(condition.attribute)
        case Truth(values=(False,)):
            return f"NOT {render_name(condition.attribute)}"
        case Truth():
            return f"{render_name(condition.attribute)} IN (FALSE, TRUE)"
        case NullTest():
            return f"{render_name(condition.attribute)} IS {_not(condition.negated)}NULL"
        case _:
            assert_never(condition)


def parenthesis_depth(condition: Condition) -> int:
    """How deep parentheses and NOT are nested in the canonical text, as the parser counts."""
    match condition:
        case All():
            return max([0, *(parenthesis_depth(part) + isinstance(part, Any) for part in condition.parts)])
        case Any():
            return max([0, *(parenthesis_depth(part) for part in condition.parts)])
        case Membership():
            return 1
        case Truth():
            return 1 if condition.values != (True,) else 0
        case _:
            return 0


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


# -------------------------------------------------------------------------------------------------------- normal form


class GrowsTooLargeError(Exception):
    """The normal form passes a limit at a test; `position` is that test's place in the text."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


def normal_form(condition: Condition, budget: Budget) -> Normal:
    """The normal form, or `GrowsTooLargeError`."""
    classes: dict[str, str | None] = {}
    for test in tests(condition):
        classes[test.attribute] = classes.get(test.attribute) or class_of_test(test)
    return _normal_form(condition, classes, budget)


def _normal_form(condition: Condition, classes: dict[str, str | None], budget: Budget) -> Normal:
    if not isinstance(condition, All | Any):
        return normal.box({condition.attribute: constraint(condition, classes[condition.attribute])})
    combine = normal.all_of if isinstance(condition, All) else normal.any_of
    parts = [_normal_form(part, classes, budget) for part in condition.parts]
    try:
        return combine(parts, budget)
    except TooLargeError as error:
        raise GrowsTooLargeError(min(test.position for test in tests(condition)), str(error)) from None


def constraint(test: Test, type_class: str | None) -> Constraint:
    """The values for which a test is TRUE, given the class that the whole filter asks of the attribute.

    A value of another class counts as missing: `IS NULL` admits it and nothing else does.
    """
    match test:
        case Comparison():
            return _compared(test.operator, test.literal)
        case Membership():
            return _member(test)
        case Likeness():
            return _like(test.pattern, test.negated)
        case Truth():
            return Constraint(booleans=test.values)
        case NullTest():
            present = _EVERY[type_class]
            return present if test.negated else difference(ANYTHING, present)
        case _:
            assert_never(test)


_NUMBERS = Constraint(integers=EVERY_INTEGER, floats=EVERY_FLOAT, nan=True)
_STRINGS = Constraint(strings=EVERY_STRING)
_EVERY: dict[str | None, Constraint] = {
    None: replace(ANYTHING, null=False),
    NUMBER: _NUMBERS,
    STRING: _STRINGS,
    BOOLEAN: Constraint(booleans=EVERY_BOOLEAN),
}


def _member(test: Membership) -> Constraint:
    (members,) = normal.united([_compared("=", literal) for literal in test.literals])
    return difference(_EVERY[class_of_literal(test.literals[0])], members) if test.negated else members


def _compared(operator: str, literal: Number | str) -> Constraint:
    if isinstance(literal, str):
        return Constraint(strings=_span(operator, "", literal, literal + "\0"))
    double = float(literal) + 0.0
    return Constraint(
        integers=closed_integers(_span(operator, INT64_MIN, *_integer_cuts(literal))),
        floats=closed_floats(_span(operator, -math.inf, double, next_float(double))),
        nan=operator in (">", ">=", "<>"),
    )


def _span(operator: str, first: T, low: T | None, high: T | None) -> tuple[tuple[T, T | None], ...]:
    """What compares so with a literal: `low` is the least value that is not below it, `high` the least above it."""
    bounds: dict[str, tuple[T | None, T | None]] = {
        "=": (low, high),
        "<>": (low, high),
        "<": (first, low),
        "<=": (first, high),
        ">": (high, None),
        ">=": (low, None),
    }
    start, end = bounds[operator]
    spans: tuple[tuple[T, T | None], ...] = ()
    if start is not None and (end is None or start < end):
        spans = ((start, end),)
    return complement(spans, first) if operator == "<>" else spans


def _integer_cuts(literal: Number) -> tuple[int | None, int | None]:
    """The least int64 that is not below the literal, and the least that is above it.

    A BIGINT is compared exactly with an exact literal. Beside a DOUBLE literal Spark makes a double of it first, which
    rounds; rounding keeps the order, so that the values that compare so are still in one piece, and bisection finds it.
    """
    if not isinstance(literal, float):
        low, high = math.ceil(literal), math.floor(literal) + 1
        return _within(low), _within(high)
    return _bisect(lambda n: float(n) >= literal), _bisect(lambda n: float(n) > literal)


def _within(value: int) -> int | None:
    return None if value > INT64_MAX else max(value, INT64_MIN)


def _bisect(holds: Callable[[int], bool]) -> int | None:
    """The least int64 for which a test holds that, once it holds, holds for all greater ones."""
    low, high = INT64_MIN, INT64_MAX + 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return _within(low)


def _like(pattern: str, negated: bool) -> Constraint:
    prefix = literal_prefix(pattern)
    within = ((prefix, after_prefix(prefix)),)
    if is_prefix_test(pattern):
        return Constraint(strings=complement(within, "") if negated else within)
    return Constraint(strings=EVERY_STRING if negated else within, patterns=((pattern, negated),))

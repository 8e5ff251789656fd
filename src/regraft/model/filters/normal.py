"""The normal form of a filter: OR of conjunctions, a conjunction being one constraint an attribute.

A `Constraint` is a set of what an attribute can be: missing, an int64, a float64, a string, a bool. A `Conjunction` is
a box: one constraint for each attribute that it mentions, sorted by name; an attribute that is not mentioned can be
anything, and the empty conjunction is TRUE. A `Normal` is a tuple of conjunctions, of which one must hold; the empty
one is FALSE.

Everything is two-valued. A filter selects an event when its condition is TRUE, not when it is FALSE or unknown; since
negation has been pushed down to the tests before the normal form is made, a test becomes the set of values for which
it is TRUE, and what is unknown is left out on the way.

Each type is a discrete total order, so that strict bounds vanish: `> 5` on integers is `>= 6`, on floats it starts at
the next float, on strings at the text with a NUL behind it. Hence boxes have an exact algebra (intersection, union in
one attribute, difference), except for LIKE patterns that are not prefixes: these stay as residual tests on the string,
and what is said about them is sound, not complete.

What is left out: a minimal form. Two equivalent filters can have different normal forms. `covers` does not need it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from regraft.model.events import INT64_MAX, INT64_MIN, Value
from regraft.model.filters.intervals import closed, complement, intersect, opened, unite
from regraft.model.filters.like import compile_pattern, escaped, implies

Integers = tuple[tuple[int, int], ...]
Floats = tuple[tuple[float, float], ...]
Strings = tuple[tuple[str, str | None], ...]
Patterns = tuple[tuple[str, bool], ...]

# A difference of boxes can fall into very many pieces; beyond this many `covers` says no.
PIECES_MAX = 256


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
        match value:
            case None:
                return self.null
            case bool():
                return value in self.booleans
            case int():
                return any(low <= value <= high for low, high in self.integers)
            case float():
                return self.nan if math.isnan(value) else any(low <= value <= high for low, high in self.floats)
            case str():
                return any(low <= value and (high is None or value < high) for low, high in self.strings) and all(
                    compile_pattern(pattern)(value) != negated for pattern, negated in self.patterns
                )


Conjunction = tuple[tuple[str, Constraint], ...]
Normal = tuple[Conjunction, ...]

EVERY_INTEGER: Integers = ((INT64_MIN, INT64_MAX),)
EVERY_FLOAT: Floats = ((-math.inf, math.inf),)
EVERY_STRING: Strings = (("", None),)
EVERY_BOOLEAN = (False, True)

NOTHING = Constraint()
MISSING = Constraint(null=True)
ANYTHING = Constraint(True, EVERY_INTEGER, EVERY_FLOAT, True, EVERY_STRING, EVERY_BOOLEAN)

TRUE: Normal = ((),)
FALSE: Normal = ()


class TooLarge(Exception):
    """The normal form would grow past a limit."""


@dataclass(slots=True)
class Budget:
    """What making one normal form may cost, so that no filter of a stranger can keep a broker busy."""

    conjunctions: int
    """How many conjunctions any part of the normal form may have."""
    steps: int = 100_000
    """How many pairs of boxes may be compared or multiplied in all."""

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise TooLarge("its normal form takes too much work")

    def check_size(self, conjunctions: int) -> None:
        if conjunctions > self.conjunctions:
            raise TooLarge(f"its normal form has more than {self.conjunctions} conjunctions")


# ---------------------------------------------------------------------------------------------- sets of one attribute


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
    return difference(inner, outer) == NOTHING


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
        (low, high)
        for low, high in constraint.strings
        if high != low + "\0" or all(test(low) != negated for test, negated in tests)
    )
    if all(high == low + "\0" for low, high in strings):
        return replace(constraint, strings=strings, patterns=())
    patterns: list[tuple[str, bool]] = []
    for index, wanted in enumerate(constraint.patterns):
        # A pattern goes if one that stays says it too; of two that say the same the first stays.
        others = [*patterns, *constraint.patterns[index + 1 :], *_prefix_patterns(strings)]
        if not any(_pattern_follows(known, wanted) for known in others):
            patterns.append(wanted)
    for pattern, negated in patterns:
        for other, other_negated in patterns:
            if not negated and other_negated and implies(pattern, other):
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


# --------------------------------------------------------------------------------------------------------------- boxes


def box(constraints: dict[str, Constraint]) -> Normal:
    """The conjunction of these constraints, or FALSE if one of them admits nothing."""
    if NOTHING in constraints.values():
        return FALSE
    return (tuple(sorted((name, constraint) for name, constraint in constraints.items() if constraint != ANYTHING)),)


def both(left: Conjunction, right: Conjunction) -> Normal:
    """What both boxes hold."""
    constraints = dict(left)
    for name, constraint in right:
        constraints[name] = intersection(constraints[name], constraint) if name in constraints else constraint
    return box(constraints)


def any_of(parts: Iterable[Normal], budget: Budget) -> Normal:
    """The OR of normal forms, with boxes that differ in one attribute made into one where that is exact."""
    boxes = list(dict.fromkeys(conjunction for part in parts for conjunction in part))
    if () in boxes:
        return TRUE
    if len(boxes) > 1:
        boxes = _merged(boxes, budget)
    budget.check_size(len(boxes))
    return tuple(boxes)


def all_of(parts: Iterable[Normal], budget: Budget) -> Normal:
    """The AND of normal forms: the boxes multiplied out."""
    out = TRUE
    for part in parts:
        budget.spend(len(out) * len(part))
        out = any_of([both(left, right) for left in out for right in part], budget)
    return out


def _merged(boxes: list[Conjunction], budget: Budget) -> list[Conjunction]:
    """Fewer boxes that hold the same: union in one attribute where all others agree, and no box within another."""
    count = 0
    while len(boxes) != count:
        count = len(boxes)
        for name in sorted({name for conjunction in boxes for name, _ in conjunction}):
            budget.spend(len(boxes))
            groups: dict[Conjunction, list[Constraint]] = {}
            for conjunction in boxes:
                rest = tuple(pair for pair in conjunction if pair[0] != name)
                groups.setdefault(rest, []).append(dict(conjunction).get(name, ANYTHING))
            boxes = [
                conjunction
                for rest, constraints in groups.items()
                for constraint in united(constraints)
                for conjunction in box({**dict(rest), name: constraint})
            ]
        budget.spend(len(boxes) ** 2)
        boxes = _without_contained(boxes)
    return boxes


def united(constraints: list[Constraint]) -> list[Constraint]:
    """Fewer constraints that admit the same: neighbours are united first, so that a long list is not copied often."""
    constraints = sorted(constraints, key=lambda constraint: constraint.patterns)
    while len(constraints) > 1:
        out: list[Constraint] = []
        for left, right in zip_longest(constraints[::2], constraints[1::2]):
            merged = None if right is None else union(left, right)
            out.extend([merged] if merged is not None else [left] if right is None else [left, right])
        if len(out) == len(constraints):
            break
        constraints = out
    return constraints


def _without_contained(boxes: list[Conjunction]) -> list[Conjunction]:
    kept: list[Conjunction] = []
    for candidate in boxes:
        if not any(box_includes(other, candidate) for other in kept):
            kept = [other for other in kept if not box_includes(candidate, other)]
            kept.append(candidate)
    return kept


def box_includes(outer: Conjunction, inner: Conjunction) -> bool:
    """Whether `outer` holds all that `inner` holds."""
    inner_constraints = dict(inner)
    return all(includes(constraint, inner_constraints.get(name, ANYTHING)) for name, constraint in outer)


def normal_covers(outer: Normal, inner: Normal) -> bool:
    """Whether whatever satisfies `inner` satisfies `outer`.

    From each box of `inner` the boxes of `outer` are taken away one after the other; it is covered if nothing is left.
    That finds also a box which only several boxes cover together. Exact without residual patterns, up to `PIECES_MAX`
    pieces; never wrongly yes.
    """
    return all(_is_covered(conjunction, outer) for conjunction in inner)


def _is_covered(conjunction: Conjunction, outer: Normal) -> bool:
    if any(box_includes(candidate, conjunction) for candidate in outer):
        return True
    pieces = [conjunction]
    for candidate in outer:
        pieces = [left for piece in pieces for left in _without(piece, candidate)]
        if len(pieces) > PIECES_MAX:
            return False
    return not pieces


def _without(piece: Conjunction, taken: Conjunction) -> list[Conjunction]:
    """Disjoint boxes that together hold what `piece` holds and `taken` does not."""
    out: list[Conjunction] = []
    rest = dict(piece)
    for name, constraint in taken:
        mine = rest.get(name, ANYTHING)
        out.extend(box({**rest, name: difference(mine, constraint)}))
        rest[name] = intersection(mine, constraint)
        if rest[name] == NOTHING:
            return [piece]
    return out


def admits(normal: Normal, attributes: Mapping[str, Value]) -> bool:
    """Whether the attributes satisfy the normal form; the plain definition of what the fast paths compute."""
    return any(
        all(constraint.admits(attributes.get(name)) for name, constraint in conjunction) for conjunction in normal
    )


# ---------------------------------------------------------------------------------------------------------- for people


def explain(normal: Normal) -> str:
    """The normal form in words: a line for each attribute of each conjunction."""
    if not normal:
        return "nothing"
    lines = []
    for number, conjunction in enumerate(normal, 1):
        if len(normal) > 1:
            lines.append(f"{number}. all of" if conjunction else f"{number}. everything")
        elif not conjunction:
            return "everything"
        indent = "   " if len(normal) > 1 else ""
        lines.extend(f"{indent}{name}: {' | '.join(_words(constraint))}" for name, constraint in conjunction)
    return "\n".join(lines)


def _words(constraint: Constraint) -> list[str]:
    words = ["missing"] if constraint.null else []
    words += ["any int"] if constraint.integers == EVERY_INTEGER else [
        f"int {low}" if low == high else f"int {low}..{high}" for low, high in constraint.integers
    ]
    words += ["any float"] if constraint.floats == EVERY_FLOAT else [
        f"float {low!r}" if low == high else f"float {low!r}..{high!r}" for low, high in constraint.floats
    ]
    words += ["NaN"] if constraint.nan else []
    words += [_string_words(span, constraint.patterns) for span in constraint.strings]
    return words + [str(value).lower() for value in constraint.booleans]


def _string_words(span: tuple[str, str | None], patterns: Patterns) -> str:
    low, high = span
    tests = "".join(f" {'NOT ' if negated else ''}LIKE {pattern!r}" for pattern, negated in patterns)
    if is_single((span,)):
        return f"string {low!r}{tests}"
    if high is None:
        return (f"string >= {low!r}" if low else "any string") + tests
    return f"string >= {low!r} and < {high!r}{tests}"

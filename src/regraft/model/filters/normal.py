"""The normal form of a filter: OR of conjunctions, a conjunction being one constraint an attribute.

A `Conjunction` is a box: one `Constraint` for each attribute that it mentions, sorted by name; an attribute that is not
mentioned can be anything, and the empty conjunction is TRUE. A `Normal` is a tuple of conjunctions, of which one must
hold; the empty one is FALSE.

Everything is two-valued. A filter selects an event when its condition is TRUE, not when it is FALSE or unknown; since
negation has been pushed down to the tests before the normal form is made, a test becomes the set of values for which
it is TRUE, and what is unknown is left out on the way.

What is left out: a minimal form. Two equivalent filters can have different normal forms. `normal_covers` does not need
it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from regraft.model.events import Value
from regraft.model.filters.constraint import (
    ANYTHING,
    EVERY_STRING,
    NOTHING,
    Constraint,
    difference,
    includes,
    intersection,
    union,
    weight,
)

__all__ = ["EVERY_STRING", "Conjunction", "Constraint", "Normal"]

Conjunction = tuple[tuple[str, Constraint], ...]
Normal = tuple[Conjunction, ...]

TRUE: Normal = ((),)
FALSE: Normal = ()

# A difference of boxes can fall into very many pieces; beyond this many `covers` says no.
PIECES_MAX = 64


class TooLargeError(Exception):
    """The normal form would grow past a limit."""


@dataclass(slots=True)
class Budget:
    """What making one normal form may cost, so that no filter of a stranger can keep a broker busy."""

    conjunctions: int
    """How many conjunctions any part of the normal form may have."""
    work: int = 1_000_000
    """How much may be combined in all, by `weight`; about a microsecond each."""

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise TooLargeError("its normal form takes too much work")

    def check_size(self, conjunctions: int) -> None:
        if conjunctions > self.conjunctions:
            raise TooLargeError(f"its normal form has more than {self.conjunctions} conjunctions")


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
    """The AND of normal forms: the boxes multiplied out, those first that do not multiply."""
    out = TRUE
    for part in sorted(parts, key=len):
        budget.spend(len(part) * _weight(out) + len(out) * _weight(part))
        out = any_of([both(left, right) for left in out for right in part], budget)
    return out


def _weight(normal: Iterable[Conjunction]) -> int:
    return sum(1 + sum(weight(constraint) for _, constraint in conjunction) for conjunction in normal)


def _merged(boxes: list[Conjunction], budget: Budget) -> list[Conjunction]:
    """Fewer boxes that hold the same: union in one attribute where all others agree, and no box within another."""
    count = 0
    while len(boxes) != count:
        count = len(boxes)
        for name in sorted({name for conjunction in boxes for name, _ in conjunction}):
            budget.spend(_weight(boxes))
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
        budget.spend(len(boxes) * _weight(boxes))
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

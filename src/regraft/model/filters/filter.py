"""A filter: a text that says which events a subscriber wants, made ready to be asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from regraft.errors import FilterError
from regraft.model.events import Value
from regraft.model.filters.compiled import compile_normal
from regraft.model.filters.condition import (
    Condition,
    GrowsTooLargeError,
    Likeness,
    Membership,
    normal_form,
    parenthesis_depth,
    render,
    tests,
)
from regraft.model.filters.lexing import RefusedError
from regraft.model.filters.normal import Budget, Normal, normal_covers
from regraft.model.filters.parse import parse_condition
from regraft.model.filters.words import explain


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a filter may be. A filter comes from a stranger, and its cost is everybody's."""

    text_length: int = 65_536
    """Characters, of the text as given and of the canonical one."""
    depth: int = 20
    """How deep parentheses and NOT may be nested."""
    terms: int = 1_024
    """Tests, each literal of an IN counted as one."""
    pattern_length: int = 256
    """Characters of a LIKE pattern; a match can take this many steps for each character of the text."""
    conjunctions: int = 64
    """Conjunctions in any part of the normal form."""


class Filter:
    """A condition on events. Two filters are equal if their canonical texts are.

    `matches(attributes)` tells whether the condition is TRUE for these attributes, as Spark's WHERE would; it is a
    function made for this filter and kept in a slot, so that asking costs one call. It is made when it is first looked
    for: an index asks single constraints, and the function takes twice the memory of all the rest.
    """

    __slots__ = ("conjunctions", "matches", "text")

    text: str
    """The canonical text; parsed again it gives an equal filter."""
    conjunctions: Normal
    """The normal form: the filter is satisfied if one of these is; see `normal.py`."""
    matches: Callable[[Mapping[str, Value]], bool]

    def __init__(self, text: str, conjunctions: Normal) -> None:
        """For `parse` and for pickle: the two must say the same."""
        self.text = text
        self.conjunctions = conjunctions

    def __getattr__(self, name: str) -> Callable[[Mapping[str, Value]], bool]:
        """Python comes here for a slot that is empty."""
        if name != "matches":
            raise AttributeError(name)
        self.matches = matches = compile_normal(self.conjunctions)
        return matches

    @classmethod
    def parse(cls, text: str, limits: Limits | None = None) -> "Filter":
        """The filter that a text describes; `FilterError` with position and reason if it is none."""
        limits = limits or Limits()
        if len(text) > limits.text_length:
            raise FilterError(text, limits.text_length, f"a filter has at most {limits.text_length} characters")
        try:
            condition = parse_condition(text, limits.depth)
            _check(condition, limits)
            conjunctions = normal_form(condition, Budget(limits.conjunctions))
        except (RefusedError, GrowsTooLargeError) as error:
            raise FilterError(text, error.position, error.reason) from None
        return cls(render(condition), conjunctions)

    def explain(self) -> str:
        """The normal form, for people."""
        return explain(self.conjunctions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Filter({self.text!r})"

    def __reduce__(self) -> tuple[type["Filter"], tuple[str, Normal]]:
        return Filter, (self.text, self.conjunctions)


def _check(condition: Condition, limits: Limits) -> None:
    """Refuse what is too large. NOT and BETWEEN are resolved by now, so that the canonical text passes again."""
    terms = 0
    for test in tests(condition):
        terms += len(test.literals) if isinstance(test, Membership) else 1
        if terms > limits.terms:
            raise RefusedError(test.position, f"a filter has at most {limits.terms} terms")
        if isinstance(test, Likeness) and len(test.pattern) > limits.pattern_length:
            raise RefusedError(test.position, f"a LIKE pattern has at most {limits.pattern_length} characters")
    if len(render(condition)) > limits.text_length:
        raise RefusedError(0, f"the canonical text has more than {limits.text_length} characters")
    if parenthesis_depth(condition) > limits.depth:
        raise RefusedError(0, f"the canonical text is nested more than {limits.depth} deep")


def covers(f: Filter, g: Filter) -> bool:
    """Whether every event that satisfies `g` satisfies `f`. Never wrongly yes; see `normal.normal_covers`."""
    return f is g or f.text == g.text or normal_covers(f.conjunctions, g.conjunctions)

"""The filter language: what a subscriber says about the events it wants.

`Filter.parse` reads a text, `filter.matches(attributes)` asks it, `covers(f, g)` compares two. An index builds on the
normal form, `filter.conjunctions`. The language itself is described in docs/filters.md.
"""

from regraft.model.filters.constraint import ANYTHING, EVERY_STRING, Constraint
from regraft.model.filters.filter import Filter, Limits, covers
from regraft.model.filters.like import contained_text
from regraft.model.filters.normal import Conjunction, Normal

__all__ = [
    "ANYTHING",
    "EVERY_STRING",
    "Conjunction",
    "Constraint",
    "Filter",
    "Limits",
    "Normal",
    "contained_text",
    "covers",
]

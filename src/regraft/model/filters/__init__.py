"""The filter language: what a subscriber says about the events it wants.

`Filter.parse` reads a text, `filter.matches(attributes)` asks it, `covers(f, g)` compares two. `normal.py` has the
algebra that the index and `covers` build on. The language itself is described in docs/filters.md.
"""

from regraft.model.filters.compiled import compile_conjunction, compile_constraint
from regraft.model.filters.constraint import ANYTHING, EVERY_STRING, Constraint, includes, is_single
from regraft.model.filters.filter import Filter, Limits, covers
from regraft.model.filters.like import compile_pattern, contained_text, escaped
from regraft.model.filters.normal import Conjunction, Normal

__all__ = [
    "ANYTHING",
    "EVERY_STRING",
    "Conjunction",
    "Constraint",
    "Filter",
    "Limits",
    "Normal",
    "compile_conjunction",
    "compile_constraint",
    "compile_pattern",
    "contained_text",
    "covers",
    "escaped",
    "includes",
    "is_single",
]

"""A normal form in words, for `--explain`."""

from regraft.model.filters.constraint import EVERY_FLOAT, EVERY_INTEGER, Constraint, Patterns, is_single
from regraft.model.filters.normal import Normal


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
    words += (
        ["any int"]
        if constraint.integers == EVERY_INTEGER
        else [f"int {low}" if low == high else f"int {low}..{high}" for low, high in constraint.integers]
    )
    words += (
        ["any float"]
        if constraint.floats == EVERY_FLOAT
        else [f"float {low!r}" if low == high else f"float {low!r}..{high!r}" for low, high in constraint.floats]
    )
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

"""What Hypothesis draws filters and events from, and what a filter means, said a second time.

A `Condition` is a filter's text together with a function that says what it is worth for an event: True, False or None
for unknown. The function is built while the text is, from Kleene's tables, Python's exact comparisons and regular
expressions; it shares no code with `regraft.model.filters` and knows nothing of a normal form.

Attributes have fixed names, so that a filter and an event drawn apart have something to do with each other, and so that
events are rows of one table. Values and literals come from the same small pools: what is likely to be compared is equal
or next to each other, and the pools hold what is known to go wrong.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from regraft.model.events import INT64_MAX, INT64_MIN, Event, Value
from regraft.model.filters import Filter

STRINGS = ("s", "text")
INTEGERS = ("i", "size")
FLOATS = ("d", "Price")
BOOLEANS = ("b", "is `odd`.really")
NAMES = STRINGS + INTEGERS + FLOATS + BOOLEANS

Number = int | Decimal | float
Worth = bool | None

# Composed and decomposed é, one character of four bytes in UTF-8, the last of the plane before it, the highest of all.
CHARACTERS = "abc%_\\'\"` \0\n\té\u0301😀\uffff\U0010ffff"
LARGE = [2**53, -(2**53), INT64_MAX, INT64_MIN]

small_integers = st.integers(-4, 4)
integers = st.one_of(
    small_integers,
    st.builds(operator.add, st.sampled_from(LARGE), st.integers(-3, 3)),
    st.integers(INT64_MIN, INT64_MAX),
)
int64s = integers.map(lambda value: min(max(value, INT64_MIN), INT64_MAX))
finite_floats = st.one_of(
    small_integers.map(float),
    small_integers.map(lambda value: value / 2),
    st.sampled_from([-0.0, 5e-324, -5e-324, 0.1, 100.5, 1e308, float(2**53), float(2**63), -float(2**63)]),
    st.builds(math.nextafter, small_integers.map(float), st.sampled_from([-math.inf, math.inf])),
    st.floats(allow_nan=False, allow_infinity=False),
)
floats = st.one_of(finite_floats, st.sampled_from([math.nan, math.inf, -math.inf]))
strings = st.one_of(
    st.text("ab", max_size=3),
    st.text(CHARACTERS, max_size=4),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
)


# ------------------------------------------------------------------------------------------------------------- events


def attributes_of(mixed: bool = False, names: tuple[str, ...] = NAMES) -> st.SearchStrategy[dict[str, Value]]:
    """Attributes, some missing. `mixed`: a number is now an int, now a float, and at times the type is a wrong one."""
    by_name: dict[str, st.SearchStrategy[Value]] = {
        **dict.fromkeys(STRINGS, strings),
        **dict.fromkeys(INTEGERS, int64s),
        **dict.fromkeys(FLOATS, floats),
        **dict.fromkeys(BOOLEANS, st.booleans()),
    }
    if mixed:
        anything = st.one_of(int64s, floats, small_integers, strings, st.booleans())
        by_name = {name: st.one_of(values, values, anything) for name, values in by_name.items()}
    return st.fixed_dictionaries({}, optional={name: by_name[name] for name in names})


def events(mixed: bool = False, names: tuple[str, ...] = NAMES) -> st.SearchStrategy[Event]:
    """Events with such attributes."""
    return st.builds(
        Event,
        publisher=st.sampled_from("pq"),
        sequence=st.integers(1, 1000),
        attributes=attributes_of(mixed, names),
    )


# --------------------------------------------------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Condition:
    """A filter's text and what it is worth; `binds` is 0 for OR, 1 for AND, 2 for NOT, 3 for a test."""

    text: str
    worth: Callable[[Mapping[str, Value]], Worth]
    binds: int = 3

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"


def inverse(worth: Worth) -> Worth:
    return None if worth is None else not worth


def conjunction(left: Worth, right: Worth) -> Worth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def disjunction(left: Worth, right: Worth) -> Worth:
    return inverse(conjunction(inverse(left), inverse(right)))


@dataclass(frozen=True)
class Literal:
    """A literal as it is spelled and what it is; `value` None is NULL."""

    text: str
    value: Number | str | bool | None


OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(symbol: str, value: Value | None, literal: Number | str | bool | None) -> Worth:
    """What a comparison is worth in Spark: a BIGINT beside a double is a double, NaN is the greatest."""
    if value is None or literal is None or class_of(value) is not class_of(literal):
        return None
    left: object = value
    right: object = literal
    if isinstance(literal, int | float | Decimal) and not isinstance(literal, bool):
        if isinstance(value, float):
            # Ordered pairs: a NaN comes behind every number and is equal to itself.
            left, right = ((1, 0.0) if math.isnan(value) else (0, value)), (0, float(literal))
        elif isinstance(literal, float):
            assert isinstance(value, int)
            left = float(value)
    return OPERATORS[symbol](left, right)


def class_of(value: object) -> type:
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


def like(text: Value | None, pattern: str | None, escape: str) -> Worth:
    """LIKE by way of a regular expression."""
    if not isinstance(text, str) or pattern is None:
        return None
    expression = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            expression += re.escape(next(characters))
        else:
            expression += {"%": ".*", "_": "."}.get(character, re.escape(character))
    return re.fullmatch(expression, text, re.DOTALL) is not None


def quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


def spelled_string(text: str, quote: str, escaping: str) -> str:
    """The text as a string literal, in one of the ways that Spark takes."""
    if escaping == "raw" and quote not in text:
        return f"r{quote}{text}{quote}"
    if escaping == "unicode":
        return quote + "".join(f"\\U{ord(character):08X}" for character in text) + quote
    body = text.replace("\\", "\\\\")
    return quote + body.replace(quote, quote + quote if escaping == "doubled" else "\\" + quote) + quote


def string_literals(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Literal]:
    def spell(text: str, quote: str, escaping: str) -> Literal:
        return Literal(spelled_string(text, quote, escaping), text)

    ways = st.sampled_from(["plain", "plain", "doubled", "raw", "unicode"])
    return st.builds(spell, texts, st.sampled_from("'''\""), ways)


exact_literals = st.one_of(
    integers.map(lambda value: Literal(str(value), value)),
    small_integers.map(lambda value: Literal(f"{value}L", value)),
    st.decimals(-5, 5, places=2).map(lambda value: Literal(format(value, "f"), value)),
    st.decimals(-(2**64), 2**64, places=1).map(lambda value: Literal(f"{value:f}BD", value)),
)
double_literals = st.one_of(
    finite_floats.map(lambda value: Literal(f"{value!r}D", value)),
    finite_floats.map(lambda value: Literal(f"{value:.17E}", value)),
)
number_literals = st.one_of(exact_literals, exact_literals, double_literals)
boolean_literals = st.sampled_from([Literal("TRUE", True), Literal("false", False)])
null_literal = st.just(Literal("NULL", None))


def literals_for(name: str) -> st.SearchStrategy[Literal]:
    """Literals of the class that an attribute has in every filter."""
    if name in STRINGS:
        return string_literals(strings)
    return boolean_literals if name in BOOLEANS else number_literals


@st.composite
def comparisons(draw: st.DrawFn, name: str, literals: st.SearchStrategy[Literal]) -> Condition:
    symbol, literal = draw(st.sampled_from(sorted(OPERATORS))), draw(literals)
    if draw(st.booleans()):
        text = f"{quoted(name)} {symbol} {literal.text}"
    else:
        text = f"{literal.text} {MIRRORED.get(symbol, symbol)} {quoted(name)}"
    return Condition(text, lambda event: compared(symbol, event.get(name), literal.value))


@st.composite
def betweens(draw: st.DrawFn, name: str, literals: st.SearchStrategy[Literal]) -> Condition:
    low, high, negated = draw(literals), draw(literals), draw(st.booleans())

    def worth(event: Mapping[str, Value]) -> Worth:
        value = event.get(name)
        within = conjunction(compared(">=", value, low.value), compared("<=", value, high.value))
        return inverse(within) if negated else within

    return Condition(f"{quoted(name)} {'not ' if negated else ''}BETWEEN {low.text} and {high.text}", worth)


@st.composite
def memberships(draw: st.DrawFn, name: str, literals: st.SearchStrategy[Literal]) -> Condition:
    # Beyond ten literals Spark looks them up in a set.
    members, negated = draw(st.lists(literals, min_size=1, max_size=13)), draw(st.booleans())
    values = [member.value for member in members]
    if any(isinstance(value, float) for value in values):
        values = [float(value) if isinstance(value, int | Decimal) else value for value in values]

    def worth(event: Mapping[str, Value]) -> Worth:
        found: Worth = False
        for value in values:
            found = disjunction(found, compared("=", event.get(name), value))
        return inverse(found) if negated else found

    members_text = ", ".join(member.text for member in members)
    return Condition(f"{quoted(name)} {'NOT ' if negated else ''}In ({members_text})", worth)


@st.composite
def patterns(draw: st.DrawFn, escape: str) -> str:
    """LIKE patterns that Spark does not refuse."""
    pieces = ["%", "%", "_", "a", "b", "'", "😀", "\0", f"{escape}%", f"{escape}_", escape * 2]
    return "".join(draw(st.lists(st.sampled_from(pieces), max_size=5)))


@st.composite
def likenesses(draw: st.DrawFn, name: str) -> Condition:
    escape = draw(st.sampled_from(["\\", "\\", "/", "|"]))
    literal = draw(st.one_of(string_literals(patterns(escape)), string_literals(patterns(escape)), null_literal))
    negated = draw(st.booleans())
    pattern = literal.value
    assert pattern is None or isinstance(pattern, str)

    def worth(event: Mapping[str, Value]) -> Worth:
        found = like(event.get(name), pattern, escape)
        return inverse(found) if negated else found

    clause = "" if escape == "\\" else f" ESCAPE '{escape}'"
    return Condition(f"{quoted(name)} {'NOT ' if negated else ''}LIKE {literal.text}{clause}", worth)


@st.composite
def null_tests(draw: st.DrawFn, name: str) -> Condition:
    negated = draw(st.booleans())
    text = f"{quoted(name)} IS {'NOT ' if negated else ''}NULL"
    return Condition(text, lambda event: (name in event) == negated)


def bare_booleans(name: str) -> st.SearchStrategy[Condition]:
    return st.just(Condition(quoted(name), lambda event: compared("=", event.get(name), True)))


def single_tests(name: str) -> st.SearchStrategy[Condition]:
    """One test of this attribute."""
    literals = st.one_of(*[literals_for(name)] * 9, null_literal)
    choices = [comparisons(name, literals), betweens(name, literals), memberships(name, literals), null_tests(name)]
    if name in STRINGS:
        choices += [likenesses(name), likenesses(name)]
    if name in BOOLEANS:
        choices.append(bare_booleans(name))
    return st.one_of(choices)


constants = st.sampled_from(
    [
        Condition("TRUE", lambda _: True),
        Condition("false", lambda _: False),
        Condition("NULL", lambda _: None),
    ]
)


@st.composite
def negations(draw: st.DrawFn, inner: st.SearchStrategy[Condition]) -> Condition:
    part = draw(inner)
    return Condition("NOT " + within(part, 2, draw(st.booleans())), lambda event: inverse(part.worth(event)), 2)


@st.composite
def connections(draw: st.DrawFn, inner: st.SearchStrategy[Condition]) -> Condition:
    word, binds, table = draw(st.sampled_from([("AND", 1, conjunction), ("or", 0, disjunction)]))
    parts = draw(st.lists(inner, min_size=2, max_size=4))
    text = f" {word} ".join(within(part, binds, draw(st.booleans())) for part in parts)

    def worth(event: Mapping[str, Value]) -> Worth:
        value = parts[0].worth(event)
        for part in parts[1:]:
            value = table(value, part.worth(event))
        return value

    return Condition(text, worth, binds)


def within(part: Condition, binds: int, more: bool) -> str:
    """The text of a part, in parentheses where it needs them and sometimes where it does not."""
    return f"({part.text})" if part.binds < binds or more else part.text


def conditions(names: tuple[str, ...] = NAMES) -> st.SearchStrategy[Condition]:
    """Conditions that have everything that the language has."""
    test = st.one_of([single_tests(name) for name in names])
    return st.recursive(
        st.one_of(test, test, test, constants) if len(names) > 1 else test,
        lambda inner: st.one_of(connections(inner), connections(inner), negations(inner)),
        max_leaves=8,
    )


def filters(names: tuple[str, ...] = NAMES) -> st.SearchStrategy[Filter]:
    """Filters of such conditions."""
    return conditions(names).map(lambda condition: Filter.parse(condition.text))

"""From a filter's text to its condition: sqlglot says what belongs to what, this module says what it means.

sqlglot's tree is walked once. A node that is not of the language is refused; NOT is carried down (`positive`) until it
meets a test; NULL as an operand makes a test unknown, negated or not, and unknown selects nothing, so it becomes FALSE.

An attribute has one type class in a filter: number, string or bool. `a = 5 OR a = 'x'` is refused, because an attribute
is a column of one type and no such column exists.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from regraft.model.filters.condition import (
    BOOLEAN,
    FALSE,
    MIRRORED,
    NEGATED,
    STRING,
    TRUE,
    Comparison,
    Condition,
    Likeness,
    Membership,
    NullTest,
    Truth,
    class_of_literal,
    conjoin,
    disjoin,
)
from regraft.model.filters.constraint import EVERY_BOOLEAN
from regraft.model.filters.lexing import NO_OPERAND, Operand, RefusedError, scan
from regraft.model.filters.like import ESCAPE, literal_text, read_pattern
from regraft.model.filters.literals import Literal, Number, check_digits, read_name, read_number, read_string
from regraft.model.filters.tree import check_complete, check_nesting, tree_of

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


@dataclass(frozen=True, slots=True)
class _Name:
    """An attribute as an operand."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class _Constant:
    """A literal as an operand; `value` None is NULL."""

    value: Literal | None
    position: int


def parse_condition(text: str, depth_max: int) -> Condition:
    """The condition in canonical shape, or `RefusedError`. Parentheses and NOTs may stand `depth_max` deep."""
    tokens, operands = scan(text)
    if not tokens:
        raise RefusedError(0, "the filter is empty; TRUE selects every event")
    check_nesting(tokens, depth_max)
    tree = tree_of(text, tokens)
    condition = _Reader(operands).condition(tree, True)
    check_complete(tokens, tree)
    return condition


class _Reader:
    """Reads one tree; remembers which class each attribute was given, and where."""

    def __init__(self, operands: list[Operand]) -> None:
        self._operands = operands
        self._classes: dict[str, str] = {}

    def condition(self, node: exp.Expression, positive: bool) -> Condition:
        """The condition that `node`, or NOT `node`, states."""
        match node:
            case exp.Paren():
                return self.condition(node.this, positive)
            case exp.Not():
                return self.condition(node.this, not positive)
            case exp.And() | exp.Or():
                parts = [self.condition(part, positive) for part in _chain(node)]
                return conjoin(parts) if isinstance(node, exp.And) == positive else disjoin(parts)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._comparison(node, positive)
            case exp.Between():
                return self._between(node, positive)
            case exp.In():
                return self._membership(node, positive)
            case exp.Like() | exp.Escape():
                return self._likeness(node, positive)
            case exp.Is() if isinstance(node.expression, exp.Null):
                name = self._attribute(node.this, "IS NULL tests an attribute")
                return NullTest(name.name, not positive, name.position)
            case exp.Is():
                raise RefusedError(self._place(node), "IS tests for NULL or NOT NULL and nothing else")
            case exp.Column() | exp.Literal():
                return self._truth(node, positive)
            case _:
                raise RefusedError(self._place(node), "this is not part of the filter language")

    def _truth(self, node: exp.Expression, positive: bool) -> Condition:
        operand = self._operand(node)
        if isinstance(operand, _Name):
            self._note_class(operand, BOOLEAN, operand.position)
            return Truth(operand.name, (positive,), operand.position)
        if operand.value is None:
            return FALSE
        if not isinstance(operand.value, bool):
            raise RefusedError(operand.position, "a literal is no condition; only TRUE, FALSE and NULL are")
        return TRUE if operand.value == positive else FALSE

    def _comparison(self, node: exp.Expression, positive: bool) -> Condition:
        operator = _OPERATORS[type(node)]
        left, right = self._operand(node.this), self._operand(node.expression)
        if isinstance(left, _Constant) and isinstance(right, _Name):
            left, right, operator = right, left, MIRRORED[operator]
        if not isinstance(left, _Name):
            raise RefusedError(left.position, "a comparison needs an attribute on one side; these are two literals")
        if not isinstance(right, _Constant):
            raise RefusedError(right.position, "an attribute is compared with a literal, not with another attribute")
        return self._compare(left, operator if positive else NEGATED[operator], right)

    def _compare(self, name: _Name, operator: str, constant: _Constant) -> Condition:
        literal = constant.value
        if literal is None:
            return FALSE
        self._note_class(name, class_of_literal(literal), constant.position)
        if isinstance(literal, bool):
            return _truth_of(name, tuple(value for value in EVERY_BOOLEAN if _holds(value, operator, literal)))
        return Comparison(name.name, operator, literal, name.position)

    def _between(self, node: exp.Between, positive: bool) -> Condition:
        name = self._attribute(node.this, "BETWEEN tests an attribute")
        low, high = self._literal(node.args["low"], "BETWEEN"), self._literal(node.args["high"], "BETWEEN")
        if positive:
            return conjoin([self._compare(name, ">=", low), self._compare(name, "<=", high)])
        return disjoin([self._compare(name, "<", low), self._compare(name, ">", high)])

    def _membership(self, node: exp.In, positive: bool) -> Condition:
        name = self._attribute(node.this, "IN tests an attribute")
        if not node.expressions:
            raise RefusedError(name.position, "IN needs a list of literals in parentheses")
        constants = [self._literal(item, "IN") for item in node.expressions]
        literals: list[Literal] = []
        for constant in constants:
            if constant.value is not None:
                self._note_class(name, class_of_literal(constant.value), constant.position)
                literals.append(constant.value)
        if not literals or (len(literals) < len(constants) and not positive):
            return FALSE
        return _membership_of(name, literals, positive, constants[0].position)

    def _likeness(self, node: exp.Expression, positive: bool) -> Condition:
        escape = ESCAPE
        if isinstance(node, exp.Escape):
            escape = self._text(node.expression, "ESCAPE") or ""
            if len(escape) != 1:
                raise RefusedError(self._place(node.expression), "ESCAPE needs a single character")
            node = node.this
        if not isinstance(node, exp.Like):
            raise RefusedError(self._place(node), "ESCAPE belongs to LIKE")
        if node.args.get("negate"):
            positive = not positive
        name = self._attribute(node.this, "LIKE tests an attribute")
        self._note_class(name, STRING, name.position)
        text = self._text(node.expression, "LIKE")
        if text is None:
            return FALSE
        try:
            pattern = read_pattern(text, escape)
        except ValueError as error:
            raise RefusedError(self._place(node.expression), str(error)) from None
        whole = literal_text(pattern)
        if whole is not None:
            return Comparison(name.name, "=" if positive else "<>", whole, name.position)
        return Likeness(name.name, pattern, not positive, name.position)

    # ---------------------------------------------------------------------------------------------------- operands

    def _operand(self, node: exp.Expression) -> _Name | _Constant:
        while isinstance(node, exp.Paren):
            node = node.this
        negative = isinstance(node, exp.Neg)
        leaf = node.this if negative else node
        source = self._source(leaf)
        if source is None or (negative and source.kind != "number"):
            raise RefusedError(self._place(node), _composed_reason(node))
        position = source.position
        match source.kind:
            case "name":
                spelling = source.spelling
                return _Name(read_name(spelling) if spelling[0] == "`" else spelling, position)
            case "constant":
                return _Constant({"TRUE": True, "FALSE": False, "NULL": None}[source.spelling.upper()], position)
        try:
            if source.kind == "string":
                return _Constant(read_string(source.spelling), position)
            return _Constant(read_number(source.spelling, negative), position)
        except ValueError as error:
            raise RefusedError(position, str(error)) from None

    def _attribute(self, node: exp.Expression, reason: str) -> _Name:
        operand = self._operand(node)
        if not isinstance(operand, _Name):
            raise RefusedError(operand.position, f"{reason}, not a literal")
        return operand

    def _literal(self, node: exp.Expression, operator: str) -> _Constant:
        operand = self._operand(node)
        if isinstance(operand, _Name):
            raise RefusedError(operand.position, f"{operator} takes literals, not another attribute")
        return operand

    def _text(self, node: exp.Expression, operator: str) -> str | None:
        constant = self._literal(node, operator)
        if constant.value is not None and not isinstance(constant.value, str):
            raise RefusedError(constant.position, f"{operator} takes a string")
        return constant.value

    def _source(self, node: exp.Expression) -> Operand | None:
        if isinstance(node, exp.Literal):
            return self._operands[int(node.this)]
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
            if node.name.startswith(NO_OPERAND):
                raise RefusedError(int(node.name.removeprefix(NO_OPERAND)), "this word is out of place")
            return self._operands[int(node.name)]
        return None

    def _place(self, node: exp.Expression) -> int:
        """The position of the first operand within a node."""
        return min((source.position for source in self._sources(node)), default=0)

    def _sources(self, node: exp.Expression) -> Iterator[Operand]:
        for leaf in node.find_all(exp.Literal, exp.Column):
            source = self._source(leaf)
            if source is not None:
                yield source

    def _note_class(self, name: _Name, type_class: str, position: int) -> None:
        known = self._classes.setdefault(name.name, type_class)
        if known != type_class:
            raise RefusedError(
                position, f"mixed types: {name.name!r} is used as a {type_class} here and as a {known} before"
            )


def _chain(node: exp.Expression) -> list[exp.Expression]:
    """The parts of a run of ANDs or of ORs, which the parser nests to the left, as deep as the run is long."""
    operator = type(node)
    parts = []
    while isinstance(node, operator):
        parts.append(node.expression)
        node = node.this
    parts.append(node)
    return parts[::-1]


def _composed_reason(node: exp.Expression) -> str:
    if isinstance(node, exp.Sub):
        return "arithmetic is not part of the filter language"
    return "only an attribute and a literal can be compared, nothing composed"


def _membership_of(name: _Name, literals: list[Literal], positive: bool, position: int) -> Condition:
    """IN compares with all literals as one type: a single DOUBLE among them makes doubles of all."""
    if isinstance(literals[0], bool):
        return _truth_of(name, tuple(value for value in EVERY_BOOLEAN if (value in literals) == positive))
    texts = [literal for literal in literals if isinstance(literal, str)]
    numbers: list[Number] = [literal for literal in literals if not isinstance(literal, str)]
    try:
        check_digits(numbers)
    except ValueError as error:
        raise RefusedError(position, str(error)) from None
    if any(isinstance(number, float) for number in numbers):
        numbers = [float(number) + 0.0 for number in numbers]
    unique: tuple[Number, ...] | tuple[str, ...] = tuple(sorted(set(numbers))) if numbers else tuple(sorted(set(texts)))
    if len(unique) == 1:
        return Comparison(name.name, "=" if positive else "<>", unique[0], name.position)
    return Membership(name.name, unique, not positive, name.position)


def _truth_of(name: _Name, values: tuple[bool, ...]) -> Condition:
    return Truth(name.name, values, name.position) if values else FALSE


def _holds(value: bool, operator: str, literal: bool) -> bool:
    return {
        "=": value == literal,
        "<>": value != literal,
        "<": value < literal,
        "<=": value <= literal,
        ">": value > literal,
        ">=": value >= literal,
    }[operator]

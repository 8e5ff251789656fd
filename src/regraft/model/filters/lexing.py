"""From a filter's text to tokens for sqlglot's parser, with every word that is outside the language refused on the way.

sqlglot's Spark dialect cuts the text into tokens and later puts these together by the rules of precedence. In between
stands this module. It lets pass only what the language has, so that whatever else Spark's SQL can say (functions,
casts, subqueries, comments, a second statement) is refused where it stands, with its position. And it puts each name
and literal aside as an `Operand` and hands the parser a number in its stead. That has two uses: the tree that comes
back tells from the number where in the text an operand stood, and neither what a name means to sqlglot (`text`, `date`
and `timestamp` are types to it) nor how it reads an escape in a string can get between the text and Spark's reading.
Words and signs of the grammar are handed on with their place instead of their spelling, since sqlglot takes many a
keyword for a column or a function where it makes no sense as a keyword.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from regraft.model.filters.literals import quoted_name

DIALECT = sqlglot.Dialect.get_or_raise("spark")

_SYMBOLS = {
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    ",": TokenType.COMMA,
    "-": TokenType.DASH,
    "=": TokenType.EQ,
    "<>": TokenType.NEQ,
    "!=": TokenType.NEQ,
    "<": TokenType.LT,
    "<=": TokenType.LTE,
    ">": TokenType.GT,
    ">=": TokenType.GTE,
    "AND": TokenType.AND,
    "OR": TokenType.OR,
    "NOT": TokenType.NOT,
    "IN": TokenType.IN,
    "BETWEEN": TokenType.BETWEEN,
    "LIKE": TokenType.LIKE,
    "ESCAPE": TokenType.ESCAPE,
    "IS": TokenType.IS,
}
# The text of a token that is no operand begins with this; its position follows.
NO_OPERAND = "@"

_CONSTANTS = ("TRUE", "FALSE", "NULL")

# Words that Spark, or sqlglot's tokenizer, does not take as the name of a column unless they are quoted.
RESERVED = frozenset(
    [
        *_SYMBOLS,
        *_CONSTANTS,
        *("CURRENT_PATH", "SELECT", "VALUES"),
        *("CALL", "EXECUTE", "EXPLAIN", "FETCH", "OPTIMIZE", "PREPARE", "RENAME", "SHOW", "VACUUM"),
    ]
)

_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[^ \t\r\n]{1,20}")

_REASONS = {
    ";": "out of place: a filter is one condition, not several statements",
    ".": "out of place: a name with a dot stands in backquotes, and fields of an attribute cannot be tested",
    "+": "arithmetic, which is not part of the filter language",
    "*": "arithmetic, which is not part of the filter language",
    "/": "arithmetic, which is not part of the filter language",
    "%": "arithmetic, which is not part of the filter language",
    "::": "a cast, which is not part of the filter language",
    "!": "not part of the filter language: write NOT",
    "==": "not part of the filter language: write =",
}


class RefusedError(Exception):
    """Something that a filter must not hold, and where; `Filter.parse` makes a `FilterError` of it."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Operand:
    """A name or a literal: `kind` is name, string, number or constant (TRUE, FALSE, NULL)."""

    kind: str
    spelling: str
    position: int


def scan(text: str) -> tuple[list[Token], list[Operand]]:
    """Tokens for the parser, and the operands that their texts number. `Token.col` is the position in the text."""
    tokens: list[Token] = []
    operands: list[Operand] = []
    end = 0
    for token in _spark_tokens(text):
        if token.start < end:
            # sqlglot gives 5L as 5, :: and BIGINT, all with the place of the whole.
            continue
        _check_gap(text, end, token.start)
        start, end = token.start, token.end + 1
        spelling = text[start:end]
        if token.token_type is TokenType.STRING and operands and _continues(tokens, operands[-1], start, spelling):
            # 'it''s' comes as two strings that touch.
            operands[-1] = Operand("string", operands[-1].spelling + spelling, operands[-1].position)
            continue
        token_type = _SYMBOLS.get(spelling.upper())
        kind = None if token_type is not None else _kind(token, spelling, start)
        if kind is None or _is_null_of_a_test(tokens, spelling):
            tokens.append(Token(token_type or TokenType.NULL, f"{NO_OPERAND}{start}", col=start))
            continue
        if kind == "name" and text[end:].lstrip()[:1] == "(":
            raise RefusedError(start, f"{spelling!r} looks like a function; the filter language has none")
        token_type = {"name": TokenType.VAR, "string": TokenType.STRING}.get(kind, TokenType.NUMBER)
        tokens.append(Token(token_type, str(len(operands)), col=start))
        operands.append(Operand(kind, spelling, start))
    _check_gap(text, end, len(text))
    return tokens, operands


def _spark_tokens(text: str) -> list[Token]:
    try:
        return DIALECT.tokenize(text)
    except TokenError as error:
        # The only thing that it refuses; its own message does not say where, that of the cause does.
        place = re.search(r"from \d+:(\d+)$", str(error.__cause__))
        raise RefusedError(int(place[1]) if place else 0, "the quoted text that begins here has no end") from None


def _check_gap(text: str, start: int, end: int) -> None:
    """What sqlglot leaves out between tokens must be space; it could be a comment."""
    space = _SPACE.match(text, start, end)
    stop = start if space is None else space.end()
    word = _WORD.match(text, stop, end)
    if word is not None:
        raise RefusedError(stop, f"{word[0]!r} is not part of the filter language, which has no comments")


def _continues(tokens: list[Token], last: Operand, start: int, spelling: str) -> bool:
    if tokens[-1].token_type is not TokenType.STRING:
        return False
    if last.position + len(last.spelling) == start and last.spelling[0] == spelling[0]:
        return True
    raise RefusedError(start, "two strings stand in a row")


def _is_null_of_a_test(tokens: list[Token], spelling: str) -> bool:
    """IS [NOT] NULL is grammar; any other NULL is a literal."""
    types = [token.token_type for token in tokens[-2:]]
    return spelling.upper() == "NULL" and (types[-1:] == [TokenType.IS] or types == [TokenType.IS, TokenType.NOT])


def _kind(token: Token, spelling: str, start: int) -> str:
    """What kind of operand this is; anything else is refused."""
    match token.token_type:
        case TokenType.STRING | TokenType.RAW_STRING:
            return "string"
        case TokenType.NUMBER:
            return "number"
        case TokenType.IDENTIFIER:
            if spelling == "``":
                raise RefusedError(start, "a name must not be empty")
            return "name"
    if spelling.upper() in _CONSTANTS:
        return "constant"
    if _BARE_NAME.fullmatch(spelling):
        if spelling.upper() in RESERVED:
            raise RefusedError(start, f"{spelling} is a word of SQL; for an attribute write {quoted_name(spelling)}")
        return "name"
    reason = _REASONS.get(spelling, "not part of the filter language")
    if spelling[0].isalnum():
        reason = f"neither a number nor a name; for an attribute write {quoted_name(spelling)}"
    raise RefusedError(start, f"{spelling!r} is {reason}")


@lru_cache(maxsize=65_536)
def render_name(name: str) -> str:
    """The name, in backquotes where it needs them."""
    bare = _BARE_NAME.fullmatch(name) and name.upper() not in RESERVED
    return name if bare else quoted_name(name)

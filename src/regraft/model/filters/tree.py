"""The tree that sqlglot's parser makes of tokens, and the two questions it does not ask about them.

Before parsing: how deep they are nested, since the parser recurses. After it: whether every token found its place in
the tree, since the parser was made to read what many databases write and forgives much that Spark does not.
"""

from collections import Counter

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from regraft.model.filters.lexing import DIALECT, RefusedError

_TOKENS: dict[type[exp.Expr], list[TokenType]] = {
    exp.And: [TokenType.AND],
    exp.Or: [TokenType.OR],
    exp.Not: [TokenType.NOT],
    exp.EQ: [TokenType.EQ],
    exp.NEQ: [TokenType.NEQ],
    exp.LT: [TokenType.LT],
    exp.LTE: [TokenType.LTE],
    exp.GT: [TokenType.GT],
    exp.GTE: [TokenType.GTE],
    exp.Between: [TokenType.BETWEEN, TokenType.AND],
    exp.Like: [TokenType.LIKE],
    exp.Escape: [TokenType.ESCAPE],
    exp.Is: [TokenType.IS],
    exp.Null: [TokenType.NULL],
    exp.Neg: [TokenType.DASH],
}


def tree_of(text: str, tokens: list[Token]) -> exp.Expression:
    """What sqlglot makes of the tokens."""
    try:
        (tree,) = DIALECT.parser().parse_into(exp.Condition, tokens, text)
    except ParseError as error:
        where = error.errors[0]
        position, description = where["col"], str(where["description"])
        if "Expecting )" in description:
            raise RefusedError(position, "a closing parenthesis is missing behind this") from None
        reason = "is out of place" if "Unexpected" in description else "lacks something beside it"
        spelling = next((text[t.col :].split()[0] for t in tokens if t.col == position), "this")
        raise RefusedError(position, f"{spelling!r} {reason}") from None
    assert isinstance(tree, exp.Expression)
    return tree


def check_nesting(tokens: list[Token], depth_max: int) -> None:
    """The parser recurses for each (, NOT and minus; how deep is known before."""
    depth = nots = 0
    closing: list[int] = []
    for place, token in enumerate(tokens):
        after = [following.token_type for following in tokens[place + 1 : place + 2]]
        if token.token_type is TokenType.DASH and after != [TokenType.NUMBER]:
            raise RefusedError(token.col, "a minus stands before a number; arithmetic is not part of the language")
        if token.token_type is TokenType.NOT:
            nots += 1
        elif token.token_type is TokenType.L_PAREN:
            closing.append(nots + 1)
            depth += nots + 1
            nots = 0
        else:
            nots = 0
            if token.token_type is TokenType.R_PAREN and closing:
                depth -= closing.pop()
        if depth + nots > depth_max:
            raise RefusedError(token.col, f"parentheses and NOT are nested more than {depth_max} deep")


def check_complete(tokens: list[Token], tree: exp.Expression) -> None:
    """Every token must have its place in the tree and every node its tokens: sqlglot forgives what Spark does not.

    It reads `BETWEEN 1 2` as if AND stood there, and passes over a comma at either end of a list.
    """
    wanted = Counter(token_type for node in tree.walk() for token_type in _tokens_of(node))
    found = Counter(token.token_type for token in tokens)
    for token in tokens:
        if found[token.token_type] != wanted[token.token_type]:
            raise RefusedError(token.col, "this is out of place, or one too many or too few of its kind")
    if found != wanted:
        between = next((token.col for token in tokens if token.token_type is TokenType.BETWEEN), 0)
        raise RefusedError(between, "this lacks its AND")


def _tokens_of(node: exp.Expr) -> list[TokenType]:
    """The types of the tokens that a node of the tree stands for; of one that is no part of the language none."""
    tokens = [TokenType.NOT] if node.args.get("negate") else []
    match node:
        case exp.Column():
            return [TokenType.VAR]
        case exp.Literal():
            return [TokenType.STRING if node.is_string else TokenType.NUMBER]
        case exp.Paren():
            return [TokenType.L_PAREN, TokenType.R_PAREN]
        case exp.In():
            commas = [TokenType.COMMA] * (len(node.expressions) - 1)
            return [*tokens, TokenType.IN, TokenType.L_PAREN, *commas, TokenType.R_PAREN]
    return [*tokens, *_TOKENS.get(type(node), [])]

"""LIKE patterns: reading, matching, and what one pattern says about another.

In a pattern `%` stands for any string and `_` for any one character (a Unicode code point); an escape character makes
the `%`, `_` or escape character behind it stand for itself, and may stand before nothing else, as in Spark.

Patterns are kept in one spelling: the escape character is the backslash, a run of wildcards is its `_`s followed by at
most one `%`. So patterns that say the same are, but for rare cases, equal strings.

Matching does not go through regular expressions. A filter comes from anybody, and `%a%a%a%a%b` would make a
backtracking matcher take time polynomial in the text with the number of `%` as the exponent. Between two `%` the first
place where a piece fits is always as good as any later one, so a pattern is matched by a chain of searches without
going back: at most length of text times length of pattern steps, and each search is `str.find` where no `_` occurs.
"""

from collections.abc import Callable
from functools import lru_cache

ESCAPE = "\\"

# A wildcard is a token of its own type, so that it cannot be confused with the character.
_ONE = 1
_MANY = 2
_Token = str | int


def read_pattern(pattern: str, escape: str = ESCAPE) -> str:
    """The pattern in the one spelling that is used here; ValueError with the reason if Spark would refuse it."""
    tokens: list[_Token] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None:
                raise ValueError("a LIKE pattern must not end with its escape character")
            if escaped not in ("_", "%", escape):
                raise ValueError(
                    f"in a LIKE pattern the escape character {escape!r} must stand before %, _ or itself, "
                    f"not before {escaped!r}"
                )
            tokens.append(escaped)
        elif character == "%":
            if not tokens or tokens[-1] != _MANY:
                tokens.append(_MANY)
        elif character == "_":
            # "%_" says the same as "_%"; "_" goes first.
            if tokens and tokens[-1] == _MANY:
                tokens.insert(-1, _ONE)
            else:
                tokens.append(_ONE)
        else:
            tokens.append(character)
    return "".join(map(_spell, tokens))


def literal_text(pattern: str) -> str | None:
    """The only string that matches, or None if the pattern has a wildcard."""
    tokens = _tokens(pattern)
    return "".join(map(str, tokens)) if all(isinstance(token, str) for token in tokens) else None


def literal_prefix(pattern: str) -> str:
    """The longest string that every match begins with, as far as the pattern's text tells."""
    out = []
    for token in _tokens(pattern):
        if not isinstance(token, str):
            break
        out.append(token)
    return "".join(out)


def is_prefix_test(pattern: str) -> bool:
    """Whether the pattern says no more than how a string begins: `abc%`."""
    tokens = _tokens(pattern)
    return bool(tokens) and tokens[-1] == _MANY and all(isinstance(token, str) for token in tokens[:-1])


def contained_text(pattern: str) -> str | None:
    """The text if the pattern says no more than that a string contains it: `%text%`."""
    tokens = _tokens(pattern)
    inner = tokens[1:-1]
    if inner and tokens[0] == tokens[-1] == _MANY and all(isinstance(token, str) for token in inner):
        return "".join(map(str, inner))
    return None


def escaped(text: str) -> str:
    """The pattern without wildcards that only `text` matches."""
    return "".join(map(_spell, text))


def implies(stronger: str, weaker: str) -> bool:
    """Whether every match of `stronger` is a match of `weaker`. Yes is always true; no may be wrong.

    `weaker` is matched against the tokens of `stronger` as if these were a text: its `%` takes up any of them, its `_`
    a `_` or a character, and a character only itself. Whatever string then stands for the tokens of `stronger`, the
    same assignment matches it.
    """
    places, length = _places(stronger)
    # Bit i: what was read of `weaker` can have taken up the first i tokens.
    reached = 1
    for token in _tokens(weaker):
        if token == _MANY:
            lowest = reached & -reached
            reached = (2 << length) - lowest
        elif token == _ONE:
            reached = (reached & ~places.get(_MANY, 0)) << 1
        else:
            reached = (reached & places.get(token, 0)) << 1
        reached &= (2 << length) - 1
        if not reached:
            return False
    return bool(reached >> length)


@lru_cache(maxsize=4096)
def _places(pattern: str) -> tuple[dict[_Token, int], int]:
    """For each token the bitmap of its places in the pattern, and the number of tokens."""
    places: dict[_Token, int] = {}
    tokens = _tokens(pattern)
    for place, token in enumerate(tokens):
        places[token] = places.get(token, 0) | 1 << place
    return places, len(tokens)


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A function that tells whether a string matches the pattern (in the spelling of `read_pattern`)."""
    contained = contained_text(pattern)
    if contained is not None:
        return _compile_contains(contained)
    pieces: list[list[_Token]] = [[]]
    for token in _tokens(pattern):
        if token == _MANY:
            pieces.append([])
        else:
            pieces[-1].append(token)
    if len(pieces) == 1:
        return _compile_whole(pieces[0])
    first, *middle, last = pieces
    return _compile_chain(first, [piece for piece in middle if piece], last)


def _compile_contains(text: str) -> Callable[[str], bool]:
    """The papers' own test, `%c%`, is a single `in`."""

    def contains(value: str) -> bool:
        return text in value

    return contains


def _compile_whole(tokens: list[_Token]) -> Callable[[str], bool]:
    fits, length = _compile_fit(tokens), len(tokens)

    def whole(value: str) -> bool:
        return len(value) == length and fits(value, 0)

    return whole


def _compile_chain(first: list[_Token], middle: list[list[_Token]], last: list[_Token]) -> Callable[[str], bool]:
    starts, ends = _compile_fit(first), _compile_fit(last)
    start_length, end_length = len(first), len(last)
    searches = [_compile_search(piece) for piece in middle]

    def chain(value: str) -> bool:
        end = len(value) - end_length
        if end < start_length or not starts(value, 0) or not ends(value, end):
            return False
        place = start_length
        for search in searches:
            place = search(value, place, end)
            if place < 0:
                return False
        return True

    return chain


def _compile_fit(tokens: list[_Token]) -> Callable[[str, int], bool]:
    """Whether the tokens (no `%`) fit at a place of a text which is long enough there."""
    if _ONE not in tokens:
        text = "".join(map(str, tokens))
        return lambda value, place: value.startswith(text, place)
    fixed = [(offset, token) for offset, token in enumerate(tokens) if token != _ONE]

    def fits(value: str, place: int) -> bool:
        return all(value[place + offset] == token for offset, token in fixed)

    return fits


def _compile_search(tokens: list[_Token]) -> Callable[[str, int, int], int]:
    """The end of the first place from `start` on where the tokens (no `%`) fit before `end`, or -1."""
    length = len(tokens)
    if _ONE not in tokens:
        text = "".join(map(str, tokens))

        def find(value: str, start: int, end: int) -> int:
            place = value.find(text, start, end)
            return place if place < 0 else place + length

        return find
    fits = _compile_fit(tokens)

    def scan(value: str, start: int, end: int) -> int:
        for place in range(start, end - length + 1):
            if fits(value, place):
                return place + length
        return -1

    return scan


@lru_cache(maxsize=4096)
def _tokens(pattern: str) -> tuple[_Token, ...]:
    """The tokens of a pattern that is spelled as `read_pattern` spells it."""
    tokens: list[_Token] = []
    characters = iter(pattern)
    for character in characters:
        if character == ESCAPE:
            tokens.append(next(characters))
        else:
            tokens.append({"%": _MANY, "_": _ONE}.get(character, character))
    return tuple(tokens)


def _spell(token: _Token) -> str:
    if token == _ONE:
        return "_"
    if token == _MANY:
        return "%"
    assert isinstance(token, str)
    return ESCAPE + token if token in ("%", "_", ESCAPE) else token

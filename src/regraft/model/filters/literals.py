"""Literals and names as Spark spells them: reading what stands in a filter, writing what stands in its canonical text.

A number is exact or it is a double, and Spark tells which by its spelling: `5`, `5L`, `100.5` and `5BD` are exact,
`1e2` and `1.5D` are doubles. The difference shows beside an integer attribute, which is compared exactly with the
former and made a double for the latter; 2**53 + 1 is equal to the double 2**53, and not to the integer.
"""

import math
import re
from collections.abc import Iterable
from decimal import Decimal

Number = int | Decimal | float
"""An exact literal is an int, or a Decimal where it has a fraction; a DOUBLE literal is a float."""
Literal = Number | str | bool

# Spark holds an exact literal as DECIMAL(38), and with it a BIGINT that is compared with it.
DIGITS_MAX = 38
BIGINT_DIGITS = 20

_NUMBER = re.compile(r"(?P<digits>\d+(?P<fraction>\.\d*)?|\.\d+)(?P<exponent>[eE][+-]?\d+)?(?P<suffix>BD|[LD])?", re.I)

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.S)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_SPELLED = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def read_number(spelling: str, negative: bool = False) -> Number:
    """The value of a number, with a minus in front or not; ValueError with the reason if it is none of ours."""
    match = _NUMBER.fullmatch(spelling)
    if match is None:
        raise ValueError(f"{spelling} is not a number here: write 5, 5L, 100.5, 5BD, 1e2 or 1.5D")
    suffix = (match["suffix"] or "").upper()
    magnitude = match["digits"] + (match["exponent"] or "")
    if suffix == "D" or (match["exponent"] and not suffix):
        double = float(magnitude)
        if math.isinf(double):
            raise ValueError(f"{spelling} is too large for a double")
        return -double if negative and double else double
    exact = Decimal(magnitude)
    check_digits([exact])
    if suffix == "L" and (match["fraction"] is not None or match["exponent"] or int(exact) - negative >= 2**63):
        raise ValueError(f"{spelling} is not an int64")
    return _simplest(exact.copy_negate() if negative else exact)


def check_digits(numbers: Iterable[Number]) -> None:
    """ValueError if Spark could not compare these exact literals, together, with a BIGINT without rounding."""
    exact = [Decimal(number) for number in numbers if not isinstance(number, float)]
    whole = max([BIGINT_DIGITS, *(number.adjusted() + 1 for number in exact)])
    fraction = max([0, *(-int(number.as_tuple().exponent) for number in exact)])
    if whole + fraction > DIGITS_MAX:
        raise ValueError(
            f"too many digits: {whole} before the point (an int64 takes {BIGINT_DIGITS}) and {fraction} behind it "
            f"are more than the {DIGITS_MAX} of a DECIMAL"
        )


def read_string(spelling: str) -> str:
    """The text of a string literal, quotes included in its spelling; ValueError with the reason if it has none."""
    if spelling[0] in "rR":
        return spelling[2:-1]
    quote = spelling[0]
    return _join_surrogates(_ESCAPE.sub(_unescape, spelling[1:-1].replace(quote + quote, "\\" + quote)))


def _unescape(match: re.Match[str]) -> str:
    u16, u32, octal, character = match.groups()
    if octal:
        return chr(int(octal, 8))
    if character:
        return _ESCAPED.get(character, character)
    code = int(u16 or u32, 16)
    if code > 0x10FFFF:
        raise ValueError(f"{match[0]} is no Unicode character")
    return chr(code)


def _join_surrogates(text: str) -> str:
    """Two escapes can spell one character, as in UTF-16."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError("half of a surrogate pair is no Unicode character") from None


def read_name(spelling: str) -> str:
    """The name between backquotes."""
    return spelling[1:-1].replace("``", "`")


def render_literal(literal: Literal) -> str:
    """The literal as Spark reads it back, of the same value and the same kind."""
    match literal:
        case bool():
            return "TRUE" if literal else "FALSE"
        case int():
            return str(literal)
        case Decimal():
            return format(literal, "f")
        case float():
            text = repr(literal).replace("e+", "e")
            return text if "e" in text else text + "D"
        case str():
            return "'" + "".join(map(_spell, literal)) + "'"


def quoted_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _spell(character: str) -> str:
    spelled = _SPELLED.get(character)
    if spelled is not None:
        return spelled
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _simplest(exact: Decimal) -> int | Decimal:
    """One spelling a value: no zeros at the end of a fraction, and an int where there is none."""
    text = format(exact, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return Decimal(text) if "." in text else int(text)

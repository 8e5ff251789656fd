"""How an event's attributes are written in the column `attributes`, and read again as what they were.

JSON as Python's own module writes it. Every value comes back with its type: 1 is an integer and 1.0 a floating-point
number; NaN and the infinities are written as the words `NaN` and `Infinity`, which strict JSON does not have and
Spark's reader accepts; everything beyond ASCII is escaped, so that half a surrogate pair, which no UTF-8 column can
hold, survives.
"""

import json
from collections.abc import Mapping

from regraft.model.events import Value


def encode_attributes(attributes: Mapping[str, Value]) -> str:
    return _encode(attributes)


def decode_attributes(text: str) -> dict[str, Value]:
    attributes: dict[str, Value] = _decode(text)
    return attributes


_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode

"""An event: typed attributes, an opaque payload, and an identity.

The identity is the publisher's name and a sequence number of that publisher, which starts at 1; written `publisher/7`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

Value = str | int | float | bool

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1


class Event(msgspec.Struct, frozen=True, tag="event", gc=False, eq=False):
    """One published fact. `match` in `matching/` reads `attributes`; nothing reads `payload`.

    Two events are the same object or they are different: identity is `name`, and nothing compares by value.
    """

    publisher: str
    sequence: int
    attributes: Mapping[str, Value]
    payload: bytes = b""

    @property
    def name(self) -> str:
        return f"{self.publisher}/{self.sequence}"


def check_attributes(attributes: Mapping[str, Any]) -> str | None:
    """The reason why these are not the attributes of an event, or None."""
    for name, value in attributes.items():
        if not isinstance(name, str) or not name:
            return "an attribute's name must be a non-empty string"
        if isinstance(value, bool | str | float):
            continue
        if not isinstance(value, int):
            return f"attribute {name!r}: a value must be a string, an int64, a float64 or a bool"
        if not INT64_MIN <= value <= INT64_MAX:
            return f"attribute {name!r}: {value} does not fit in 64 bits"
    return None

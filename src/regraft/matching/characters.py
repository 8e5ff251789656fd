"""The papers' own filters: `attribute LIKE '%c%'`, a bitmap a character.

An event of nine characters asks nine times a dictionary; nothing else in the index is touched.
"""

from collections.abc import Mapping

from regraft.model.events import Value


class Characters:
    """Invariant: no bitmap is 0, and no attribute is without a character."""

    def __init__(self) -> None:
        self._attributes: dict[str, dict[str, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._attributes)

    def add(self, slot: int, attribute: str, character: str) -> None:
        bitmaps = self._attributes.setdefault(attribute, {})
        bitmaps[character] = bitmaps.get(character, 0) | 1 << slot

    def remove(self, slot: int, attribute: str, character: str) -> None:
        """Nothing happens if the slot is not there, so that one filter may say the same twice."""
        bitmaps = self._attributes.get(attribute, {})
        left = bitmaps.get(character, 0) & ~(1 << slot)
        if left:
            bitmaps[character] = left
        elif character in bitmaps:
            del bitmaps[character]
            if not bitmaps:
                del self._attributes[attribute]

    def match(self, attributes: Mapping[str, Value]) -> int:
        """The bitmap of the slots whose character is contained."""
        found = 0
        for attribute, bitmaps in self._attributes.items():
            text = attributes.get(attribute)
            if not isinstance(text, str):
                continue
            if len(text) <= len(bitmaps):
                for character in text:
                    if character in bitmaps:
                        found |= bitmaps[character]
            else:
                for character, bitmap in bitmaps.items():
                    if character in text:
                        found |= bitmap
        return found

    def check(self) -> None:
        """State the invariants; for tests."""
        assert all(self._attributes.values())
        assert all(bitmap for bitmaps in self._attributes.values() for bitmap in bitmaps.values())

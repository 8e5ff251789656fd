"""A broker's state as a value: cloned, compared, hashed. What lets a checker walk every interleaving.

Both functions walk the broker as a graph of objects, and need not be told when a part gains an attribute. They count on
what holds for every part of the brain: its state is plain data (numbers, texts, tuples, frozen messages, lists,
dictionaries, objects of these), and it reaches other parts by attributes and bound methods. Anything else, such as a
closure, may hide state and is refused.

The configuration and the catalogue belong to the world and are shared by a broker and its clones. While clones live,
the catalogue must therefore hold every filter that they speak of (`FixedCatalogue`): it cannot count who holds what in
histories that exclude each other.
"""

from collections.abc import Hashable
from enum import Enum, auto
from types import MethodType
from typing import Any

import msgspec

from regraft.broker.catalogue import FilterCatalogue, Matched
from regraft.broker.core import Broker
from regraft.broker.routing import KnownWays

# What a broker keeps for as long as it lives; everything else is gone when it is at rest.
_LASTING = ("table", "_table", "_incarnations", "_held", "_parent", "_serial", "_stays")


class FixedCatalogue(FilterCatalogue):
    """All filters that will ever be spoken of, held for good: whether a broker holds one changes nothing."""

    def __init__(self, texts: tuple[str, ...], covering: bool = False) -> None:
        super().__init__(covering)
        for text in texts:
            super().hold(text)

    def hold(self, text: str) -> int:
        bit = self.bit(text)
        assert bit, f"{text} was not foreseen"
        return bit.bit_length() - 1

    def release(self, slot: int) -> None:
        """It stays."""


def clone(broker: Broker) -> Broker:
    """Another broker in the same state; what either is told from now on is no business of the other."""
    copied: Broker = _copied(broker, {})
    return copied


def state_of(broker: Broker) -> Hashable:
    """Equal for two brokers that will answer alike whatever they are told; else different.

    The order of a dictionary counts, since it decides the order of effects.
    """
    return _frozen(broker, {})


class _Nature(Enum):
    VALUE = auto()  # it never changes
    ELSEWHERE = auto()  # it is the world's
    KNOWN = auto()  # it is worked out from the rest, and may be forgotten
    METHOD = auto()  # a way to another part, which is an attribute of something as well
    TUPLE = auto()
    DICTIONARY = auto()
    LIST = auto()
    OBJECT = auto()


_STATELESS = (_Nature.ELSEWHERE, _Nature.KNOWN, _Nature.METHOD)


def _nature_of(kind: type) -> _Nature:
    if issubclass(kind, int | str | bytes | float | type(None) | msgspec.Struct):
        return _Nature.VALUE
    if issubclass(kind, FilterCatalogue | Matched):
        return _Nature.ELSEWHERE
    if issubclass(kind, KnownWays):
        return _Nature.KNOWN
    if issubclass(kind, MethodType):
        return _Nature.METHOD
    for plain, nature in ((tuple, _Nature.TUPLE), (dict, _Nature.DICTIONARY), (list, _Nature.LIST)):
        if issubclass(kind, plain):
            return nature
    assert kind.__module__.startswith("regraft."), f"a {kind.__name__} may hide state"
    return _Nature.OBJECT


_natures: dict[type, _Nature] = {}


def _nature(kind: type) -> _Nature:
    nature = _natures.get(kind)
    if nature is None:
        nature = _natures[kind] = _nature_of(kind)
    return nature


class _Same:
    """A thing by its identity, to be found in a dictionary."""

    __slots__ = ("thing",)

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing


def _copied(thing: Any, copies: dict[_Same, Any]) -> Any:
    """`copies` holds one for each changeable thing, so that what was shared is shared again."""
    nature = _nature(type(thing))
    if nature is _Nature.VALUE or nature is _Nature.ELSEWHERE:
        return thing
    if nature is _Nature.KNOWN:
        return type(thing)()
    if nature is _Nature.TUPLE:
        return tuple([_copied(part, copies) for part in thing])
    if nature is _Nature.METHOD:
        return MethodType(thing.__func__, _copied(thing.__self__, copies))
    same = _Same(thing)
    copy = copies.get(same)
    if copy is None:
        kind: Any = type(thing)
        copy = copies[same] = kind.__new__(kind)
        if nature is _Nature.DICTIONARY:
            for key, value in thing.items():
                copy[key] = _copied(value, copies)
        elif nature is _Nature.LIST:
            copy.extend([_copied(part, copies) for part in thing])
        else:
            for name, value in _attributes(thing).items():
                object.__setattr__(copy, name, _copied(value, copies))  # it may be frozen
    return copy


def _frozen(thing: Any, seen: dict[_Same, int]) -> Hashable:
    """`seen` numbers the changeable things in the order in which they are met, so that sharing counts, too."""
    nature = _nature(type(thing))
    if nature is _Nature.VALUE:
        value: Hashable = thing
        return value
    if nature in _STATELESS:
        return None
    if nature is _Nature.TUPLE:
        return tuple([_frozen(part, seen) for part in thing])
    same = _Same(thing)
    if same in seen:
        return ("met", seen[same])
    seen[same] = len(seen)
    if nature is _Nature.DICTIONARY:
        return ("dict", *[(key, _frozen(value, seen)) for key, value in thing.items()])
    if nature is _Nature.LIST:
        return ("list", *[_frozen(part, seen) for part in thing])
    return (type(thing).__name__, *[_frozen(value, seen) for value in _attributes(thing).values()])


def _attributes(thing: object) -> dict[str, Any]:
    if hasattr(thing, "__dict__"):
        return vars(thing)
    return {name: getattr(thing, name) for name in _slots(type(thing))}


def _slots(kind: type) -> tuple[str, ...]:
    return tuple(name for base in reversed(kind.__mro__) for name in getattr(base, "__slots__", ()))


def left_over(broker: Broker) -> list[str]:
    """What a broker that is at rest would not have: where in it, and what. Empty if it waits for nothing.

    A broker at rest is as it was when it began, but for its table, its links and some numbers.
    """
    return _differences("", broker, Broker(broker.name, broker.config, broker._catalogue), {})


def _differences(place: str, thing: Any, fresh: Any, seen: dict[_Same, None]) -> list[str]:
    nature = _nature(type(thing))
    if nature in _STATELESS or _Same(thing) in seen:
        return []
    if nature is not _Nature.OBJECT or type(thing) is not type(fresh):
        return [] if thing == fresh else [f"{place}: {thing}"]
    seen[_Same(thing)] = None
    found = []
    for name, value in _attributes(thing).items():
        if name not in _LASTING:
            where = f"{place}.{name.removeprefix('_')}".removeprefix(".")
            found += _differences(where, value, _attributes(fresh)[name], seen)
    return found

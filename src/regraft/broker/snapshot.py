"""A broker's state as a value: cloned, compared, hashed. What lets a checker walk every interleaving.

Both functions walk the broker as a graph of objects, and need not be told when a part gains an attribute. They count on
what holds for every part of the brain: its state is plain data (numbers, texts, tuples, frozen messages, lists,
dictionaries, objects of these), and it reaches other parts by attributes and bound methods. A closure could hide
state, so it is refused.

The configuration and the catalogue belong to the world and are shared by a broker and its clones. While clones live,
the catalogue must therefore hold every filter that they speak of (`FixedCatalogue`): it cannot count who holds what in
histories that exclude each other.
"""

from collections.abc import Hashable
from copy import deepcopy
from types import FunctionType, MethodType
from typing import Any

import msgspec

from regraft.broker.catalogue import FilterCatalogue, Matched
from regraft.broker.core import Broker
from regraft.broker.routing import KnownWays

_IMMUTABLE = (int, str, bytes, float, type(None), msgspec.Struct)
# The world's, or worked out from the rest, or a way to a part that is an attribute as well.
_ELSEWHERE = (FilterCatalogue, Matched, KnownWays, MethodType)

# What a broker keeps for as long as it lives; everything else is gone when it is at rest.
_LASTING = ("table", "_incarnations", "_held", "_parent", "_serial")


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
    return deepcopy(broker)


def state_of(broker: Broker) -> Hashable:
    """Equal for two brokers that will answer alike whatever they are told; else different.

    The order of a dictionary counts, since it decides the order of effects.
    """
    return _frozen(broker, {})


class _Same:
    """A thing by its identity, to be found in a dictionary."""

    __slots__ = ("thing",)

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing


def _frozen(thing: Any, seen: dict[_Same, int]) -> Hashable:
    """`seen` numbers the changeable things in the order in which they are met, so that sharing counts, too."""
    if isinstance(thing, _IMMUTABLE):
        return thing
    if isinstance(thing, tuple):
        return tuple([_frozen(part, seen) for part in thing])
    if isinstance(thing, _ELSEWHERE):
        return None
    assert not isinstance(thing, FunctionType), f"a closure may hide state: {thing.__qualname__}"
    same = _Same(thing)
    if same in seen:
        return ("met", seen[same])
    seen[same] = len(seen)
    if isinstance(thing, dict):
        return ("dict", *[(key, _frozen(value, seen)) for key, value in thing.items()])
    if isinstance(thing, list):
        return ("list", *[_frozen(part, seen) for part in thing])
    return (type(thing).__name__, *[_frozen(value, seen) for value in _attributes(thing).values()])


def _attributes(thing: object) -> dict[str, Any]:
    if hasattr(thing, "__dict__"):
        return vars(thing)
    names = [name for kind in reversed(type(thing).__mro__) for name in getattr(kind, "__slots__", ())]
    return {name: getattr(thing, name) for name in names}


def left_over(broker: Broker) -> list[str]:
    """What a broker that is at rest would not have: where in it, and what. Empty if it waits for nothing.

    A broker at rest is as it was when it began, but for its table, its links and some numbers.
    """
    return _differences("", broker, Broker(broker.name, broker.config, broker._catalogue), {})


def _differences(place: str, thing: Any, fresh: Any, seen: dict[_Same, None]) -> list[str]:
    if isinstance(thing, _ELSEWHERE) or _Same(thing) in seen:
        return []
    if isinstance(thing, (*_IMMUTABLE, tuple, dict, list)) or type(thing) is not type(fresh):
        return [] if thing == fresh else [f"{place}: {thing}"]
    seen[_Same(thing)] = None
    found = []
    for name, value in _attributes(thing).items():
        if name not in _LASTING:
            where = f"{place}.{name.removeprefix('_')}".removeprefix(".")
            found += _differences(where, value, _attributes(fresh)[name], seen)
    return found

"""A tree as a TOML file, for `regraft plan`: its links and, where costs are to be predicted, who subscribes to what.

links = ["a-b", "b-c"]

[subscriptions]
a = ["price > 10"]
"""

import tomllib
from dataclasses import dataclass

import msgspec

from regraft.errors import FilterError, ScenarioError
from regraft.model.filters import Filter
from regraft.model.trees import Adjacency, Link, adjacency_of, split_link


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    links: tuple[str, ...]
    subscriptions: dict[str, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class TreeFile:
    links: tuple[Link, ...]
    adjacency: Adjacency
    subscriptions: dict[str, tuple[str, ...]]  # filters in canonical form, by broker

    def local(self) -> dict[str, int]:
        """The filters of each broker as sets; a filter's bit is its place in the file."""
        places: dict[str, int] = {}
        for texts in self.subscriptions.values():
            for text in texts:
                places.setdefault(text, len(places))
        held = {broker: {1 << places[text] for text in texts} for broker, texts in self.subscriptions.items()}
        return {broker: sum(held.get(broker, ())) for broker in self.adjacency}


def parse_tree(text: str, place: str) -> TreeFile:
    """Refuses, with the place, what is no tree, no filter, or no broker's."""
    try:
        file = msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ScenarioError(place, str(error)) from error
    links = tuple(split_link(link, f"{place}, links") for link in file.links)
    adjacency = adjacency_of(links, f"{place}, links")
    subscriptions = {}
    for broker, filters in file.subscriptions.items():
        if broker not in adjacency:
            raise ScenarioError(f"{place}, subscriptions", f"there is no broker {broker}")
        try:
            subscriptions[broker] = tuple(Filter.parse(filter).text for filter in filters)
        except FilterError as error:
            raise ScenarioError(f"{place}, subscriptions.{broker}", str(error)) from error
    return TreeFile(links, adjacency, subscriptions)

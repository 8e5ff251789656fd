"""Which cases are proved: every tree, every change, every place for a client, up to the names of the brokers.

Two cases that differ by names alone are one: nothing that a broker does depends on what brokers are called, but for the
length of a wait, and here a timer fires whenever it likes. Trees are taken once for each shape; of the cases on a tree
that its symmetries turn into each other, one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Literal

from regraft.broker.inputs import ClientPublished, ClientSubscribed, ClientUnsubscribed
from regraft.broker.messages import Order as EventOrder
from regraft.model.events import Event
from regraft.model.trees import Link
from regraft.proving.case import ATTRIBUTES, FILTER, Act, client_of
from regraft.proving.links import pair

NAMES = "abcdefgh"
PUBLISHER = "p"

Names = tuple[str, ...]
Meanwhile = Literal["nothing", "publish", "answer", "subscribe", "unsubscribe"]


def trees(count: int) -> list[tuple[Link, ...]]:
    """Each shape of a tree of so many brokers, once."""
    names = NAMES[:count]
    found: dict[tuple[Link, ...], None] = {}
    for above in product(*[range(place) for place in range(1, count)]):
        links = [(names[up], names[place]) for place, up in enumerate(above, start=1)]
        found[min(_renamed_links(links, dict(zip(names, new, strict=True))) for new in permutations(names))] = None
    return list(found)


def _renamed_links(links: list[Link] | tuple[Link, ...], names: dict[str, str]) -> tuple[Link, ...]:
    return tuple(sorted(pair(names[a], names[b]) for a, b in links))


def brokers_of(tree: tuple[Link, ...]) -> Names:
    return tuple(sorted(dict.fromkeys(broker for link in tree for broker in link)))


def symmetries(tree: tuple[Link, ...]) -> list[dict[str, str]]:
    """The ways to rename the brokers of a tree that leave it as it is."""
    names = brokers_of(tree)
    renamings = (dict(zip(names, new, strict=True)) for new in permutations(names))
    return [renaming for renaming in renamings if _renamed_links(tree, renaming) == tree]


@dataclass(frozen=True, slots=True, order=True)
class Sketch:
    """A case in brokers' names alone. `links` is what the kind of change makes of it: of two, the first has no
    direction, the second has one."""

    subscribers: Names
    links: tuple[Link, ...]
    meanwhile: Meanwhile
    at: Names

    def renamed(self, names: dict[str, str]) -> "Sketch":
        links = tuple((names[a], names[b]) for a, b in self.links)
        return Sketch(
            tuple(sorted(names[name] for name in self.subscribers)),
            tuple(pair(*link) if place % 2 == 0 else link for place, link in enumerate(links)),
            self.meanwhile,
            tuple(names[name] for name in self.at),
        )


def sketches(
    tree: tuple[Link, ...], changes: Sequence[tuple[Link, ...]], meanwhile: Sequence[Meanwhile]
) -> list[Sketch]:
    """Every change with every set of subscribers and every place for what clients do meanwhile; of those that are one
    but for names, the first."""
    brokers = brokers_of(tree)
    same = symmetries(tree)
    found = []
    for size in range(len(brokers) + 1):
        for subscribers in combinations(brokers, size):
            for links, what in product(changes, meanwhile):
                for at in _places(brokers, subscribers, what):
                    sketch = Sketch(subscribers, links, what, at)
                    if all(sketch <= sketch.renamed(names) for names in same):
                        found.append(sketch)
    return found


def _places(brokers: Names, subscribers: Names, what: Meanwhile) -> list[Names]:
    match what:
        case "nothing":
            return [()]
        case "publish":
            return [(broker,) for broker in brokers] if subscribers else []
        case "answer":
            return [(broker, other) for broker in brokers for other in subscribers if other != broker]
        case "subscribe":
            return [(broker,) for broker in brokers if broker not in subscribers]
        case "unsubscribe":
            return [(broker,) for broker in subscribers]


def acts_of(sketch: Sketch, events: dict[str, Event], publications: int) -> tuple[Act, ...]:
    """`events` holds the one object that each event is, by name."""
    match sketch.meanwhile:
        case "nothing":
            return ()
        case "publish":
            return tuple(
                Act(
                    sketch.at[0], ClientPublished(_event(events, PUBLISHER, number + 1)), number - 1 if number else None
                )
                for number in range(publications)
            )
        case "answer":
            asking, answering = sketch.at
            question = _event(events, PUBLISHER, 1)
            answer = _event(events, client_of(answering), 1)
            return Act(asking, ClientPublished(question)), Act(answering, ClientPublished(answer), got=question.name)
        case "subscribe":
            return (Act(sketch.at[0], ClientSubscribed(client_of(sketch.at[0]), FILTER)),)
        case "unsubscribe":
            return (Act(sketch.at[0], ClientUnsubscribed(client_of(sketch.at[0]), FILTER)),)


def _event(events: dict[str, Event], publisher: str, sequence: int) -> Event:
    return events.setdefault(f"{publisher}/{sequence}", Event(publisher, sequence, ATTRIBUTES))


def earlier_events(order: EventOrder, brokers: Names) -> dict[str, Names]:
    """For each event that may be published, those that nobody may get after it."""
    first: Names = (f"{PUBLISHER}/1",)
    fifo = {} if order == "none" else {f"{PUBLISHER}/2": first}
    answers = {f"{client_of(broker)}/1": first for broker in brokers} if order == "causal" else {}
    return fifo | answers

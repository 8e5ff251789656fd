"""What is done to a tree while clients act: one object a kind of change.

| kind | what the operator does | promised of events |
|---|---|---|
| `break` | a link breaks without warning, and another replaces it at any time later | nothing |
| `replace` | the same, and both ends of the lost link are told what replaces it | nothing |
| `again` | the same by `path`, then, at any time, by `informed`; on 3 brokers, idle clients | nothing |
| `exchange` | an exchange is ordered, and must come about | as the protocol says |
| `overlap` | two exchanges whose cycles share a broker are ordered, and must end; on 3 brokers | as the protocol says |
| `interrupted` | an exchange is ordered, a link of its cycle breaks, and is mended; 3 brokers, idle clients | nothing |
| `join` | a new broker, whose clients act already, is linked as a leaf | all, in causal order |
| `leave` | a leaf is ordered to leave, and does, or says why not | all, in causal order |

A link that breaks is met by a coordinated protocol as by the one under it, which has proofs of its own; so is `break`
of a coordinated protocol left out.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Literal

from regraft.broker.config import Reconfiguration
from regraft.broker.inputs import ExchangeOrdered, LeaveOrdered
from regraft.broker.messages import Order as EventOrder
from regraft.broker.messages import Routes
from regraft.model.trees import Adjacency, Link, adjacency_of, component, path
from regraft.planning import exchange_on
from regraft.proving.cases import Meanwhile, Names, Sketch
from regraft.proving.links import Cut, Lay, Mend, Operation, Order, pair

Tree = tuple[Link, ...]
Threads = tuple[tuple[Operation, ...], ...]
KindName = Literal["break", "replace", "again", "exchange", "overlap", "interrupted", "join", "leave"]
CHANGES: tuple[KindName, ...] = ("break", "replace", "again", "exchange", "overlap", "interrupted", "join", "leave")


@dataclass(frozen=True, slots=True)
class Kind:
    """`changes`: all that can be done to a tree; `threads`: a change as what the operator does; `order`: what is
    promised of events (None: nothing); `done`: an exchange must come about, and not only end."""

    changes: Callable[[Tree], Iterable[tuple[Link, ...]]]
    threads: Callable[[Tree, tuple[Link, ...]], Threads]
    meanwhile: tuple[Meanwhile, ...]
    order: EventOrder | None
    done: bool = False
    joins: bool = False
    brokers_max: int = 8  # beyond, it would not end in a day

    def joining(self, sketch: Sketch) -> str:
        return sketch.links[1][0] if self.joins else ""

    def makes_sense(self, sketch: Sketch) -> bool:
        return self.joining(sketch) not in sketch.subscribers


def kinds_of(reconfiguration: Reconfiguration, order: EventOrder | None, routes: Routes) -> dict[KindName, Kind]:
    """Those that a protocol is proved for: by what it does about breaks, and the order that it keeps in exchanges."""
    leaves: tuple[Meanwhile, ...] = ("publish", "answer", "subscribe", "unsubscribe")
    found: dict[KindName, Kind] = {}
    if order is None:
        found["break"] = Kind(_breaks, _broken, ("subscribe", "unsubscribe"), None)
        if reconfiguration == "path":
            found["replace"] = Kind(_breaks_by_end, _replaced, ("subscribe", "unsubscribe"), None)
        if reconfiguration == "informed":
            found["replace"] = Kind(_breaks, _replaced_by_end, ("subscribe", "unsubscribe"), None)
        if reconfiguration == "auto":
            found["again"] = Kind(_two_breaks, _replaced_both, ("nothing",), None, brokers_max=3)
    else:
        meanwhile = leaves if order == "causal" else tuple(what for what in leaves if what != "answer")
        found["exchange"] = Kind(exchanges, _planned(order, routes), meanwhile, order, done=True)
        found["overlap"] = Kind(_overlaps, _planned(order, routes), ("publish",), order, brokers_max=3)
        found["interrupted"] = Kind(_interruptions, _interrupted(order, routes), ("nothing",), None, brokers_max=3)
    found["join"] = Kind(_leaves, lambda tree, links: ((Lay(links[0]),),), leaves, "causal", joins=True)
    found["leave"] = Kind(_leaves, lambda tree, links: ((Order(links[1][0], LeaveOrdered()),),), leaves, "causal")
    return found


def exchanges(tree: Tree) -> Iterator[tuple[Link, Link]]:
    """Every link, and every other one that can replace it, from either end."""
    for link in tree:
        adjacency = _without(tree, link)
        one, other = (list(component(adjacency, end)) for end in link)
        for a, b in product(one, other):
            if pair(a, b) != link:
                yield link, (a, b)
                yield link, (b, a)


def _without(tree: Tree, link: Link) -> Adjacency:
    adjacency = adjacency_of(tree, "proof")
    a, b = link
    del adjacency[a][b], adjacency[b][a]
    return adjacency


def _breaks(tree: Tree) -> Iterator[tuple[Link, Link]]:
    """A link that returns is one that replaces itself."""
    for link in tree:
        yield link, link
    for removed, added in exchanges(tree):
        if added == pair(*added):
            yield removed, added


def _breaks_by_end(tree: Tree) -> Iterator[tuple[Link, Link]]:
    """Which end of the lost link comes first in the way between them is the operator's choice: both are tried."""
    for removed, added in _breaks(tree):
        yield removed, added
        yield removed, added[::-1]


def _replaced(tree: Tree, links: tuple[Link, ...]) -> Threads:
    removed, added = links
    first = removed if added == pair(*added) else removed[::-1]
    return ((Cut(removed), Lay(pair(*added), replaces=first)),)


def _replaced_by_end(tree: Tree, links: tuple[Link, ...]) -> Threads:
    removed, added = links
    return ((Cut(removed), Lay(added, replaces=removed, told="end")),)


def _two_breaks(tree: Tree) -> Iterator[tuple[Link, ...]]:
    """The second in the tree that the first has left."""
    for removed, added in _breaks_by_end(tree):
        after = tuple(sorted((*(link for link in tree if link != removed), pair(*added))))
        for again in _breaks(after):
            yield removed, added, *again


def _replaced_both(tree: Tree, links: tuple[Link, ...]) -> Threads:
    (first,), (second,) = _replaced(tree, links[:2]), _replaced_by_end(tree, links[2:])
    return ((*first, *second),)


def _leaves(tree: Tree) -> Iterator[tuple[Link, Link]]:
    """The link of each leaf; the second time from the leaf's end."""
    names: Names = tuple(broker for link in tree for broker in link)
    for a, b in tree:
        for leaf, neighbour in ((a, b), (b, a)):
            if names.count(leaf) == 1:
                yield (a, b), (leaf, neighbour)


def _broken(tree: Tree, links: tuple[Link, ...]) -> Threads:
    removed, added = links
    return ((Cut(removed), Lay(added)),)


def _planned(order: EventOrder, routes: Routes) -> Callable[[Tree, tuple[Link, ...]], Threads]:
    def threads(tree: Tree, links: tuple[Link, ...]) -> Threads:
        """A pair of links for each exchange."""
        numbered = enumerate(zip(links[::2], links[1::2], strict=True), start=1)
        return tuple((planned(tree, number, *exchange, order, routes),) for number, exchange in numbered)

    return threads


def _cycle(tree: Tree, change: tuple[Link, Link]) -> list[str]:
    return path(adjacency_of(tree, "proof"), *change[1])


def _overlaps(tree: Tree) -> Iterator[tuple[Link, ...]]:
    for one, other in combinations(exchanges(tree), 2):
        others = _cycle(tree, other)
        if any(broker in others for broker in _cycle(tree, one)):
            yield (*one, *other)


def _interruptions(tree: Tree) -> Iterator[tuple[Link, ...]]:
    """The exchange, and which link of its cycle breaks."""
    for change in exchanges(tree):
        for link in (*pairwise(_cycle(tree, change)), change[1]):
            yield (*change, pair(*link))


def _interrupted(order: EventOrder, routes: Routes) -> Callable[[Tree, tuple[Link, ...]], Threads]:
    def threads(tree: Tree, links: tuple[Link, ...]) -> Threads:
        removed, added, broken = links
        ordered: tuple[Operation, ...] = (planned(tree, 1, removed, added, order, routes),)
        return (ordered, (Cut(broken), Mend()))

    return threads


def planned(tree: Tree, number: int, removed: Link, added: Link, order: EventOrder, routes: Routes) -> Operation:
    step = exchange_on(path(adjacency_of(tree, "proof"), *added), removed)
    (r1, r2), (a1, a2) = step.removed, step.added
    return Order(r1, ExchangeOrdered(f"{r1}-{r2}>{a1}-{a2}#{number}", step.cycle, step.near, order, routes))

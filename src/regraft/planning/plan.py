"""From one tree to another: leaf additions, link exchanges and leaf removals (debs06 §2.1, §2.4).

**What a plan promises.** After every step the links are a tree. The last one is the wanted tree. Steps of one group may
happen at the same time: they are of one kind, and the cycles of exchanges in it share no broker. The number of
exchanges is the least that any sequence of such steps can have: the links that are wanted and not there, less one for
each broker that comes.

**How.** Brokers that come are added first, each by a wanted link to one that is there already; seen backwards, brokers
that go are removed last, each by a link that was there from the beginning. Neither costs an exchange. Between the two
lie two trees over the same brokers. A wanted link and the way between its ends form a cycle; as the wanted tree has no
cycle, some link on that way is not wanted, and is exchanged for it. So each exchange adds a wanted link, removes an
unwanted one and leaves a tree.

**Which exchange first, and which link it removes,** decides how long the cycles are, and with that what each exchange
costs. A group takes the shortest cycles that share no broker; of its cycle, an exchange removes the unwanted link
nearest to the middle of the way, which is what keeps the ways of the links to come short. Both are rules of thumb: the
best order is not known.

Each group depends on nothing but the tree before it and the wanted one. So a plan that something has interrupted goes
on by being made anew, and if nothing has, the new plan is the rest of the old one.

Where the two trees have no broker in common, the first wanted broker is hung on the first one that is there, and that
link goes with the last broker removed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from regraft.errors import UsageError
from regraft.model.trees import Adjacency, Link, adjacency_of, parents


@dataclass(frozen=True, slots=True)
class LeafAddition:
    leaf: str
    at: str


@dataclass(frozen=True, slots=True)
class LinkExchange:
    """`removed` is R1-R2, `added` A1-A2, A1 on the side of R1; `cycle` is R1 … A1, A2 … R2, the first `near` of them on
    R1's side."""

    removed: Link
    added: Link
    cycle: tuple[str, ...]
    near: int


@dataclass(frozen=True, slots=True)
class LeafRemoval:
    leaf: str
    at: str


Step = LeafAddition | LinkExchange | LeafRemoval
Group = tuple[Step, ...]


def plan(current: Sequence[Link], wanted: Sequence[Link]) -> tuple[Group, ...]:
    """The groups of steps that lead from the one tree to the other, in order."""
    before, after = adjacency_of(current, "the current tree"), adjacency_of(wanted, "the wanted tree")
    common = [broker for broker in before if broker in after]
    if common:
        coming, going = _leaves(after, common), _leaves(before, common)
    else:
        last, first = min(before), min(after)  # whatever order the links are written in
        coming = [[(first, last)], *_leaves(after, [first])]
        going = [[(last, first)], *_leaves(before, [last])]
    going.reverse()
    additions = [tuple(LeafAddition(leaf, at) for leaf, at in layer) for layer in coming]
    removals = [tuple(LeafRemoval(leaf, at) for leaf, at in layer) for layer in going]
    start = [*current, *(link for layer in coming for link in layer)]
    end = [*wanted, *(link for layer in going for link in layer)]
    return (*additions, *_exchanges(adjacency_of(start, "between"), end), *removals)


def carry_out(adjacency: Adjacency, step: Step) -> None:
    """Changes the tree as the step says; refuses a step that does not fit it."""
    match step:
        case LeafAddition(leaf, at):
            _demand(leaf not in adjacency, step, f"there is a broker {leaf} already")
            _demand(at in adjacency, step, f"there is no broker {at}")
            adjacency[leaf] = {at: 0}
            adjacency[at][leaf] = 0
        case LinkExchange((r1, r2), (a1, a2), cycle):
            missing = [(a, b) for a, b in pairwise((*cycle, cycle[0])) if b not in adjacency.get(a, {})]
            _demand(missing == [(a1, a2)] and (cycle[0], cycle[-1]) == (r1, r2), step, "the tree is another")
            del adjacency[r1][r2], adjacency[r2][r1]
            adjacency[a1][a2] = adjacency[a2][a1] = 0
        case LeafRemoval(leaf, at):
            _demand(list(adjacency.get(leaf, ())) == [at], step, f"{leaf} is no leaf of {at}")
            del adjacency[leaf], adjacency[at][leaf]


def _demand(holds: bool, step: Step, reason: str) -> None:
    if not holds:
        raise UsageError(f"{describe(step)}: {reason}")


def describe(step: Step) -> str:
    match step:
        case LeafAddition(leaf, at):
            return f"add {leaf} at {at}"
        case LinkExchange((r1, r2), (a1, a2)):
            return f"exchange {r1}-{r2} for {a1}-{a2}"
        case LeafRemoval(leaf, at):
            return f"remove {leaf} from {at}"


def exchange_on(way: Sequence[str], removed: Link) -> LinkExchange:
    """The exchange of a link of this way for one between the ends of the way."""
    hops = list(pairwise(way))
    near = hops.index(removed if removed in hops else removed[::-1]) + 1
    cycle = (*reversed(way[:near]), *reversed(way[near:]))
    return LinkExchange((cycle[0], cycle[-1]), (way[0], way[-1]), cycle, near)


def _leaves(adjacency: Adjacency, roots: Sequence[str]) -> list[list[Link]]:
    """The brokers that are no roots, in layers, each with a link to the layer before or to a root."""
    layers: list[list[Link]] = []
    seen = dict.fromkeys(roots)
    layer = list(roots)
    while layer:
        found = dict.fromkeys(leaf for broker in layer for leaf in adjacency[broker] if leaf not in seen)
        links = [(leaf, min(broker for broker in adjacency[leaf] if broker in seen)) for leaf in found]
        if links:
            layers.append(links)
        seen.update(found)
        layer = list(found)
    return layers


def _exchanges(adjacency: Adjacency, end: Sequence[Link]) -> list[Group]:
    """Between two trees over the same brokers."""
    ways = _Ways(adjacency, end)
    groups: list[Group] = []
    while ways.of:
        busy: dict[str, None] = {}
        group = []
        for link, way in sorted(ways.of.items(), key=lambda item: len(item[1])):
            if way[0] not in busy and busy.keys().isdisjoint(way):
                busy.update(dict.fromkeys(way))
                group.append(link)
        groups.append(tuple(ways.exchange(link) for link in group))
    return groups


class _Ways:
    """The way between the ends of each link that is wanted and not there, in the tree as it is.

    An exchange changes the ways that cross the removed link, and these only where they run along its cycle.
    """

    def __init__(self, adjacency: Adjacency, end: Sequence[Link]) -> None:
        self._wanted = {pair: None for a, b in end for pair in ((a, b), (b, a))}
        above = parents(adjacency, end[0][0])
        to_root: dict[str, list[str]] = {}
        for broker, parent in above.items():  # a parent comes before its children
            to_root[broker] = [broker, *to_root.get(parent, [])]
        self.of: dict[Link, list[str]] = {}
        self._crossing: dict[Link, dict[Link, None]] = {}
        for a, b in end:
            if b not in adjacency[a]:
                self.of[a, b] = _join(to_root[a], to_root[b])
                self._cross((a, b), self.of[a, b])

    def _cross(self, link: Link, way: Sequence[str]) -> None:
        for a, b in pairwise(way):
            self._crossing.setdefault((a, b) if a < b else (b, a), {})[link] = None

    def _cross_no_more(self, link: Link, way: Sequence[str]) -> None:
        for a, b in pairwise(way):
            del self._crossing[(a, b) if a < b else (b, a)][link]

    def exchange(self, link: Link) -> LinkExchange:
        """Exchanges the unwanted link nearest to the middle of that link's way for it."""
        way = self.of.pop(link)
        self._cross_no_more(link, way)
        hops = list(pairwise(way))
        unwanted = [place for place, hop in enumerate(hops) if hop not in self._wanted]
        a, b = hops[min(unwanted, key=lambda place: abs(2 * place - len(hops) + 1))]
        place_of = {broker: place for place, broker in enumerate(way)}
        for other in list(self._crossing.get((a, b) if a < b else (b, a), ())):
            self._lead_round(other, way, place_of, (a, b))
        return exchange_on(way, (a, b))

    def _lead_round(self, link: Link, cycle: list[str], place_of: dict[str, int], removed: Link) -> None:
        """A way that crosses the removed link takes the cycle the other way round."""
        way = self.of[link]
        at = way.index(removed[0])
        first = at if way[at + 1 : at + 2] == [removed[1]] else at - 1
        last = first + 1
        while first > 0 and way[first - 1] in place_of:
            first -= 1
        while last < len(way) - 1 and way[last + 1] in place_of:
            last += 1
        here, there = place_of[way[first]], place_of[way[last]]
        round_it = cycle[here::-1] + cycle[: there - 1 : -1] if here < there else cycle[here:] + cycle[: there + 1]
        self._cross_no_more(link, way[first : last + 1])
        self._cross(link, round_it)
        self.of[link] = way[:first] + round_it + way[last + 1 :]


def _join(up: list[str], other_up: list[str]) -> list[str]:
    """The way between two brokers, from the ways of both to the root."""
    common = 0
    while common < min(len(up), len(other_up)) and up[-1 - common] == other_up[-1 - common]:
        common += 1
    return up[: len(up) - common + 1] + other_up[: len(other_up) - common][::-1]

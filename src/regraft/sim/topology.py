"""Trees to run on: grown, balanced, over a transit-stub network, or as written.

A tree is its brokers' names in order and its links with their latencies, and says how far any two of its brokers are
apart, for the links that come later.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations
from random import Random

from regraft.model.trees import Link, check_tree, split_link
from regraft.sim.scenario import LinkQuality, TreeShape

MICROSECOND_NS = 1_000
MILLISECOND_NS = 1_000_000


Latency = Callable[[str, str], int]


@dataclass(frozen=True, slots=True)
class Tree:
    brokers: tuple[str, ...]
    links: tuple[tuple[str, str, int], ...]  # one end, the other, latency in ns
    latency_ns: Latency  # of a link between any two brokers, those that join later included


def make_tree(shape: TreeShape, link: LinkQuality, dice: Random) -> Tree:
    latency_ns = round(link.latency_us * MICROSECOND_NS)
    apart: Latency = lambda _a, _b: latency_ns  # noqa: E731
    if shape.shape == "explicit":
        brokers, pairs = _explicit(shape.links)
        return Tree(brokers, tuple((a, b, latency_ns) for a, b in pairs), apart)
    digits = len(str(shape.brokers - 1))
    brokers = tuple(f"b{number:0{digits}}" for number in range(shape.brokers))
    match shape.shape:
        case "attachment":
            numbers = _attachment(shape.brokers, shape.degree_max, dice)
        case "balanced":
            numbers = _balanced(shape.brokers, shape.degree_max)
        case _:
            apart = _transit_stub(shape, brokers, latency_ns, dice)
            numbers = _attachment(shape.brokers, shape.degree_max, dice)
    pairs = [(brokers[a], brokers[b]) for a, b in numbers]
    return Tree(brokers, tuple((a, b, apart(a, b)) for a, b in pairs), apart)


def _attachment(count: int, degree_max: int, dice: Random) -> list[tuple[int, int]]:
    """Each new broker attaches to a uniformly drawn broker of free degree."""
    links = []
    degree = [0] * count
    free = [0]
    for new in range(1, count):
        place = dice.randrange(len(free))
        old = free[place]
        links.append((old, new))
        degree[old] += 1
        degree[new] = 1
        if degree[old] == degree_max:
            free[place] = free[-1]
            free.pop()
        if degree_max > 1:
            free.append(new)
    return links


def _balanced(count: int, degree_max: int) -> list[tuple[int, int]]:
    """The root has `degree_max` children, every other inner broker one fewer."""
    return [(0 if new <= degree_max else (new - 2) // (degree_max - 1), new) for new in range(1, count)]


def _explicit(texts: tuple[str, ...]) -> tuple[tuple[str, ...], list[Link]]:
    links = [split_link(text, "tree.links") for text in texts]
    brokers = tuple(dict.fromkeys(name for link in links for name in link))
    check_tree(brokers, links, "tree.links")
    return brokers, links


def _transit_stub(shape: TreeShape, brokers: tuple[str, ...], elsewhere_ns: int, dice: Random) -> Latency:
    """A two-level network in the manner of BRITE, and the brokers on random routers of it: how far apart any two are.

    Domains of equal size stand at random places of a unit square; their gateways form the transit network. The routers
    of a domain stand at random places around its gateway. At both levels, nodes come one by one and link to two of
    those before them, nearer ones more likely (Waxman: falling with the distance, to 1/e within a fifth of the
    longest). A link's delay is its length, a message takes the shortest way: inside a domain directly, else to the
    gateway, through the transit network, and from the other gateway on. Delays are scaled so that the two brokers that
    are farthest apart are `latency_ms_max` apart, which bounds every overlay link, also one that comes later.
    A broker that is on no router is `elsewhere_ns` from the others.
    """
    size = math.ceil(shape.nodes / shape.domains)
    gateways = [(dice.random(), dice.random()) for _ in range(shape.domains)]
    transit = _waxman(gateways, dice)
    radius = 0.5 / math.sqrt(shape.domains)
    domains = []
    for x, y in gateways:
        places = [(x, y)]
        places += [(x + dice.uniform(-radius, radius), y + dice.uniform(-radius, radius)) for _ in range(size - 1)]
        domains.append(_waxman(places, dice))
    routers = dict(zip(brokers, dice.sample(range(shape.domains * size), len(brokers)), strict=True))

    @cache
    def within(router: int) -> list[float]:
        return _distances(domains[router // size], router % size)

    @cache
    def between(domain: int) -> list[float]:
        return _distances(transit, domain)

    def to_gateway(router: int) -> float:
        return within(router - router % size)[router % size]

    def length(a: int, b: int) -> float:
        if a // size == b // size:
            return within(a)[b % size]
        return to_gateway(a) + between(a // size)[b // size] + to_gateway(b)

    of_domain: dict[int, list[int]] = {}
    for router in routers.values():
        of_domain.setdefault(router // size, []).append(router)
    outermost = [max(together, key=to_gateway) for together in of_domain.values()]
    pairs = chain(combinations(outermost, 2), *(combinations(together, 2) for together in of_domain.values()))
    longest = max((length(a, b) for a, b in pairs), default=1.0)
    unit_ns = shape.latency_ms_max * MILLISECOND_NS / longest

    def apart(a: str, b: str) -> int:
        return round(length(routers[a], routers[b]) * unit_ns) if a in routers and b in routers else elsewhere_ns

    return apart


Graph = list[list[tuple[int, float]]]


def _waxman(places: list[tuple[float, float]], dice: Random) -> Graph:
    graph: Graph = [[] for _ in places]
    for new in range(1, len(places)):
        lengths = [math.dist(places[new], places[old]) for old in range(new)]
        scale = 0.2 * max(lengths) or 1.0
        weights = [math.exp(-length / scale) for length in lengths]
        for old in sorted(set(dice.choices(range(new), weights, k=2))):
            graph[new].append((old, lengths[old]))
            graph[old].append((new, lengths[old]))
    return graph


def _distances(graph: Graph, start: int) -> list[float]:
    distances = [math.inf] * len(graph)
    distances[start] = 0.0
    queue = [(0.0, start)]
    while queue:
        distance, node = heapq.heappop(queue)
        if distance > distances[node]:
            continue
        for other, length in graph[node]:
            if distance + length < distances[other]:
                distances[other] = distance + length
                heapq.heappush(queue, (distance + length, other))
    return distances

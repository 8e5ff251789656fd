"""Trees to run on: grown, balanced, over a transit-stub network, or as written.

A tree is its brokers' names in order and its links with their latencies.
"""

import heapq
import math
from dataclasses import dataclass
from random import Random

from regraft.model.trees import check_tree, split_link
from regraft.sim.scenario import LinkQuality, TreeShape

MICROSECOND_NS = 1_000
MILLISECOND_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Tree:
    brokers: tuple[str, ...]
    links: tuple[tuple[str, str, int], ...]  # one end, the other, latency in ns


def make_tree(shape: TreeShape, link: LinkQuality, dice: Random) -> Tree:
    latency_ns = round(link.latency_us * MICROSECOND_NS)
    if shape.shape == "explicit":
        return _explicit(shape.links, latency_ns)
    digits = len(str(shape.brokers - 1))
    brokers = tuple(f"b{number:0{digits}}" for number in range(shape.brokers))
    match shape.shape:
        case "attachment":
            pairs = [
                (brokers[a], brokers[b], latency_ns) for a, b in _attachment(shape.brokers, shape.degree_max, dice)
            ]
        case "balanced":
            pairs = [(brokers[a], brokers[b], latency_ns) for a, b in _balanced(shape.brokers, shape.degree_max)]
        case _:
            pairs = _transit_stub(shape, brokers, dice)
    return Tree(brokers, tuple(pairs))


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


def _explicit(texts: tuple[str, ...], latency_ns: int) -> Tree:
    links = [split_link(text, "tree.links") for text in texts]
    brokers = tuple(dict.fromkeys(name for link in links for name in link))
    check_tree(brokers, links, "tree.links")
    return Tree(brokers, tuple((a, b, latency_ns) for a, b in links))


def _transit_stub(shape: TreeShape, brokers: tuple[str, ...], dice: Random) -> list[tuple[str, str, int]]:
    """A two-level network in the manner of BRITE, and a random overlay tree on random routers of it.

    Domains stand at random places of a unit square; their gateways form the transit network. The routers of a domain
    stand at random places around its gateway. At both levels, nodes come one by one and link to two of those before
    them, nearer ones more likely (Waxman). A link's delay is its length. As a domain has one gateway, the shortest
    path between two routers is the sum of two paths to gateways and one between these. Delays are scaled so that the
    longest overlay link has `latency_ms_max`.
    """
    size = math.ceil(shape.nodes / shape.domains)
    gateways = [(dice.random(), dice.random()) for _ in range(shape.domains)]
    transit = _waxman(gateways, dice)
    domain_radius = 0.5 / math.sqrt(shape.domains)
    domains = []
    for x, y in gateways:
        places = [(x, y)]
        places += [
            (x + dice.uniform(-domain_radius, domain_radius), y + dice.uniform(-domain_radius, domain_radius))
            for _ in range(size - 1)
        ]
        domains.append(_distances(_waxman(places, dice), 0))
    between = [_distances(transit, domain) for domain in range(shape.domains)]
    routers = dice.sample(range(shape.domains * size), len(brokers))

    def distance(a: int, b: int) -> float:
        (domain_a, node_a), (domain_b, node_b) = divmod(a, size), divmod(b, size)
        return domains[domain_a][node_a] + between[domain_a][domain_b] + domains[domain_b][node_b]

    tree = _attachment(len(brokers), shape.degree_max, dice)
    lengths = [distance(routers[a], routers[b]) for a, b in tree]
    unit_ns = shape.latency_ms_max * MILLISECOND_NS / max(lengths, default=1.0)
    return [(brokers[a], brokers[b], round(length * unit_ns)) for (a, b), length in zip(tree, lengths, strict=True)]


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

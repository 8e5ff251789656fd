"""Trees of brokers: what is a tree, what connects two brokers, which filters lie beyond each link, where the root is.

A tree, or a forest, is an adjacency: for each broker its neighbours, with something about each link (a latency, say).
"""

from collections.abc import Iterable, Mapping, Sequence

from regraft.errors import ScenarioError

Link = tuple[str, str]
Adjacency = dict[str, dict[str, int]]


def split_link(text: str, place: str) -> Link:
    """The two ends of a link written `a-b`."""
    one, dash, other = text.partition("-")
    if not dash or not one or not other or "-" in other or one == other:
        raise ScenarioError(place, f"{text!r} is no link; write it a-b, with two different names without a dash")
    return one, other


def in_order(a: str, b: str) -> Link:
    """The same for both ways to write a link."""
    return (a, b) if a < b else (b, a)


def check_tree(brokers: Iterable[str], links: Iterable[Link], place: str) -> None:
    """Refuses what is no tree, and names the link that closes a loop or the broker that is cut off."""
    part = {broker: broker for broker in brokers}

    def find(broker: str) -> str:
        while part[broker] != broker:
            part[broker] = part[part[broker]]
            broker = part[broker]
        return broker

    for a, b in links:
        if find(a) == find(b):
            raise ScenarioError(place, f"link {a}-{b} closes a loop, so this is no tree")
        part[find(a)] = find(b)
    first = next(iter(part))
    for broker in part:
        if find(broker) != find(first):
            raise ScenarioError(place, f"{broker} is not connected with {first}, so this is no tree")


def adjacency_of(links: Iterable[Link], place: str) -> Adjacency:
    """The tree of these links, all alike; refuses what is no tree."""
    links = list(links)
    if not links:
        raise ScenarioError(place, "there are no links, so this is no tree")
    adjacency: Adjacency = {broker: {} for link in links for broker in link}
    check_tree(adjacency, links, place)
    for a, b in links:
        adjacency[a][b] = adjacency[b][a] = 0
    return adjacency


def component(adjacency: Adjacency, start: str) -> dict[str, None]:
    """The brokers that are connected with this one, itself first."""
    found = {start: None}
    queue = [start]
    for broker in queue:
        for neighbour in adjacency[broker]:
            if neighbour not in found:
                found[neighbour] = None
                queue.append(neighbour)
    return found


def connected(adjacency: Adjacency, a: str, b: str) -> bool:
    """Looks from both ends in turn, so that it takes as long as the smaller of two parts is large."""
    found = ({a: None}, {b: None})
    queues = ([a], [b])
    place = 0
    while place < len(queues[0]) and place < len(queues[1]):
        for here, there, queue in zip(found, found[::-1], queues, strict=True):
            if queue[place] in there:
                return True
            for neighbour in adjacency[queue[place]]:
                if neighbour not in here:
                    here[neighbour] = None
                    queue.append(neighbour)
        place += 1
    return b in found[0] or a in found[1]


def behind(adjacency: Adjacency, cycle: Sequence[str], local: Mapping[str, int]) -> list[int]:
    """For each broker of a cycle, or of a way, the filters of the brokers that are connected with the rest by it."""
    seen = dict.fromkeys(cycle)
    filters = []
    for start in cycle:
        union = 0
        queue = [start]
        for broker in queue:
            union |= local[broker]
            for neighbour in adjacency[broker]:
                if neighbour not in seen:
                    seen[neighbour] = None
                    queue.append(neighbour)
        filters.append(union)
    return filters


def path(adjacency: Adjacency, start: str, end: str) -> list[str]:
    """The brokers from the one to the other, both included; empty where nothing connects them."""
    before = {start: ""}
    queue = [start]
    for broker in queue:
        for neighbour in adjacency[broker]:
            if neighbour not in before:
                before[neighbour] = broker
                queue.append(neighbour)
    if end not in before:
        return []
    found = [end]
    while found[-1] != start:
        found.append(before[found[-1]])
    return found[::-1]


def beyond_each_wire(adjacency: Adjacency, local: dict[str, int]) -> dict[tuple[str, str], int]:
    """For each link and direction, the filters of all the brokers that it leads to. The graph is a forest.

    One sweep from the leaves up gives what lies below each broker, one from the roots down what lies above.
    """
    beyond: dict[tuple[str, str], int] = {}
    above: dict[str, str] = {}
    for start in adjacency:
        if start in above:
            continue
        above[start] = ""
        order = [start]
        for broker in order:
            for neighbour in adjacency[broker]:
                if neighbour != above[broker]:
                    above[neighbour] = broker
                    order.append(neighbour)
        below = {broker: local[broker] for broker in order}
        for broker in reversed(order):
            if above[broker]:
                below[above[broker]] |= below[broker]
        for broker in order:
            parent = above[broker]
            once = local[broker]
            twice = 0
            from_above = beyond[broker, parent] if parent else 0
            if parent:
                twice |= once & from_above
                once |= from_above
            children = [neighbour for neighbour in adjacency[broker] if neighbour != parent]
            for child in children:
                twice |= once & below[child]
                once |= below[child]
            for child in children:
                beyond[broker, child] = below[child]
                beyond[child, broker] = (once & ~below[child]) | twice
    return beyond


def parents(adjacency: Adjacency, root: str) -> dict[str, str]:
    """Each broker's neighbour towards the root; empty for the root, and for the first of each part cut off from it."""
    above: dict[str, str] = {}
    for start in (root, *adjacency):
        if start in above:
            continue
        above[start] = ""
        order = [start]
        for broker in order:
            for neighbour in adjacency[broker]:
                if neighbour != above[broker]:
                    above[neighbour] = broker
                    order.append(neighbour)
    return above

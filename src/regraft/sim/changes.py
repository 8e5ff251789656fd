"""Random reconfigurations: which link breaks, which one replaces it; which leaf comes, which one goes.

Between a break and its replacement the tree is a forest; contracted to its parts, with the breaks that wait for a
replacement as links, it is still a tree. So a replacement that joins the two parts on either side of its own break
never closes a loop, however many wait.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random

from regraft.model.trees import Link, path
from regraft.sim.scenario import Changes, Scenario, nanoseconds
from regraft.sim.topology import Latency
from regraft.sim.world import World

DRAWS_MAX = 10  # of a replacement, until it is another link


class RandomChanges:
    """Draws from the tree as it is and from the dice, never from what a protocol does. `arrived` is told of each new
    broker, so that it gets a client."""

    def __init__(
        self,
        world: World,
        scenario: Scenario,
        changes: Changes,
        dice: Random,
        latency_ns: Latency,
        arrived: Callable[[str], None],
    ) -> None:
        self._world = world
        self._changes = changes
        self._dice = dice
        self._latency_ns = latency_ns
        self._loss = scenario.link.loss
        self._degree_max = scenario.tree.degree_max
        self._arrived = arrived
        self._new = 0
        self._orphans: dict[str, list[str]] = {}  # of a broker that is down: the neighbours that it leaves behind
        self.count = 0

    def begin(self) -> None:
        changes = self._changes
        begin_ns, every_ns = nanoseconds(changes.from_s), nanoseconds(changes.every_s)
        until_ns = nanoseconds(changes.until_s)
        count = min(changes.count_max, (until_ns - begin_ns + every_ns - 1) // every_ns)
        kinds = {
            "break": self._break,
            "crash": self._crash,
            "exchange": self._exchange,
            "leaf": self._leaf,
            "planned": self._planned,
            "any": self._any,
        }
        happen = kinds[changes.kind]
        self._world.exchanges.cut.append(self._mend_later)
        for number in range(count):
            self._world.agenda.put(begin_ns + number * every_ns, happen)

    def _links(self) -> list[tuple[str, str]]:
        adjacency = self._world.adjacency
        return [(a, b) for a, neighbours in adjacency.items() for b in sorted(neighbours) if a < b]

    def _break(self) -> None:
        links = self._links()
        if not links:
            return
        self.count += 1
        a, b = self._draw_break(links)
        self._world.breaks.begin(a, b)
        part_of_a, part_of_b = len(self._world.oracle.component(a)), len(self._world.oracle.component(b))
        in_order = self._changes.endpoints == "move" or (part_of_a, a) < (part_of_b, b)
        orphan, other = (a, b) if in_order else (b, a)
        due_ns = self._world.now_ns + nanoseconds(self._changes.replace_after_s)
        self._world.agenda.put(due_ns, partial(self._replace, orphan, other))

    def _exchange(self) -> None:
        """Draws like a break, in the tree as it is, and knows the replacement beforehand."""
        world = self._world
        links = self._links()
        if len(links) < 2:
            return
        a, b = self._draw_break(links)
        latency_ns = world.adjacency[a].pop(b)
        del world.adjacency[b][a]
        part_of_a, part_of_b = world.oracle.component(a), world.oracle.component(b)
        in_order = self._changes.endpoints == "move" or (len(part_of_a), a) < (len(part_of_b), b)
        orphan, other = (a, b) if in_order else (b, a)
        added = self._other_ends(orphan, other)
        world.adjacency[a][b] = world.adjacency[b][a] = latency_ns
        leaving = world.leaves.leaving
        if {*added} != {a, b} and not any(broker in leaving for broker in (a, b, *added)):
            self.count += 1
            way = path(world.adjacency, *added)
            world.exchanges.begin((orphan, other), added, self._latency_ns(*added), self._loss)
            if self._changes.path_breaks_after_s:
                due_ns = world.now_ns + nanoseconds(self._changes.path_breaks_after_s)
                kept = [link for link in pairwise(way) if {*link} != {a, b}]
                world.agenda.put(due_ns, partial(self._break_one, kept))

    def _break_one(self, links: list[Link]) -> None:
        """Of these, if one is still there; what comes apart is joined by any two brokers of free degree."""
        links = [(a, b) for a, b in links if b in self._world.adjacency[a]]
        if links:
            self.count += 1
            self._world.breaks.begin(*self._dice.choice(links))
            self._mend_later()

    def _planned(self) -> None:
        if self._dice.random() < 0.5:
            self._exchange()
        else:
            self._leaf()

    def _leaf(self) -> None:
        """One joins, or one leaves that has joined for good and is of no exchange."""
        world = self._world
        if self._dice.random() < 0.5:
            up = [name for name, node in world.nodes.items() if node.alive and name not in world.leaves.leaving]
            free = [name for name in up if len(world.adjacency[name]) < self._degree_max]
            if not free:
                return  # a forest of parts that are full, but for leaves about to leave
            self._new += 1
            self.count += 1
            name = f"n{self._new}"
            neighbour = self._dice.choice(free)
            world.leaves.add(name, neighbour, self._latency_ns(name, neighbour), self._loss)
            self._arrived(name)
            return
        leaves = [name for name in world.nodes if len(world.adjacency[name]) == 1 and world.leaves.may_go(name)]
        if len(leaves) > 2:
            self.count += 1
            world.leaves.remove(self._dice.choice(leaves), clients_too=True)

    def _any(self) -> None:
        world = self._world
        up = [name for name, node in world.nodes.items() if node.alive]
        links = self._links()
        match self._dice.choice(("break", "crash", "exchange", "leaf")):
            case "exchange":
                self._exchange()
            case "leaf" if up:
                self._leaf()
            case "break" if links:
                self.count += 1
                world.breaks.begin(*self._dice.choice(links))
                self._mend_later()
            case "crash" if len(up) >= 3:
                self.count += 1
                broker = self._dice.choice(up)
                world.crash(broker)
                due_ns = world.now_ns + nanoseconds(self._changes.replace_after_s)
                world.agenda.put(due_ns, partial(world.restart, broker))
                self._mend_later()

    def _mend_later(self) -> None:
        """A broker has closed a link of the tree, as an exchange of its own was interrupted."""
        due_ns = self._world.now_ns + nanoseconds(self._changes.replace_after_s)
        self._world.agenda.put(due_ns, self._join_parts)

    def _join_parts(self) -> None:
        world = self._world
        leaving = world.leaves.leaving
        up = [name for name, node in world.nodes.items() if node.alive and name not in leaving]
        together = world.oracle.component(up[0])
        for name in up:
            if name not in together:
                self._join(self._draw(name), self._draw(up[0]))
                together = world.oracle.component(up[0])

    def _draw_break(self, links: list[tuple[str, str]]) -> tuple[str, str]:
        """The ends of the link that breaks; the first is the one that moves, where one does."""
        if self._changes.drawn_from == "brokers":
            adjacency = self._world.adjacency
            broker = self._dice.choice([name for name, neighbours in adjacency.items() if neighbours])
            return broker, self._dice.choice(sorted(adjacency[broker]))
        a, b = self._dice.choice(links)
        return (b, a) if self._changes.endpoints == "move" and self._dice.random() < 0.5 else (a, b)

    def _replace(self, orphan: str, other: str) -> None:
        if orphan not in self._world.nodes or other not in self._world.nodes:
            self._join_parts()  # one of the two was a leaf of its part, and has left
            return
        # The link that broke may be the one that comes, but not where it is to come near the old one.
        ends = self._other_ends if self._changes.endpoints == "near" else self._ends
        self._join(*ends(orphan, other))

    def _join(self, a: str, b: str) -> None:
        self._world.breaks.replace(a, b, self._latency_ns(a, b), self._loss)

    def _other_ends(self, orphan: str, other: str) -> Link:
        """Of a replacement; the same link again only where nothing else was drawn."""
        for _ in range(DRAWS_MAX):
            ends = self._ends(orphan, other)
            if {*ends} != {orphan, other}:
                break
        return ends

    def _ends(self, orphan: str, other: str) -> Link:
        """Of the link that joins the two parts again."""
        if self._changes.endpoints == "near":
            return (self._draw_near(orphan), self._draw_near(other))
        has_room = len(self._world.adjacency[orphan]) < self._degree_max
        keep = self._changes.endpoints != "uniform" and has_room
        return (orphan if keep else self._draw(orphan), self._draw(other))

    def _draw(self, broker: str) -> str:
        """A broker of free degree in the part that this one belongs to. There is one: a tree has leaves."""
        adjacency = self._world.adjacency
        leaving = self._world.leaves.leaving
        part = sorted(self._world.oracle.component(broker))
        free = [member for member in part if len(adjacency[member]) < self._degree_max]
        return self._dice.choice([member for member in free if member not in leaving] or free)

    def _draw_near(self, broker: str) -> str:
        """Of free degree: the broker itself or a neighbour of it; if there is none, any of its part."""
        adjacency = self._world.adjacency
        leaving = self._world.leaves.leaving
        near = [broker, *sorted(adjacency[broker])]
        near = [name for name in near if name not in leaving and len(adjacency[name]) < self._degree_max]
        return self._dice.choice(near) if near else self._draw(broker)

    def _crash(self) -> None:
        up = [name for name, node in self._world.nodes.items() if node.alive]
        if len(up) < 3:
            return
        self.count += 1
        broker = self._dice.choice(up)
        self._orphans[broker] = list(self._world.adjacency[broker])
        self._world.crash(broker)
        due_ns = self._world.now_ns + nanoseconds(self._changes.replace_after_s)
        self._world.agenda.put(due_ns, partial(self._mend, broker))

    def _mend(self, broker: str) -> None:
        """Join the parts that the crash has left by brokers of free degree, and take the broker back as a leaf.

        An orphan that has crashed meanwhile is joined when its own turn comes.
        """
        world = self._world
        world.restart(broker)
        together = ""
        for orphan in self._orphans.pop(broker):
            if orphan not in world.nodes:
                continue
            if not world.nodes[orphan].alive:
                self._orphans[orphan].append(broker)
            elif not together:
                together = orphan
            elif orphan not in world.oracle.component(together):
                self._join(self._draw(orphan), self._draw(together))
        if together and broker not in world.oracle.component(together):
            neighbour = self._draw(together)
            world.link_up(broker, neighbour, self._latency_ns(broker, neighbour), self._loss)

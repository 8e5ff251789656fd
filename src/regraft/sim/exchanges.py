"""The operator's part of planned exchanges: orders them, opens and closes links for the brokers, keeps the account.

Under a coordinated protocol the brokers say when the new link is opened and when the old one is closed; until then the
tree is the one before. Under any other, a planned exchange is a link that goes and one that comes at the same instant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from regraft.broker.effects import CloseLink, ExchangeEnded, OpenLink, Released
from regraft.broker.inputs import ExchangeOrdered, LinkRefused
from regraft.broker.messages import Order, Routes, change_name
from regraft.errors import UsageError
from regraft.model.trees import Link, component, in_order, path
from regraft.planning import exchange_on
from regraft.sim.accounts import Entry
from regraft.sim.network import Node
from regraft.trace import schema as row

if TYPE_CHECKING:
    from regraft.sim.world import World

EndedListener = Callable[[str, str], None]  # exchange, outcome


@dataclass(frozen=True, slots=True)
class Exchange:
    """`added` is A1-A2, A1 on the side of R1, the first of `removed`."""

    name: str
    removed: Link
    added: Link
    cycle: tuple[str, ...]
    near: int
    latency_ns: int
    loss: float


class Exchanges:
    def __init__(self, world: "World", order: Order | None, routes: Routes) -> None:
        self._world = world
        self._order = order
        self._routes = routes
        self._serial = 0
        self.under_way: dict[str, Exchange] = {}
        self.opened: dict[Link, str] = {}  # links of no tree yet, their ends in order
        self.begun: list[Callable[[], None]] = []
        self.ended: list[EndedListener] = []
        self.cut: list[Callable[[], None]] = []  # a broker has closed a link of the tree, and nothing replaces it

    def begin(self, removed: Link, added: Link, latency_ns: int, loss: float = 0.0) -> str:
        """Exchange the one link for the other; returns the exchange's name."""
        world = self._world
        (r1, r2), (a1, a2) = removed, added
        for broker in (r1, r2, a1, a2):
            if not world.node(broker).alive:
                raise UsageError(f"{broker} is down")
            world.leaves.demand_to_stay(broker)
        if r2 not in world.adjacency[r1]:
            raise UsageError(f"{r1} and {r2} are not linked")
        if {r1, r2} == {a1, a2}:
            raise UsageError(f"{r1}-{r2} would be exchanged for itself")
        if a2 in world.adjacency[a1]:
            raise UsageError(f"{a1} and {a2} are linked already")
        around = path(world.adjacency, a1, a2)
        if removed not in pairwise(around) and removed[::-1] not in pairwise(around):
            raise UsageError(f"{a1}-{a2} would close a loop, as {r1}-{r2} is not on the way between them")
        step = exchange_on(around, removed)
        r1, r2 = step.removed
        self._serial += 1
        name = f"{r1}-{r2}>{a1}-{a2}#{self._serial}"
        exchange = Exchange(name, step.removed, step.added, step.cycle, step.near, latency_ns, loss)
        changes: tuple[str, ...] = (name,)
        if self._order is None:
            gone, come = world.incarnations[in_order(r1, r2)], world.incarnations.get(in_order(a1, a2), 0) + 1
            changes = (name, change_name(r1, r2, gone, comes=False), change_name(a1, a2, come, comes=True))
        world.chronicle.accounts.entries[name] = Entry(step.removed, changes, step.cycle)
        known: dict[str, object] = {
            "cycle": step.cycle,
            "near": step.near,
            "removed": removed,
            "added": added,
            "changes": changes,
        }
        chosen = world.breaks.chosen(planned=True, order=self._order)
        self._write(row.KIND_RECONFIGURATION_BEGIN, exchange, known | chosen)
        if self._order is not None:
            self.under_way[name] = exchange
            for listener in self.begun:
                listener()
            world.give(world.nodes[r1], ExchangeOrdered(name, step.cycle, step.near, self._order, self._routes))
        else:
            incarnation = world.incarnations[in_order(r1, r2)]
            world.link_down(r1, r2)
            world.breaks.announce(incarnation, step.cycle, step.near, latency_ns, loss, chosen)
            self._reached(exchange)
            self._close_account(exchange, "done")
        return name

    def _write(self, kind: str, exchange: Exchange, known: dict[str, object]) -> None:
        self._world.chronicle.reconfiguration(self._world.now_ns, kind, exchange.removed[0], exchange.name, known)

    def _reached(self, exchange: Exchange) -> None:
        """The tree is the one that was wanted."""
        entry = self._world.chronicle.accounts.entries[exchange.name]
        entry.floor = self._world.oracle.floor(exchange.cycle, exchange.near)

    def _close_account(self, exchange: Exchange, outcome: str) -> None:
        entry = self._world.chronicle.accounts.entries[exchange.name]
        entry.outcome = outcome
        if outcome != "done":
            entry.floor = None
        self._write(row.KIND_RECONFIGURATION_END, exchange, {"outcome": outcome, "floor": entry.floor})

    # --- what brokers ask for

    def carry_out(self, node: Node, effect: OpenLink | CloseLink | ExchangeEnded | Released) -> None:
        match effect:
            case OpenLink():
                self._open_link(node, effect)
            case CloseLink():
                self._close_link(node, effect)
            case ExchangeEnded():
                self._end(effect)
            case Released():
                self._world.chronicle.release(self._world.now_ns, node.name, effect)

    def _open_link(self, node: Node, effect: OpenLink) -> None:
        world = self._world
        other = world.nodes.get(effect.neighbour)
        exchange = self.under_way.get(effect.exchange)
        taken = in_order(node.name, effect.neighbour) in self.opened or effect.neighbour in world.adjacency[node.name]
        if exchange is None or taken or other is None or not other.alive:
            refused = partial(world.give, node, LinkRefused(effect.neighbour, effect.exchange))
            world.agenda.put(world.now_ns, refused)
            return
        self.opened[in_order(node.name, other.name)] = effect.exchange
        due = partial(self._connect, node, other, exchange)
        world.agenda.put(world.now_ns + exchange.latency_ns, due)

    def _connect(self, node: Node, other: Node, exchange: Exchange) -> None:
        """A broker may have crashed, or a link of the tree been laid there, since this one was asked for."""
        world = self._world
        pair = in_order(node.name, other.name)
        still_wanted = self.opened.get(pair) == exchange.name
        if not still_wanted or not node.alive or not other.alive:
            if still_wanted:
                del self.opened[pair]
            if node.alive:
                world.give(node, LinkRefused(other.name, exchange.name))
            return
        world.connect(node, other, exchange.latency_ns, exchange.loss, exchange=exchange.name)

    def _close_link(self, node: Node, effect: CloseLink) -> None:
        world = self._world
        exchange = self.under_way.get(effect.exchange)
        if exchange is not None:
            self._switch(exchange)
        elif in_order(node.name, effect.neighbour) in self.opened:
            self.forget_opened(node.name, effect.neighbour)
        elif effect.neighbour in world.adjacency[node.name]:
            if world.leaves.closed(node.name, effect.neighbour):
                return
            self._cut(node.name, effect.neighbour)

    def _cut(self, a: str, b: str) -> None:
        self._world.link_down(a, b)
        for listener in self.cut:
            listener()

    def _switch(self, exchange: Exchange) -> None:
        """It is done: the new link, which works already, is of the tree, and the old one ends.

        Not so where something has broken on the cycle and R2 could not know it yet: the new link may be gone, or what
        has repaired the tree has joined its ends. Then both links end, and the tree is repaired once more.
        """
        world = self._world
        (r1, r2), (a1, a2) = exchange.removed, exchange.added
        latency_ns = world.adjacency[r1].pop(r2)
        del world.adjacency[r2][r1]
        is_there = self.opened.get(in_order(a1, a2)) == exchange.name
        if not is_there or a2 in component(world.adjacency, a1):
            world.adjacency[r1][r2] = world.adjacency[r2][r1] = latency_ns
            self.forget_opened(a1, a2)
            self._cut(r1, r2)
            return
        del self.opened[in_order(a1, a2)]
        world.adjacency[a1][a2] = world.adjacency[a2][a1] = exchange.latency_ns
        world.oracle.stale = True
        world.chronicle.topology(world.now_ns, row.KIND_LINK_UP, a1, a2)
        world.chronicle.topology(world.now_ns, row.KIND_LINK_DOWN, r1, r2)
        self._reached(exchange)
        world.disconnect(world.nodes[r1], world.nodes[r2])

    def _end(self, effect: ExchangeEnded) -> None:
        exchange = self.under_way.pop(effect.exchange, None)
        if exchange is not None:
            self._close_account(exchange, effect.outcome)
            for listener in self.ended:
                listener(effect.exchange, effect.outcome)

    # --- links that come and go for other reasons

    def forget_opened(self, a: str, b: str) -> None:
        """That link, opened for an exchange, ends."""
        if self.opened.pop(in_order(a, b), None) is not None:
            self._world.disconnect(self._world.nodes[a], self._world.nodes[b])

    def broker_down(self, name: str) -> None:
        for pair in [pair for pair in self.opened if name in pair]:
            self.forget_opened(*pair)
        for exchange in [known for known in self.under_way.values() if known.cycle[0] == name]:
            self._end(ExchangeEnded(exchange.name, "aborted"))

    def adjacency_after(self) -> dict[str, dict[str, int]]:
        """The tree as it will be when what is under way is done."""
        after = {name: dict(neighbours) for name, neighbours in self._world.adjacency.items()}
        for exchange in self.under_way.values():
            (r1, r2), (a1, a2) = exchange.removed, exchange.added
            latency_ns = after[r1].pop(r2, None)
            if latency_ns is None:
                continue
            del after[r2][r1]
            if a2 in component(after, a1):  # it was ordered for a tree that another has changed
                after[r1][r2] = after[r2][r1] = latency_ns
            else:
                after[a1][a2] = after[a2][a1] = exchange.latency_ns
        return after

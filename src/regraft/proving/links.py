"""The links between the brokers and the operator, as one value: what is under way there, and what may happen next.

A direction of a link is one queue of inputs for the broker at its end: that the link is up, messages, that it is gone.
So each end learns of a change at a time of its own, a message never arrives before its link does or after it has gone,
and a later link is never told before the end of an earlier one. When a link ends, what was under way is lost.

An operator does what stands in its *threads*, each in order, at any time: cut a link, lay one, order an exchange, let a
leaf leave. What brokers ask of the world (`OpenLink`, `CloseLink`) is done as the simulator does it
(`sim/exchanges.py`); a link that is asked for comes up at any time later.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from regraft.broker.effects import CloseLink, ExchangeEnded, LeaveAnswered, OpenLink, SendDirect
from regraft.broker.inputs import (
    EndFound,
    ExchangeOrdered,
    Input,
    LeaveOrdered,
    LinkDown,
    LinkRefused,
    LinkUp,
    PathFound,
    ReceivedDirect,
)
from regraft.broker.messages import change_name
from regraft.model.trees import Adjacency, Link, component, path
from regraft.proving.places import Asked

Value = TypeVar("Value", bound=Any)


@dataclass(frozen=True, slots=True)
class Cut:
    """The link breaks, if it is still there."""

    link: Link

    def __str__(self) -> str:
        return f"down {'-'.join(self.link)}"


@dataclass(frozen=True, slots=True)
class Lay:
    """The link comes up; the ends of the one that it `replaces`, if any, are told: the way between them (`PathFound`)
    or the end of the new link on their side (`EndFound`)."""

    link: Link
    replaces: Link | None = None
    told: Literal["way", "end"] = "way"

    def __str__(self) -> str:
        return f"up {'-'.join(self.link)}"


@dataclass(frozen=True, slots=True)
class Mend:
    """Whenever the tree has come apart from now on, it is joined, by the first broker of each part."""

    def __str__(self) -> str:
        return "mend"


@dataclass(frozen=True, slots=True)
class Order:
    """The operator orders something of a broker."""

    broker: str
    given: ExchangeOrdered | LeaveOrdered

    def __str__(self) -> str:
        if isinstance(self.given, LeaveOrdered):
            return f"leave {self.broker}"
        cycle, near = self.given.cycle, self.given.near
        return f"exchange {cycle[0]}-{cycle[-1]} > {cycle[near - 1]}-{cycle[near]}"


Operation = Cut | Lay | Mend | Order


@dataclass(frozen=True, slots=True)
class Open:
    """A link that a broker asked for comes up."""

    broker: str
    neighbour: str
    exchange: str

    def __str__(self) -> str:
        return f"opens {self.broker}-{self.neighbour}"


@dataclass(frozen=True, slots=True)
class Links:
    """`alive`: a link's incarnation; `counts`: how many there have been; `opened`: links of no tree yet; `positions`:
    how far the operator has come in each thread; `leaving`, `left`: leaves."""

    alive: tuple[tuple[Link, int], ...] = ()
    counts: tuple[tuple[Link, int], ...] = ()
    tree: tuple[Link, ...] = ()
    opened: tuple[tuple[Link, str], ...] = ()
    opening: tuple[Open, ...] = ()
    under_way: tuple[str, ...] = ()
    ended: tuple[tuple[str, str], ...] = ()
    positions: tuple[int, ...] = ()
    leaving: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def adjacency(self, brokers: Sequence[str]) -> Adjacency:
        neighbours: Adjacency = {broker: {} for broker in brokers if broker not in self.left}
        for a, b in self.tree:
            neighbours[a][b] = neighbours[b][a] = 0
        return neighbours


def pair(a: str, b: str) -> Link:
    return (a, b) if a < b else (b, a)


@dataclass(frozen=True, slots=True)
class Put:
    """An input waits behind others on the way from one broker to another; from the operator: from a broker to itself.
    `ends`: the messages before it are lost."""

    source: str
    target: str
    given: Input
    ends: bool = False


class LinkLayer:
    """What happens to links, as functions from one value to the next and the inputs that follow from it."""

    def __init__(self, brokers: Sequence[str], threads: Sequence[Sequence[Operation]]) -> None:
        self.brokers = brokers
        self.threads = threads

    def begin(self) -> Links:
        return Links(positions=(0,) * len(self.threads))

    def operations(self, links: Links) -> list[tuple[int, Operation]]:
        """What the operator may do now, and in which thread."""
        return [
            (number, thread[position])
            for number, (thread, position) in enumerate(zip(self.threads, links.positions, strict=True))
            if position < len(thread) and (not isinstance(thread[position], Mend) or self._is_apart(links))
        ]

    def _is_apart(self, links: Links) -> bool:
        adjacency = links.adjacency(self.brokers)
        return len(component(adjacency, next(iter(adjacency)))) < len(adjacency)

    def operate(self, links: Links, thread: int) -> tuple[Links, list[Put]]:
        operation = self.threads[thread][links.positions[thread]]
        if isinstance(operation, Mend):
            return self._mend(links)
        positions = tuple(at + (number == thread) for number, at in enumerate(links.positions))
        links = replace(links, positions=positions)
        match operation:
            case Cut():
                return self.cut(links, operation.link)
            case Lay(link, None):
                return self.lay(links, *link)
            case Lay(link, replaces, told):
                assert replaces is not None
                return self._replace(links, link, replaces, told)
            case Order(broker, given):
                if isinstance(given, LeaveOrdered):
                    links = replace(links, leaving=(*links.leaving, broker))
                else:
                    links = replace(links, under_way=(*links.under_way, given.exchange))
                return links, [Put(broker, broker, given)]

    def _replace(self, links: Links, link: Link, lost: Link, told: str) -> tuple[Links, list[Put]]:
        """Each end is told behind the news of the loss. Of the way, the last of it first, and the first when the last
        has been (`world.py`)."""
        r1, r2 = lost
        incarnation = dict(links.counts)[pair(r1, r2)]
        adjacency = links.adjacency(self.brokers)
        ways = [(path(adjacency, r1, a1), path(adjacency, a2, r2)) for a1, a2 in (link, link[::-1])]
        head, tail = next(way for way in ways if all(way))
        links, puts = self.lay(links, *link, announced=change_name(r1, r2, incarnation, comes=False))
        if told == "end":
            ends = Put(r1, r2, EndFound(r1, incarnation, tail[0])), Put(r2, r1, EndFound(r2, incarnation, head[-1]))
            return links, [*puts, *ends]
        return links, [*puts, Put(r1, r2, PathFound(r1, incarnation, (*head, *tail), len(head)))]

    def lay(self, links: Links, a: str, b: str, announced: str = "") -> tuple[Links, list[Put]]:
        links, puts = self._forget_opened(links, a, b)
        links, more = self._connect(links, a, b, "", announced)
        return replace(links, tree=tuple(sorted((*links.tree, pair(a, b))))), puts + more

    def cut(self, links: Links, link: Link) -> tuple[Links, list[Put]]:
        if pair(*link) not in links.tree:
            return self._forget_opened(links, *link)
        return self._disconnect(replace(links, tree=_without(links.tree, pair(*link))), *link)

    def _mend(self, links: Links) -> tuple[Links, list[Put]]:
        puts: list[Put] = []
        for broker in self.brokers:
            adjacency = links.adjacency(self.brokers)
            if broker in adjacency and broker not in component(adjacency, self.brokers[0]):
                links, more = self.lay(links, self.brokers[0], broker)
                puts += more
        return links, puts

    def _connect(self, links: Links, a: str, b: str, exchange: str, announced: str = "") -> tuple[Links, list[Put]]:
        incarnation = dict(links.counts).get(pair(a, b), 0) + 1
        links = replace(
            links,
            alive=_with(links.alive, pair(a, b), incarnation),
            counts=_with(links.counts, pair(a, b), incarnation),
        )
        ends = ((a, b), (b, a))
        return links, [Put(source, target, LinkUp(source, incarnation, exchange, announced)) for source, target in ends]

    def _disconnect(self, links: Links, a: str, b: str) -> tuple[Links, list[Put]]:
        if pair(a, b) not in dict(links.alive):
            return links, []
        links = replace(links, alive=tuple(item for item in links.alive if item[0] != pair(a, b)))
        return links, [Put(source, target, LinkDown(source), ends=True) for source, target in ((a, b), (b, a))]

    # --- what brokers ask for

    def asked(self, links: Links, broker: str, asked: Asked) -> tuple[Links, list[Put]]:
        match asked:
            case OpenLink(neighbour, exchange):
                taken = pair(broker, neighbour) in dict(links.opened) or pair(broker, neighbour) in links.tree
                if taken or exchange not in links.under_way:
                    return links, [Put(broker, broker, LinkRefused(neighbour, exchange))]
                opened = _with(links.opened, pair(broker, neighbour), exchange)
                return replace(links, opened=opened, opening=(*links.opening, Open(broker, neighbour, exchange))), []
            case CloseLink(neighbour, _, exchange):
                return self._close(links, broker, neighbour, exchange)
            case ExchangeEnded(exchange, outcome):
                ended = tuple(sorted((*links.ended, (exchange, outcome))))
                return replace(links, under_way=_without(links.under_way, exchange), ended=ended), []
            case SendDirect(target, message):
                return links, [Put(target, target, ReceivedDirect(broker, message))]
            case LeaveAnswered(reason):
                if not reason and broker in links.leaving:
                    return self._left(links, broker)
                return replace(links, leaving=_without(links.leaving, broker)), []

    def open(self, links: Links, open: Open) -> tuple[Links, list[Put]]:
        links = replace(links, opening=_without(links.opening, open))
        if dict(links.opened).get(pair(open.broker, open.neighbour)) != open.exchange:
            return links, [Put(open.broker, open.broker, LinkRefused(open.neighbour, open.exchange))]
        return self._connect(links, open.broker, open.neighbour, open.exchange)

    def _close(self, links: Links, broker: str, neighbour: str, exchange: str) -> tuple[Links, list[Put]]:
        if exchange in links.under_way:
            added = [link for link, name in links.opened if name == exchange]  # none if the new link broke at the last
            opened = tuple(item for item in links.opened if item[1] != exchange)
            tree = tuple(sorted((*_without(links.tree, pair(broker, neighbour)), *added)))
            return self._disconnect(replace(links, opened=opened, tree=tree), broker, neighbour)
        if pair(broker, neighbour) in dict(links.opened):
            return self._forget_opened(links, broker, neighbour)
        for name in (broker, neighbour):
            if name in links.leaving:
                return self._left(links, name)
        return self.cut(links, (broker, neighbour))

    def _left(self, links: Links, broker: str) -> tuple[Links, list[Put]]:
        puts: list[Put] = []
        for link in links.tree:
            if broker in link:
                links, more = self.cut(links, link)
                puts += more
        return replace(links, leaving=_without(links.leaving, broker), left=(*links.left, broker)), puts

    def _forget_opened(self, links: Links, a: str, b: str) -> tuple[Links, list[Put]]:
        if pair(a, b) not in dict(links.opened):
            return links, []
        links = replace(links, opened=tuple(item for item in links.opened if item[0] != pair(a, b)))
        return self._disconnect(links, a, b)


def _with(items: tuple[tuple[Link, Value], ...], key: Link, value: Value) -> tuple[tuple[Link, Value], ...]:
    return (*sorted((*[item for item in items if item[0] != key], (key, value))),)


def _without(items: tuple[Value, ...], gone: Value) -> tuple[Value, ...]:
    return tuple(item for item in items if item != gone)

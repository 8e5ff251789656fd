"""Proves each protocol's promise on small trees, by every interleaving of everything that can happen.

A *proof* is of one protocol, one kind of change and one tree, and holds all its cases. What is done to the tree:

| kind | what the operator does | for which protocols |
|---|---|---|
| `break` | a link breaks without warning, and another replaces it at any time later | those that are not coordinated |
| `exchange` | an exchange is ordered | coordinated |
| `overlap` | two exchanges are ordered whose cycles share a broker | coordinated |
| `interrupted` | an exchange is ordered, and a link of the tree, or the new one, breaks at any time; then it is mended | \
coordinated |

A link that breaks is met by a coordinated protocol as by the one under it, which has proofs of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

from regraft.broker import BrokerConfig
from regraft.broker.messages import Order
from regraft.model.events import Event
from regraft.model.trees import Link
from regraft.proving.case import FILTER, Case
from regraft.proving.cases import (
    NAMES,
    Meanwhile,
    Sketch,
    acts_of,
    broken,
    earlier_events,
    exchanges,
    planned,
    sketches,
    trees,
)
from regraft.proving.links import Cut, Mend, Operation
from regraft.proving.places import Places
from regraft.proving.promises import broken_promise
from regraft.proving.search import Extent, Violation, search
from regraft.proving.world import ProofWorld, Queues, State
from regraft.sim.scenario import PROTOCOLS, Protocol

LOCK_ATTEMPTS_MAX = 2

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found about a protocol on one tree; `case` and `violation` where a promise is broken."""

    protocol: Protocol
    kind: str
    tree: tuple[Link, ...]
    cases: int
    states: int
    transitions: int
    case: Case | None = None
    violation: Violation | None = None


def kinds_of(protocol: Protocol) -> tuple[str, ...]:
    return ("break",) if PROTOCOLS[protocol][1] is None else ("exchange", "overlap", "interrupted")


def prove(protocol: Protocol, kind: str, brokers: int, progress: Progress = lambda done: None) -> Iterator[Proof]:
    """A proof for each tree of so many brokers; a protocol's ends with the first promise that is broken."""
    for tree in trees(brokers):
        yield _prove_on(tree, protocol, kind, progress)


def _prove_on(tree: tuple[Link, ...], protocol: Protocol, kind: str, progress: Progress) -> Proof:
    reconfiguration, order = PROTOCOLS[protocol]
    names = tuple(NAMES[: len(tree) + 1])
    config = BrokerConfig(reconfiguration=reconfiguration, lock_attempts_max=LOCK_ATTEMPTS_MAX)
    watched = earlier_events(order, names) if order is not None and kind != "interrupted" else None
    places, queues, events = Places(config, (FILTER,), watched), Queues(), dict[str, Event]()
    extent = Extent()
    chosen = sketches(tree, _changes(tree, kind), _meanwhile(order, kind))
    for number, sketch in enumerate(chosen, start=1):
        progress(f"{protocol}, {kind}: case {number} of {len(chosen)}, {extent.states:,} states")
        acts = acts_of(sketch, events, 1 if order in (None, "none") else 2)
        case = Case(names, tree, sketch.subscribers, _threads(tree, sketch, kind, order), acts)
        world = ProofWorld(case, places, queues)
        violation = search(world, _ending(world, done=kind == "exchange"), extent)
        if violation is not None:
            return Proof(protocol, kind, tree, number, extent.states, extent.transitions, case, violation)
    return Proof(protocol, kind, tree, len(chosen), extent.states, extent.transitions)


def _ending(world: ProofWorld, *, done: bool) -> Callable[[State], str]:
    return lambda state: broken_promise(world, state, done=done)


def _meanwhile(order: Order | None, kind: str) -> list[Meanwhile]:
    if kind == "overlap":
        return ["publish"]
    if order is None or kind == "interrupted":
        return ["subscribe", "unsubscribe"]
    return ["publish", "subscribe", "unsubscribe", *(["answer"] if order == "causal" else [])]  # type: ignore[list-item]


def _changes(tree: tuple[Link, ...], kind: str) -> list[tuple[Link, ...]]:
    found = list(exchanges(tree))
    match kind:
        case "break":
            return [(removed, added) for removed, added in found if added[0] < added[1]]
        case "exchange":
            return [*found]
        case "overlap":
            return [(*one, *other) for one, other in combinations(found, 2) if _share(one, other)]
        case "interrupted":
            return [(*change, link, link) for change in found for link in (*tree, change[1])]
    raise AssertionError(kind)


def _share(one: tuple[Link, Link], other: tuple[Link, Link]) -> bool:
    return True


def _threads(
    tree: tuple[Link, ...], sketch: Sketch, kind: str, order: Order | None
) -> tuple[tuple[Operation, ...], ...]:
    links = sketch.links
    if kind == "break":
        return (broken(*links),)
    assert order is not None
    first = (planned(tree, 1, links[0], links[1], order),)
    match kind:
        case "exchange":
            return (first,)
        case "overlap":
            return (first, (planned(tree, 2, links[2], links[3], order),))
        case "interrupted":
            return (first, (Cut(links[2]), Mend()))
    raise AssertionError(kind)

"""Proves each protocol's promise on small trees, by every interleaving of everything that can happen.

A *proof* is of one protocol, one kind of change and one tree, and holds all its cases: every change of that kind, every
set of brokers whose clients have subscribed, every place of a client that acts meanwhile.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from regraft.broker import BrokerConfig
from regraft.model.events import Event
from regraft.proving.case import FILTER, Case
from regraft.proving.cases import Sketch, acts_of, brokers_of, earlier_events, sketches, trees
from regraft.proving.kinds import CHANGES, Kind, KindName, Tree, kinds_of
from regraft.proving.places import Places
from regraft.proving.promises import broken_promise
from regraft.proving.search import Extent, Violation, search
from regraft.proving.world import ProofWorld, Queues, State
from regraft.sim.scenario import PROTOCOLS, Protocol

LOCK_ATTEMPTS_MAX = 2  # a lock that collides again is given up, so that there are finitely many states

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found about a protocol on one tree; `case` and `violation` where a promise is broken, which ends it."""

    protocol: Protocol
    change: KindName
    tree: Tree
    cases: int
    states: int
    transitions: int
    case: Case | None = None
    violation: Violation | None = None


def _silent(done: str) -> None:
    pass


def prove(
    protocol: Protocol, brokers: int, changes: Sequence[KindName] = CHANGES, progress: Progress = _silent
) -> Iterator[Proof]:
    """A proof for each of these kinds of change and each tree of so many brokers."""
    for name, kind in kinds_of(*PROTOCOLS[protocol]).items():
        if name in changes and brokers <= kind.brokers_max:
            for tree in trees(brokers):
                if list(kind.changes(tree)):
                    yield _prove_on(tree, protocol, name, kind, progress)


def _prove_on(tree: Tree, protocol: Protocol, name: KindName, kind: Kind, progress: Progress) -> Proof:
    brokers = brokers_of(tree)
    config = BrokerConfig(reconfiguration=PROTOCOLS[protocol][0], lock_attempts_max=LOCK_ATTEMPTS_MAX)
    watched = None if kind.order is None else earlier_events(kind.order, brokers)
    places, queues, events = Places(config, (FILTER,), watched), Queues(), dict[str, Event]()
    extent = Extent()
    drawn = [sketch for sketch in sketches(tree, list(kind.changes(tree)), kind.meanwhile) if kind.makes_sense(sketch)]
    for number, sketch in enumerate(drawn, start=1):
        progress(f"{protocol}, {name}, {len(brokers)} brokers: case {number} of {len(drawn)}, {extent.states:,} states")
        case = _case(tree, kind, sketch, events)
        world = ProofWorld(case, places, queues)
        violation = search(world, _ending(world, done=kind.done), extent)
        if violation is not None:
            return Proof(protocol, name, tree, number, extent.states, extent.transitions, case, violation)
    return Proof(protocol, name, tree, len(drawn), extent.states, extent.transitions)


def _case(tree: Tree, kind: Kind, sketch: Sketch, events: dict[str, Event]) -> Case:
    joining = kind.joining(sketch)
    return Case(
        brokers_of(tree),
        tuple(link for link in tree if joining not in link),
        sketch.subscribers,
        kind.threads(tree, sketch.links),
        acts_of(sketch, events, 1 if kind.order in (None, "none") else 2),
        joining,
    )


def _ending(world: ProofWorld, *, done: bool) -> Callable[[State], str]:
    return lambda state: broken_promise(world, state, done=done)

"""A run: a scenario and a seed in, trace rows and an outcome out. The same pair gives the same rows, everywhere."""

import json
from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from random import Random

import msgspec
import pyarrow as pa

from regraft.errors import ScenarioError, UsageError
from regraft.model.trees import split_link
from regraft.sim.accounts import Account
from regraft.sim.changes import RandomChanges
from regraft.sim.checkers import Causal, Checker, Connected, Delivered, InForce, InOrder, Quiet, Tables, wrong_entries
from regraft.sim.ledger import ThreeNumbers
from regraft.sim.moves import RandomMoves
from regraft.sim.network import NANOSECONDS_PER_BYTE_AT_1_MBIT
from regraft.sim.plans import PlanInHand
from regraft.sim.scenario import Scenario, Step, nanoseconds
from regraft.sim.topology import Latency, make_tree
from regraft.sim.workload import Clients, client_of
from regraft.sim.world import Recorder, World
from regraft.trace import COUNTED_INTERVAL_NS, TraceBuffer
from regraft.trace import schema as row

DRAIN_NS_MAX = 60 * 1_000_000_000  # what is still under way that long after the end never comes to rest
VIOLATIONS_MAX = 20

DICE = ("tree", "links", "subscriptions", "churn", "publications", "changes", "moves")


@dataclass(frozen=True, slots=True)
class Outcome:
    fingerprint: str
    violations: list[str]
    events: int
    deliveries: int
    event_hops: int
    misrouted: int
    control_hops: int
    dropped: int
    changes: int
    wrong_entries: int
    reconfigurations: list[Account]
    numbers: ThreeNumbers | None  # None where the trace is summed


@dataclass
class Run:
    """`batches` may be drawn once; `outcome` is there when it has been exhausted."""

    scenario: Scenario
    seed: int
    name: str
    level: str
    record: Recorder | None = None
    outcome: Outcome | None = field(default=None, init=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        trace = TraceBuffer(self.name)
        parameters = {"scenario": msgspec.to_builtins(self.scenario), "seed": self.seed, "level": self.level}
        text = json.dumps(parameters, ensure_ascii=False, separators=(",", ":"))
        trace.append((0, row.KIND_RUN, None, None, None, None, None, None, None, None, None, text))
        world, changes, plan = self._world(trace)
        checkers = [_checker(check, world) for check in self.scenario.checks if _applies(check, world)]
        end_ns = nanoseconds(self.scenario.duration_s)
        begin_ns = 0
        while begin_ns < end_ns or (len(world.agenda) and begin_ns < end_ns + DRAIN_NS_MAX):
            world.advance(begin_ns + COUNTED_INTERVAL_NS - 1)
            world.chronicle.end_interval(begin_ns)
            begin_ns += COUNTED_INTERVAL_NS
            if trace.full:
                yield trace.flush()
        violations = [violation for checker in checkers for violation in checker.violations(world)]
        violations += world.misbehaved + world.refused + (plan.violations() if plan is not None else [])
        for node in world.nodes.values():
            node.core.check()
        measured = {
            "violations": violations[:VIOLATIONS_MAX],
            "events": world.chronicle.published,
            "deliveries": world.chronicle.delivered,
            "event_hops": world.chronicle.event_hops,
            "misrouted": world.chronicle.misrouted_hops,
            "control_hops": world.chronicle.control_hops,
            "dropped": world.chronicle.dropped,
            "changes": changes.count if changes else len(self.scenario.step) + (plan.steps if plan else 0),
            "wrong_entries": wrong_entries(world),
        }
        numbers = world.ledger.numbers() if world.ledger is not None else None
        last, fingerprint = trace.finish(
            world.now_ns, {**measured, **({"numbers": asdict(numbers)} if numbers is not None else {})}
        )
        self.outcome = Outcome(
            fingerprint=fingerprint,
            numbers=numbers,
            reconfigurations=world.chronicle.accounts.settled(),
            **measured,  # type: ignore[arg-type]
        )
        yield last

    def _world(self, trace: TraceBuffer) -> tuple[World, RandomChanges | None, PlanInHand | None]:
        scenario = self.scenario
        dice = {purpose: Random(f"{self.seed}:{purpose}") for purpose in DICE}
        tree = make_tree(scenario.tree, scenario.link, dice["tree"])
        if scenario.tree.root and scenario.tree.root not in tree.brokers:
            raise ScenarioError("tree.root", f"there is no broker {scenario.tree.root}")
        low_ms, high_ms = scenario.link.detect_ms
        world = World(
            scenario.broker_config,
            trace,
            self.level,
            dice=dice["links"],
            ns_per_byte=NANOSECONDS_PER_BYTE_AT_1_MBIT / scenario.link.bandwidth_mbit,
            detect_ns=(round(low_ms * 1_000_000), round(high_ms * 1_000_000)),
            root=scenario.tree.root,
            exchange_order=scenario.exchange_order,
            exchange_routes=scenario.exchange_routes,
            knows=scenario.auto.knows,
            record=self.record,
        )
        for broker in tree.brokers:
            world.add_broker(broker)
        for a, b, latency_ns in tree.links:
            world.link_up(a, b, latency_ns, scenario.link.loss)
        clients = Clients(world, scenario, dice)
        clients.begin()
        new = [split_link(step.add_leaf, "step")[0] for step in scenario.step if step.add_leaf]
        for number, step in enumerate(scenario.step, start=1):
            place = f"step {number}"
            _check_names(step, {*world.nodes, *new}, place)
            due = partial(_take, step, place, world, tree.latency_ns, scenario.link.loss)
            world.agenda.put(nanoseconds(step.at_s), due)
        changes = None
        if scenario.changes is not None:
            changes = RandomChanges(
                world, scenario, scenario.changes, dice["changes"], tree.latency_ns, clients.arrived
            )
            changes.begin()
        if scenario.moves is not None:
            RandomMoves(world, scenario.moves, dice["moves"])
        plan = None
        if scenario.plan is not None:
            wanted = [split_link(link, "plan.wanted") for link in scenario.plan.wanted]
            plan = PlanInHand(
                world, wanted, tree.latency_ns, scenario.link.loss, clients.arrived, nanoseconds(scenario.duration_s)
            )
            world.agenda.put(nanoseconds(scenario.plan.at_s), plan.go_on)
        return world, changes, plan


def simulate(scenario: Scenario, seed: int, *, name: str, trace: str, record: Recorder | None = None) -> Run:
    """A run that has not begun; it happens while its batches are drawn."""
    if trace not in row.LEVELS:
        raise UsageError(f"a trace is one of {', '.join(row.LEVELS)}, not {trace}")
    return Run(scenario, seed, name, trace, record)


def _applies(check: str, world: World) -> bool:
    """A summed trace keeps no ledger, and what is not kept cannot be checked."""
    return world.ledger is not None or check not in ("delivered", "in_order", "causal")


def _checker(check: str, world: World) -> Checker:
    match check:
        case "tables":
            return Tables()
        case "connected":
            return Connected()
        case "quiet":
            return Quiet()
        case "in_force":
            return InForce(world)
        case "delivered":
            return Delivered()
        case "causal":
            return Causal(world)
        case _:
            return InOrder()


def _check_names(step: Step, known: Container[str], place: str) -> None:
    names = [step.crash, step.restart, step.remove_leaf, step.at, step.arrive]
    for link in (step.link_down, step.link_up, step.add_leaf, *step.exchange.split(">")):
        if link:
            names += split_link(link, place)
    if step.exchange and step.exchange.count(">") != 1:
        raise ScenarioError(place, f"an exchange is written a-b>c-d, not {step.exchange}")
    for name in names:
        if name and name not in known:
            raise ScenarioError(place, f"there is no broker {name}")


def _take(step: Step, place: str, world: World, latency_ns: Latency, loss: float) -> None:
    try:
        if step.link_down:
            world.breaks.begin(*split_link(step.link_down, place))
        elif step.link_up:
            a, b = split_link(step.link_up, place)
            world.breaks.replace(a, b, latency_ns(a, b), loss)
        elif step.exchange:
            removed, added = (split_link(link, place) for link in step.exchange.split(">"))
            world.exchanges.begin(removed, added, latency_ns(*added), loss)
        elif step.crash:
            world.crash(step.crash)
        elif step.restart:
            world.restart(step.restart)
        elif step.add_leaf:
            new, neighbour = split_link(step.add_leaf, place)
            world.leaves.add(new, neighbour, latency_ns(new, neighbour), loss)
            world.add_client(client_of(new), new)
        elif step.remove_leaf:
            world.leaves.remove(step.remove_leaf, clients_too=True)
        elif step.subscribe:
            world.subscribe(client_of(step.at), step.subscribe, True)
        elif step.unsubscribe:
            world.unsubscribe(client_of(step.at), step.unsubscribe)
        elif step.away:
            world.mobility.leave(client_of(step.at))
        elif step.arrive:
            world.mobility.arrive(client_of(step.at), step.arrive)
        elif step.publish is not None:
            world.publish(client_of(step.at), step.publish)
    except UsageError as error:
        raise ScenarioError(place, str(error)) from error

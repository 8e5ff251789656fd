"""A link exchange in a large network: how long it takes to simulate, and how much memory the network takes.

1,000 brokers with 10,000 subscriptions, and 10,000 brokers with 100,000: ten to a broker, drawn from the papers' 96
filters, one filter a message (icdcs03 §6). A third network has 10,000 different filters, no two brokers wanting the
same, batched: nearly every entry of the brokers on the cycle then changes. The tree is grown at random, degree at most
4. What is timed is one exchange in the network at rest, from the order until nothing is under way: coordinated, and as
a break with a replacement at the same instant under `deferred`, and where all filters differ also under a `deferred`
that waits longer than these routes need (`patient`). It is the hardest that there is: the middle link of a
longest way through the tree goes, and one between the ends of that way comes. The time to lay the network is given
beside it. Memory is the process's peak resident size, the interpreter and its libraries included (about 80 MiB); the
largest network comes last, as a peak never falls.
"""

import resource
from random import Random
from time import perf_counter, process_time

from regraft.broker import BrokerConfig
from regraft.model.trees import parents, path
from regraft.sim.scenario import PROTOCOLS, LinkQuality, Protocol, TreeShape
from regraft.sim.topology import make_tree
from regraft.sim.workload import PRINTABLE, contains
from regraft.sim.world import World
from regraft.trace import LEVEL_SUMMED, TraceBuffer

SEED = 1
FILTERS_EACH = 10
LATENCY_NS = 50_000
NAMED: dict[str, tuple[Protocol, int]] = {  # with the wait before routes are withdrawn, in ns
    "coordinated": ("coordinated-fifo", BrokerConfig().withdraw_after_ns),
    "deferred": ("deferred", BrokerConfig().withdraw_after_ns),
    "patient": ("deferred", 20_000_000_000),
}


def run(quick: bool = False) -> dict[str, float | int | str]:
    """Figures by name, units last; `quick` makes the networks a tenth."""
    small, large = (100, 1_000) if quick else (1_000, 10_000)
    figures: dict[str, float | int | str] = {}
    for name, brokers, distinct in (("1k", small, False), ("1k_distinct", small, True), ("10k", large, False)):
        for label in NAMED if distinct else ("coordinated", "deferred"):
            figures |= _measure(f"scale_{name}_{label}", brokers, distinct, *NAMED[label])
        figures[f"scale_{name}_peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def _measure(
    figure: str, brokers: int, distinct: bool, protocol: Protocol, withdraw_after_ns: int
) -> dict[str, float | int]:
    begin = perf_counter()
    trace = TraceBuffer("bench")
    world = _network(trace, brokers, distinct, protocol, withdraw_after_ns)
    laid_s = perf_counter() - begin
    end = list(parents(world.adjacency, next(iter(world.nodes))))[-1]
    way = path(world.adjacency, end, list(parents(world.adjacency, end))[-1])
    middle = len(way) // 2
    begin = process_time()
    world.exchanges.begin((way[middle - 1], way[middle]), (way[0], way[-1]), LATENCY_NS)
    _rest(world, trace)
    exchange_s = process_time() - begin
    (account,) = world.chronicle.accounts.settled()
    assert account.outcome == "done"
    assert not world.misbehaved
    return {
        f"{figure}_laid_s": laid_s,
        f"{figure}_cycle": len(way),
        f"{figure}_messages": account.messages,
        f"{figure}_filters_carried": account.filters_carried,
        f"{figure}_floor": account.floor or 0,
        f"{figure}_exchange_s": exchange_s,
    }


def _network(trace: TraceBuffer, brokers: int, distinct: bool, protocol: Protocol, withdraw_after_ns: int) -> World:
    reconfiguration, order, routes = PROTOCOLS[protocol]
    config = BrokerConfig(reconfiguration=reconfiguration, batch=distinct, withdraw_after_ns=withdraw_after_ns)
    world = World(config, trace, LEVEL_SUMMED, dice=Random(SEED), exchange_order=order, exchange_routes=routes)
    dice = Random(SEED)
    tree = make_tree(TreeShape(brokers=brokers), LinkQuality(), dice)
    for number, broker in enumerate(tree.brokers):
        world.add_broker(broker)
        world.add_client(f"c.{broker}", broker)
        for place, character in enumerate(dice.sample(PRINTABLE, FILTERS_EACH)):
            filter = f"number = {number * FILTERS_EACH + place}" if distinct else contains(character)
            world.subscribe(f"c.{broker}", filter)
    for a, b, latency_ns in tree.links:
        world.link_up(a, b, latency_ns)
    _rest(world, trace)
    return world


def _rest(world: World, trace: TraceBuffer) -> None:
    """Until nothing is under way; the rows of the trace are made into batches, as in a run, and dropped."""
    while len(world.agenda):
        world.advance(world.now_ns + 1_000_000)
        if trace.full:
            trace.flush()

"""What the protocols save against strawman, as the chapter on mobile publish/subscribe has it (§5.2), as a declaration.

Three ways in which links are replaced: *planned*, where a link goes and another comes at once or by a coordinated
exchange; *breaks*, where a link breaks and is replaced 0.1 s later, and all is over before the next one; *overlapping*
breaks, one every 0.03 s. Each with the new link *near* the old one (its ends are drawn from the old ends and their
neighbours) and *anywhere* (from all brokers of free degree on either side).

The saving is on messages, as for icdcs03: hops of (un)subscriptions and of the protocol's own messages that the changes
caused. There are no events, so none is misrouted.

The coordinated protocols meet a break as `deferred` does, and are measured where the exchange is planned.

The chapter gives no parameters. These are icdcs03's for sparse subscribers, but for the tree and the links that are
replaced, which are drawn in the plainest way.
"""

from regraft.lab.experiment import Cell, Experiment, Figure, Group, Point, Series
from regraft.sim.scenario import PROTOCOLS

STRAWMAN = "strawman"
BROKERS = (20, 50, 100)
UNCOORDINATED = tuple(protocol for protocol, (_, order, _) in PROTOCOLS.items() if order is None)

# Beside the saving: metric -> what is counted in each run.
MEASURES = {"messages": "overhead", "floor_ratio": "floor_ratio", "touched_off_path": "touched_off_path"}

COMMON = {
    "duration_s": "15.0",
    "tree": "attachment",
    "tree.degree_max": "4",
    "drawn_from": "links",
    "subscriptions.subscribers": "0.2",
    "subscriptions.filters": "10",
    "publications.rate_hz": "0.0",
    "changes.from_s": "3.0",
    "changes.until_s": "13.0",
    "changes.count_max": "10",
}

WAYS = {
    "planned": ({"changes.kind": "exchange", "changes.every_s": "1.0", "changes.replace_after_s": "0.0"}, PROTOCOLS),
    "breaks": ({"changes.every_s": "1.0", "changes.replace_after_s": "0.1"}, UNCOORDINATED),
    "overlapping": ({"changes.every_s": "0.03", "changes.replace_after_s": "0.1"}, UNCOORDINATED),
}
PLACES = {"near": "near", "anywhere": "uniform"}


def _figure(way: str, place: str) -> Figure:
    settings, protocols = WAYS[way]

    def group(protocol: str, brokers: int) -> Group:
        cell = {**settings, "endpoints": PLACES[place], "brokers": str(brokers)}
        return Group(Cell(f"{way}-{place}-n{brokers}", cell), protocol)

    series = [
        Series(
            protocol,
            "improvement",
            "overhead",
            tuple(Point(float(n), group(protocol, n), group(STRAWMAN, n)) for n in BROKERS),
        )
        for protocol in protocols
        if protocol != STRAWMAN
    ]
    series += [
        Series(protocol, metric, measure, tuple(Point(float(n), group(protocol, n)) for n in BROKERS), drawn=False)
        for protocol in protocols
        for metric, measure in MEASURES.items()
    ]
    title = f"Messages saved, {way}, the new link {'near the old one' if place == 'near' else 'anywhere'}"
    return Figure(f"{way}-{place}", title, "brokers", "improvement on strawman (%)", tuple(series))


CHAPTER = Experiment(
    name="chapter",
    title="What each protocol saves against strawman",
    settings=COMMON,
    figures=tuple(_figure(way, place) for way in WAYS for place in PLACES),
    seeds=30,
)

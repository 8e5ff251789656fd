"""All protocols, all faults, all measures: one table.

A row is a protocol under a fault scenario; its cells are means over the runs, counted by the audit from the trace.
Zero means zero in every run, since nothing counts below zero.

The network is small and slow on purpose: with 20 ms a link, a wave of (un)subscriptions takes long enough to be
overtaken by events, so that a protocol that loses, repeats or reorders them has the chance to show it. What happens is
random and the same for all protocols: which link breaks, where its replacement goes, who publishes what and when.

Where several exchanges are ordered at once, what is drawn depends on what the first has changed already, which is
nothing yet under a coordinated protocol: only there do protocols meet different changes.
"""

from regraft.lab.experiment import Cell, Experiment, Figure, Group, Point, Series
from regraft.sim.scenario import PROTOCOLS
from regraft.trace import LEVEL_COUNTED

# Whatever else a scenario may ask for.
ALL_PROTOCOLS = tuple(PROTOCOLS)

# metric -> what is counted in each run
METRICS = {
    "lost": "lost",
    "duplicated": "duplicated",
    "fifo": "fifo",
    "causal": "causal",
    "wrong_entries": "wrong_entries",
    "messages": "overhead",
    "floor_ratio": "floor_ratio",
    "touched_off_path": "touched_off_path",
}

COMMON = {
    "duration_s": "3.5",
    "brokers": "20",
    "link.latency_us": "20000.0",
    "subscriptions.subscribers": "0.6",
    "subscriptions.filters": "10",
    "subscriptions.acknowledged": "true",
    "publications.rate_hz": "25.0",
    "publications.from_s": "1.3",
    "publications.until_s": "2.5",
    "changes.from_s": "1.6",
    "changes.until_s": "1.9",
    "changes.replace_after_s": "0.1",
    "changes.every_s": "0.03",
}

PLANNED = {"changes.kind": "exchange", "changes.replace_after_s": "0.0"}

# What differs from COMMON, and what happens in words.
FAULTS = {
    "planned_exchange": ({**PLANNED, "changes.count_max": "1"}, "a link is exchanged for another, as planned"),
    "concurrent_subscribe": (
        {**PLANNED, "changes.count_max": "1", "subscriptions.core": "0.5", "subscriptions.churn_hz": "10.0"},
        "the same while half of the subscribers replace a filter ten times a second",
    ),
    "colliding_exchanges": (
        {**PLANNED, "changes.count_max": "5", "changes.every_s": "0.002"},
        "five exchanges are ordered within 8 ms, whatever their ways have in common",
    ),
    "covering": (
        {**PLANNED, "changes.count_max": "1", "subscriptions.kind": "quotes", "broker.covering": "true"},
        "a planned exchange where filters cover each other and brokers make use of it",
    ),
    "leaves_come_and_go": (
        {"changes.kind": "leaf", "changes.count_max": "6"},
        "six times, a broker joins as a leaf, with a client that subscribes and publishes, or a leaf leaves for good",
    ),
    "lossy_links": (
        {**PLANNED, "changes.count_max": "1", "link.loss": "0.01"},
        "a planned exchange where each link loses one event in a hundred",
    ),
    "one_break": ({"changes.count_max": "1"}, "a link breaks and is replaced 0.1 s later"),
    "overlapping_breaks": (
        {"changes.count_max": "6"},
        "six links break, one every 0.03 s, and each is replaced 0.1 s after it broke",
    ),
    "break_on_the_path": (
        {"changes.kind": "exchange", "changes.count_max": "1", "changes.path_breaks_after_s": "0.1"},
        "0.1 s after an exchange was ordered, another link between its ends breaks, and is replaced 0.1 s later",
    ),
    "broker_crash": (
        {"changes.count_max": "1", "changes.kind": "crash"},
        "a broker crashes; 0.1 s later its neighbours are joined, and it comes back, knowing nothing",
    ),
}


def _figure(name: str) -> Figure:
    settings, what = FAULTS[name]
    cell = Cell(name, settings, LEVEL_COUNTED)
    series = tuple(
        Series(protocol, metric, measure, (Point(None, Group(cell, protocol)),), drawn=False)
        for protocol in ALL_PROTOCOLS
        for metric, measure in METRICS.items()
    )
    return Figure(name, what, "", "", series)


GUARANTEES = Experiment(
    name="guarantees",
    title="What each protocol keeps under each fault",
    settings=COMMON,
    figures=tuple(_figure(name) for name in FAULTS),
    seeds=100,
)

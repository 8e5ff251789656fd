"""All protocols, all faults, all measures: one table.

A row is a protocol under a fault scenario; its cells are means over the runs, counted by the audit from the trace.
Zero means zero in every run, since nothing counts below zero.

The network is small and slow on purpose: with 20 ms a link, a wave of (un)subscriptions takes long enough to be
overtaken by events, so that a protocol that loses, repeats or reorders them has the chance to show it. What happens is
random and the same for all protocols: which link breaks, where its replacement goes, who publishes what and when.

What is left out: the ratio to the floor, and the brokers touched off the reconfiguration path. They are measures of a
single exchange and come with the protocols that are made for one.
"""

from regraft.lab.experiment import Cell, Experiment, Figure, Group, Point, Series
from regraft.trace import LEVEL_COUNTED

PROTOCOLS = ("strawman", "deferred")

# metric -> what is counted in each run
METRICS = {
    "lost": "lost",
    "duplicated": "duplicated",
    "fifo": "fifo",
    "causal": "causal",
    "wrong_entries": "wrong_entries",
    "messages": "overhead",
}

COMMON = {
    "duration_s": "3.5",
    "brokers": "20",
    "link.latency_us": "20000.0",
    "subscriptions.subscribers": "0.6",
    "subscriptions.filters": "10",
    "subscriptions.acknowledged": "true",
    "publications.rate_hz": "50.0",
    "publications.from_s": "1.3",
    "publications.until_s": "2.5",
    "changes.from_s": "1.6",
    "changes.until_s": "1.9",
    "changes.replace_after_s": "0.1",
    "changes.every_s": "0.03",
}

# What differs from COMMON, and what happens in words.
FAULTS = {
    "planned_exchange": (
        {"changes.count_max": "1", "changes.replace_after_s": "0.0"},
        "a link is replaced by another at the same instant",
    ),
    "one_break": ({"changes.count_max": "1"}, "a link breaks and is replaced 0.1 s later"),
    "overlapping_breaks": (
        {"changes.count_max": "6"},
        "six links break, one every 0.03 s, and each is replaced 0.1 s after it broke",
    ),
    "broker_crash": (
        {"changes.count_max": "1", "changes.kind": "crash"},
        "a broker crashes; 0.1 s later its neighbours are joined, and it comes back, knowing nothing",
    ),
    "concurrent_subscribe": (
        {"changes.count_max": "1", "subscriptions.core": "0.5", "subscriptions.churn_hz": "10.0"},
        "a link breaks and is replaced while half of the subscribers replace a filter ten times a second",
    ),
}


def _figure(name: str) -> Figure:
    settings, what = FAULTS[name]
    cell = Cell(name, settings, LEVEL_COUNTED)
    series = tuple(
        Series(protocol, metric, measure, (Point(None, Group(cell, protocol)),), drawn=False)
        for protocol in PROTOCOLS
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

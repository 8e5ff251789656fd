"""The evaluation of coordinated link exchanges against strawman (debs06 §3), as a declaration.

A run is one overlay, and a hundred random links of it that are exchanged, one after the other. Each exchange is looked
at by the length of its cycle: what it cost (Fig. 4), how long events waited behind the new link (Fig. 5). What is lost
or duplicated is counted over all of the run.

The network is the paper's: 10,000 nodes in 100 domains (`sim/topology.py` has the generator and its parameters), 100
brokers on random nodes, no two of them more than 100 ms apart, so that no overlay link is longer, whenever it comes.
500 clients, five at each broker; 50 of them, drawn, publish every 25 ms on average; each has nine subscribers of its
own among the others.

What the paper leaves open, each a field of the scenario that `--set` changes:

- how the overlay tree grows: each broker attaches to a uniformly drawn one with fewer than four links;
- how exchanges are drawn: a link, uniformly, and for its replacement a broker of free degree on either side, uniformly;
- whether brokers notice that nine subscribers want the same. §2.2.2 describes the algorithms for simple routing, which
  routes each subscription by itself: that is Fig. 4 and 5, with a filter of its own for each subscriber. Brokers like
  ours, which send a filter once, have their own Fig. 4-common.

What is shortened: control messages do not depend on events, so the runs of Fig. 4 have none. Those of Fig. 5 end after
the first 25 exchanges, and events are published while an exchange is under way; those between two exchanges meet
nothing that changes. Exchanges begin 8 s apart, which is longer than any takes.
"""

from regraft.lab.experiment import Cell, Experiment, Figure, Group, Point, Series
from regraft.trace import LEVEL_COUNTED, LEVEL_SUMMED

STRAWMAN = "strawman"
COORDINATED = ("coordinated-fifo", "coordinated-causal")
OURS = ("graft-fifo",)  # not in the paper
PROTOCOLS = (STRAWMAN, *COORDINATED, *OURS)

EXCHANGES, EXCHANGES_UNDER_LOAD = 100, 25
FROM_S, EVERY_S = 5.0, 8.0

COMMON = {
    "tree": "transit_stub",
    "brokers": "100",
    "tree.nodes": "10000",
    "tree.domains": "100",
    "tree.latency_ms_max": "100.0",
    "tree.degree_max": "4",
    "clients.per_broker": "5",
    "subscriptions.kind": "dedicated",
    "subscriptions.dedicated": "9",
    "publications.publishers": "50",
    "publications.during": "exchanges",
    "changes.kind": "exchange",
    "changes.from_s": str(FROM_S),
    "changes.every_s": str(EVERY_S),
    "changes.replace_after_s": "0.0",
    "endpoints": "uniform",
}


def _until(exchanges: int) -> dict[str, str]:
    until_s = FROM_S + exchanges * EVERY_S
    return {"changes.until_s": str(until_s), "duration_s": str(until_s)}


def control_group(protocol: str, filter: str) -> Group:
    settings = {"subscriptions.dedicated_filter": filter, "publications.rate_hz": "0.0", **_until(EXCHANGES)}
    return Group(Cell(f"control-{filter}", settings, LEVEL_SUMMED), protocol)


def events_group(protocol: str) -> Group:
    settings = {
        "subscriptions.dedicated_filter": "own",
        "subscriptions.acknowledged": "true",
        "publications.rate_hz": "40.0",
        "publications.from_s": str(FROM_S),
        "publications.until_s": str(FROM_S + EXCHANGES_UNDER_LOAD * EVERY_S),
        **_until(EXCHANGES_UNDER_LOAD),
    }
    return Group(Cell("events", settings, LEVEL_COUNTED), protocol)


def _messages(name: str, filter: str, what: str) -> Figure:
    series = [
        Series(protocol, "messages", "exchange_messages", (Point(None, control_group(protocol, filter)),))
        for protocol in PROTOCOLS
    ]
    baseline = control_group(STRAWMAN, filter)
    series += [
        Series(
            protocol,
            "improvement",
            "exchange_messages",
            (Point(None, control_group(protocol, filter), baseline),),
            drawn=False,
        )
        for protocol in PROTOCOLS[1:]
    ]
    title = f"Control messages of an exchange, {what}"
    return Figure(name, title, "length of the reconfiguration cycle (links)", "control messages", tuple(series))


def _delay() -> Figure:
    series = [
        Series(protocol, "delay_ms", "event_delay_ms", (Point(None, events_group(protocol)),))
        for protocol in PROTOCOLS[1:]
    ]
    series += [
        Series(
            f"{protocol}, (un)subscriptions",
            "delay_ms",
            "control_delay_ms",
            (Point(None, events_group(protocol)),),
            drawn=False,
        )
        for protocol in PROTOCOLS[1:]
    ]
    title = "Mean time that an event waits behind the new link"
    return Figure("5", title, "length of the reconfiguration cycle (links)", "queueing delay (ms)", tuple(series))


def _loss() -> Figure:
    series = tuple(
        Series(protocol, measure, measure, (Point(None, events_group(protocol)),), drawn=False)
        for protocol in PROTOCOLS[1:]
        for measure in ("owed", "lost", "duplicated", "fifo", "causal", "wrong_entries")
    )
    return Figure("loss", "Owed, lost, duplicated and out of order, in all of a run", "", "", series)


DEBS06 = Experiment(
    name="debs06",
    title="Coordinated link exchanges against strawman",
    settings=COMMON,
    figures=(
        _messages("4", "own", "each subscription routed by itself"),
        _messages("4-common", "common", "equal filters routed once"),
        _delay(),
        _loss(),
    ),
    seeds=25,
)

"""The audit's definitions again, by brute force, in plain Python and from nothing of ours.

Every definition is spelt out over the whole list of rows: subscriptions as intervals, happened-before as paths in a
graph, each pair of deliveries compared with each other. Slow, and meant to be read beside the sentence that it spells
out.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Filters = Mapping[str, Callable[[Mapping[str, Any]], bool]]


def check(
    rows: Sequence[Row], filters: Filters, attributes: Mapping[str, Mapping[str, Any]]
) -> dict[str, Counter[str]]:
    """Of one run, in order: by client, how many events owed, delivered, lost, duplicated, fifo, causal."""
    published = {row["event"]: row["n"] for row in rows if row["kind"] == "publish"}
    clients = {row["client"] for row in rows if row["kind"] in ("publish", "deliver")}
    clients |= {client for client, _, since in _subscriptions(rows) if since is not None}
    before = _happened_before(rows)
    found = {client: Counter() for client in clients}
    for client in clients:
        received = [row["event"] for row in rows if row["kind"] == "deliver" and row["client"] == client]
        firsts = list(dict.fromkeys(received))
        owed = {
            event
            for event, n in published.items()
            for subscriber, text, since in _subscriptions(rows)
            if subscriber == client and since is not None and since < n and filters[text](attributes[event])
        }
        found[client].update(
            owed=len(owed),
            delivered=len(firsts),
            lost=len(owed - set(received)),
            duplicated=len(received) - len(firsts),
            fifo=sum(any(_same_publisher_later(e2, e1) for e2 in firsts[:i]) for i, e1 in enumerate(firsts)),
            causal=sum(any((e1, e2) in before for e2 in firsts[:i]) for i, e1 in enumerate(firsts)),
        )
    return found


def _subscriptions(rows: Sequence[Row]) -> list[tuple[str, str, int | None]]:
    """(client, filter, in force since) of each subscription that is not cancelled before the run ends."""
    standing = []
    pairs = {(row["client"], row["filter"]) for row in rows if row["kind"] == "subscribe"}
    for client, text in sorted(pairs):
        story = [row for row in rows if row["client"] == client and row["filter"] == text]
        since, issued = None, False
        for row in story:
            if row["kind"] == "unsubscribe":
                since, issued = None, False
            elif row["kind"] == "subscribe":
                issued = True
            elif row["kind"] == "in_force" and issued and since is None:
                since = row["n"]
        if issued:
            standing.append((client, text, since))
    return standing


def _same_publisher_later(event: str, than: str) -> bool:
    publisher, number = event.split("/")
    other_publisher, other_number = than.split("/")
    return publisher == other_publisher and int(number) > int(other_number)


def _happened_before(rows: Sequence[Row]) -> set[tuple[str, str]]:
    """All (e1, e2) with e1 before e2."""
    published = [row for row in rows if row["kind"] == "publish"]
    edges: dict[str, set[str]] = {row["event"]: set() for row in published}
    for second in published:
        for first in published:
            if _same_publisher_later(second["event"], first["event"]):
                edges[first["event"]].add(second["event"])
        for delivery in rows:
            if delivery["kind"] == "deliver" and delivery["client"] == second["client"] and delivery["n"] < second["n"]:
                edges[delivery["event"]].add(second["event"])
    pairs = set()
    for event in edges:
        reached, ahead = set(), [event]
        while ahead:
            for next_event in edges[ahead.pop()] - reached:
                reached.add(next_event)
                ahead.append(next_event)
        pairs |= {(event, later) for later in reached}
    return pairs

"""Clients do what the scenario says of them, and no more."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from regraft.errors import ScenarioError
from regraft.sim import parse_scenario, simulate

DEDICATED = {
    "brokers": "10",
    "duration_s": "4.0",
    "clients.per_broker": "5",
    "subscriptions.kind": "dedicated",
    "subscriptions.acknowledged": "true",
    "publications.publishers": "5",
    "publications.from_s": "1.0",
    "publications.until_s": "3.0",
    "publications.rate_hz": "20.0",
}


def rows(settings: dict[str, str], seed: int = 1) -> list[dict[str, Any]]:
    run = simulate(parse_scenario("", settings, "here"), seed, name="x", trace="full")
    found = pa.Table.from_batches(run.batches()).to_pylist()
    assert run.outcome is not None
    assert run.outcome.violations == []
    return found


def test_each_publisher_has_subscribers_of_its_own_who_get_all_that_it_publishes() -> None:
    trace = rows(DEDICATED)
    subscribers = {row["client"]: row["filter"] for row in trace if row["kind"] == "subscribe"}
    assert set(Counter(subscribers.values()).values()) == {9}
    published = {row["event"]: row["client"] for row in trace if row["kind"] == "publish"}
    assert len(set(published.values())) == 5
    assert not set(published.values()) & set(subscribers)
    delivered = [(row["client"], row["event"]) for row in trace if row["kind"] == "deliver"]
    assert len(delivered) == len(set(delivered)) == 9 * len(published)
    assert all(subscribers[client] == f"publisher = '{published[event]}'" for client, event in delivered)


def test_clients_are_spread_evenly() -> None:
    everybody = rows({**DEDICATED, "subscriptions.kind": "characters", "subscriptions.subscribers": "1.0"})
    clients = {(row["broker"], row["client"]) for row in everybody if row["kind"] == "subscribe"}
    assert set(Counter(broker for broker, _ in clients).values()) == {5}


def test_more_subscribers_than_clients_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"subscriptions\.dedicated: 45 clients for 50 subscriptions"):
        rows({**DEDICATED, "subscriptions.dedicated": "10"})


def test_bursts_last_as_long_as_the_exchange_and_begin_alike_under_every_protocol() -> None:
    settings = {
        **DEDICATED,
        "protocol": "coordinated-fifo",
        "link.latency_us": "20000.0",
        "changes.kind": "exchange",
        "changes.from_s": "1.5",
        "changes.until_s": "2.5",
        "changes.every_s": "0.8",
        "changes.replace_after_s": "0.0",
    }
    settings["publications.during"] = "exchanges"
    during, causal = rows(settings), rows({**settings, "protocol": "coordinated-causal"})

    def bursts(trace: list[dict[str, Any]]) -> list[list[tuple[int, str]]]:
        begun = [row["t_ns"] for row in trace if row["kind"] == "reconfiguration_begin"]
        ended = [row["t_ns"] for row in trace if row["kind"] == "reconfiguration_end"]
        published = [(row["t_ns"], row["client"]) for row in trace if row["kind"] == "publish"]
        found = [[one for one in published if begin <= one[0] < end] for begin, end in zip(begun, ended, strict=True)]
        assert sum(map(len, found)) == len(published)
        return found

    for short, long in zip(bursts(during), bursts(causal), strict=True):
        assert 0 < len(short) <= len(long)
        assert long[: len(short)] == short

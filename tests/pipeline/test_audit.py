"""The audit counts what was planted, agrees with a checker written apart from it, and with the simulator's own
ledger."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pipeline.checker import check
from pipeline.histories import FILTERS, History, random_history
from regraft.pipeline import audit, audit_clients, delivery_over_time, steady_clients, violations
from regraft.sim import parse_scenario, simulate

pytestmark = pytest.mark.jvm

ABOVE = "x > 2"
RANDOM_RUNS = 150
COUNTS = ("owed", "delivered", "lost", "duplicated", "fifo", "causal")

# What happens, and what it must come to: (owed, delivered, lost, duplicated, fifo, causal).
PLANTED: dict[str, tuple[History, tuple[int, ...]]] = {
    "an event that is owed and delivered": (
        History("").subscribe("s", ABOVE).publish("p", x=3).deliver("s", "p/1"),
        (1, 1, 0, 0, 0, 0),
    ),
    "an event that is owed and never delivered is lost": (
        History("").subscribe("s", ABOVE).publish("p", x=3),
        (1, 0, 1, 0, 0, 0),
    ),
    "an event that does not match is not owed": (
        History("").subscribe("s", ABOVE).publish("p", x=2).publish("p", s="x"),
        (0, 0, 0, 0, 0, 0),
    ),
    "what is published before a subscription is in force is not owed": (
        History("").subscribe("s", ABOVE, in_force=False).publish("p", x=3).in_force("s", ABOVE),
        (0, 0, 0, 0, 0, 0),
    ),
    "a subscription that is never in force is owed nothing": (
        History("").subscribe("s", ABOVE, in_force=False).publish("p", x=3),
        (0, 0, 0, 0, 0, 0),
    ),
    "a subscription that is cancelled later is owed nothing": (
        History("").subscribe("s", ABOVE).publish("p", x=3).unsubscribe("s", ABOVE),
        (0, 0, 0, 0, 0, 0),
    ),
    "a subscription that is made again is owed from then on": (
        History("")
        .subscribe("s", ABOVE)
        .publish("p", x=3)
        .unsubscribe("s", ABOVE)
        .subscribe("s", ABOVE)
        .publish("p", x=4),
        (1, 0, 1, 0, 0, 0),
    ),
    "an acknowledgement that comes after the cancellation is nobody's": (
        History("")
        .subscribe("s", ABOVE, in_force=False)
        .unsubscribe("s", ABOVE)
        .in_force("s", ABOVE)
        .publish("p", x=3),
        (0, 0, 0, 0, 0, 0),
    ),
    "two filters of one client that match owe it the event once": (
        History("").subscribe("s", ABOVE).subscribe("s", "x = 3").publish("p", x=3),
        (1, 0, 1, 0, 0, 0),
    ),
    "a second and a third delivery are two duplicates": (
        History("").publish("p", x=1).deliver("s", "p/1", "p/1", "p/1"),
        (0, 1, 0, 2, 0, 0),
    ),
    "an earlier event of the publisher after a later one violates both orders": (
        History("").publish("p").publish("p").deliver("s", "p/2", "p/1"),
        (0, 2, 0, 0, 1, 1),
    ),
    "each event that comes too late counts once": (
        History("").publish("p").publish("p").publish("p").deliver("s", "p/3", "p/1", "p/2"),
        (0, 3, 0, 0, 2, 2),
    ),
    "a duplicate that comes late is not late as well": (
        History("").publish("p").publish("p").deliver("s", "p/1", "p/2", "p/1"),
        (0, 2, 0, 1, 0, 0),
    ),
    "an answer before what it answers violates causal order alone": (
        History("").publish("p").deliver("q", "p/1").publish("q").deliver("s", "q/1", "p/1"),
        (0, 3, 0, 0, 0, 1),
    ),
    "the same two events unrelated are in any order": (
        History("").publish("p").publish("q").deliver("q", "p/1").deliver("s", "q/1", "p/1"),
        (0, 3, 0, 0, 0, 0),
    ),
    "happened-before reaches over publishers": (
        History("")
        .publish("p")
        .deliver("q", "p/1")
        .publish("q")
        .deliver("r", "q/1")
        .publish("r")
        .deliver("s", "r/1", "p/1"),
        (0, 4, 0, 0, 0, 1),
    ),
    "an earlier event of the answered one's publisher is in the past, too": (
        History("").publish("p").publish("p").deliver("q", "p/2").publish("q").deliver("s", "q/1", "p/1"),
        (0, 3, 0, 0, 0, 1),
    ),
    "a publisher that is delivered its own events is behind nobody": (
        History("").publish("p").deliver("p", "p/1").publish("p").deliver("p", "p/2").deliver("s", "p/1", "p/2"),
        (0, 4, 0, 0, 0, 0),
    ),
    "a run in which nothing happens": (History(""), (0, 0, 0, 0, 0, 0)),
}


def dataframe(spark: SparkSession, histories: list[History]) -> DataFrame:
    return spark.createDataFrame(pa.concat_tables(history.table() for history in histories))


@pytest.fixture(scope="module")
def planted(spark: SparkSession) -> dict[str, dict[str, Any]]:
    tables = []
    for claim, (history, _) in PLANTED.items():
        table = history.table()
        tables.append(table.set_column(0, table.schema.field("run"), pa.array([claim] * table.num_rows)))
    return {row.run: row.asDict() for row in audit(spark.createDataFrame(pa.concat_tables(tables))).collect()}


@pytest.mark.parametrize("claim", PLANTED)
def test_planted(planted: dict[str, dict[str, Any]], claim: str) -> None:
    assert tuple(planted[claim][count] for count in COUNTS) == PLANTED[claim][1]


def test_every_client_of_random_runs_is_counted_as_the_checker_counts(spark: SparkSession) -> None:
    tables = {
        (history := random_history(seed)).run: (history.table(), history.attributes) for seed in range(RANDOM_RUNS)
    }
    trace = spark.createDataFrame(pa.concat_tables(table for table, _ in tables.values()))
    expected = {
        (run, client): Counter(counts)
        for run, (table, attributes) in tables.items()
        for client, counts in check(table.to_pylist(), FILTERS, attributes).items()
    }
    found = {
        (row.run, row.client): Counter({count: row[count] for count in COUNTS})
        for row in audit_clients(trace).collect()
    }
    assert found == expected
    totals = Counter(total for counts in expected.values() for total in COUNTS if counts[total])
    assert all(totals[count] > 50 for count in COUNTS), f"the dice planted too little: {totals}"
    by_run = {row.run: {count: row[count] for count in COUNTS} for row in audit(trace).collect()}
    assert by_run == {
        run: {count: sum(counts[count] for (r, _), counts in expected.items() if r == run) for count in COUNTS}
        for run in tables
    }
    listed = Counter((row.run, row.client, row.measure) for row in violations(trace).collect())
    assert listed == Counter(
        {(*key, name): counts[name] for key, counts in expected.items() for name in COUNTS[2:] if counts[name]}
    )


def test_a_run_cut_into_small_batches_and_files_counts_the_same(spark: SparkSession) -> None:
    history = random_history(7).table()
    whole = spark.createDataFrame(history)
    shuffled = whole.orderBy("kind", "client").repartition(5)
    batch = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(batch)
    spark.conf.set(batch, "3")
    try:
        pieces = sorted(audit_clients(shuffled).collect())
    finally:
        spark.conf.set(batch, before)
    assert pieces == sorted(audit_clients(whole).collect())


def test_a_violation_is_named_with_its_client_event_and_place(spark: SparkSession) -> None:
    history = History("r").subscribe("s", ABOVE).publish("p", x=3).publish("p", x=4).deliver("s", "p/2", "p/2")
    rows = {tuple(row) for row in violations(dataframe(spark, [history])).collect()}
    assert rows == {("r", "lost", "s", "p/1", None), ("r", "duplicated", "s", "p/2", 6)}


def test_a_summed_run_is_not_audited_and_does_not_spoil_the_others(spark: SparkSession) -> None:
    summed = History("summed", level="summed").hop("event", "client", size=1)
    good = History("good").publish("p").deliver("s", "p/1")
    found = {row.run: row.lost for row in audit(dataframe(spark, [summed, good])).collect()}
    assert found == {"summed": None, "good": 0}


def test_what_is_delivered_counts_when_it_was_published(spark: SparkSession) -> None:
    history = History("r").subscribe("s", ABOVE).publish("p", x=3).publish("p", x=4).publish("q", x=1)
    history.deliver("s", "p/2")
    rows = delivery_over_time(dataframe(spark, [history]), 4_000_000).orderBy("window_ns").collect()
    assert [tuple(row) for row in rows] == [("r", 0, 1, 0, 0.0), ("r", 4_000_000, 1, 1, 100.0)]


def test_the_core_are_the_clients_that_never_cancel(spark: SparkSession) -> None:
    history = History("r").subscribe("s", ABOVE).subscribe("t", ABOVE).subscribe("t", "x = 1").unsubscribe("t", "x = 1")
    trace = dataframe(spark, [history.publish("p", x=3)])
    assert [tuple(row) for row in steady_clients(trace).collect()] == [("r", "s")]
    assert [row.owed for row in delivery_over_time(trace, 1_000_000_000, steady_clients(trace)).collect()] == [1]
    assert [row.owed for row in delivery_over_time(trace, 1_000_000_000).collect()] == [2]


SETTINGS = {
    "brokers": "15",
    "duration_s": "4.0",
    "subscriptions.subscribers": "0.8",
    "subscriptions.acknowledged": "true",
    "subscriptions.core": "0.5",
    "subscriptions.churn_hz": "1.0",
    "publications.until_s": "4.0",
    "publications.rate_hz": "20.0",
    "link.latency_us": "5000.0",
    "changes.from_s": "1.0",
    "changes.until_s": "3.0",
    "changes.every_s": "0.1",
}


@pytest.mark.parametrize("protocol", ["strawman", "deferred"])
def test_the_audit_and_the_simulators_own_ledger_agree(spark: SparkSession, protocol: str) -> None:
    scenario = parse_scenario("", {**SETTINGS, "protocol": protocol}, "test")
    run = simulate(scenario, 5, name="r", trace="counted")
    trace = spark.createDataFrame(pa.Table.from_batches(run.batches()))
    (row,) = audit(trace).collect()
    assert run.outcome is not None
    assert run.outcome.numbers is not None
    assert row.lost > 0, "a scenario in which nothing is lost shows nothing"
    numbers = run.outcome.numbers
    assert (row.owed, row.lost, row.duplicated, row.fifo) == (
        numbers.owed,
        numbers.lost,
        numbers.duplicated,
        numbers.out_of_order,
    )

"""What runs cost is summed from their rows, and a figure's points are means over seeds with their intervals."""

import math
import statistics
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pipeline.histories import History
from regraft.errors import UsageError
from regraft.pipeline import PointOf, measures, outcomes, overhead, results
from regraft.sim import parse_scenario, simulate

pytestmark = pytest.mark.jvm

VALUES = "run string, measure string, x double, value double"


def dataframe(spark: SparkSession, *tables: pa.Table) -> DataFrame:
    return spark.createDataFrame(pa.concat_tables(tables))


def the_row(table: DataFrame) -> dict[str, Any]:
    (row,) = table.collect()
    return row.asDict()


def test_hops_are_told_apart_by_message_and_cause(spark: SparkSession) -> None:
    run = History("r")
    run.hop("subscribe", "client", size=10, filter="x > 1")
    run.hop("subscribe", "reconfiguration", size=20, filter="x > 1")
    run.hop("unsubscribe", "reconfiguration", size=40, attributes='{"filters":3}')
    run.hop("recmsg", "reconfiguration", size=1, attributes='{"filters":4}')
    run.hop("ctrlmsg", "reconfiguration", size=2)
    run.hop("confirm", "client", size=80).hop("confirmed", "client", size=160)
    run.hop("event", "client", size=320).hop("event", "reconfiguration", size=640)
    assert the_row(overhead(dataframe(spark, run.table()))) == {
        "run": "r",
        "messages": 5,
        "one_filter_each": 10,
        "filters_carried": 9,
        "control_bytes": 73,
        "subscriptions": 2,
        "coordination": 2,
        "acknowledgements": 2,
        "event_hops": 2,
        "misrouted": 1,
        "event_bytes": 960,
        "overhead": 5,
        "event_hops_per_s": pytest.approx(2 / 0.101),  # 1 ms apart, and a counting interval of 100 ms
    }


def test_a_counted_hop_stands_for_as_many_as_it_says(spark: SparkSession) -> None:
    run = History("r").hop("event", "reconfiguration", size=2_000_000_000, attributes='{"count":7}')
    run.hop("event", "client", size=2_000_000_000, attributes='{"count":5}')
    row = the_row(overhead(dataframe(spark, run.table())))
    assert (row["event_hops"], row["misrouted"], row["event_bytes"]) == (12, 7, 4_000_000_000)


def test_a_run_without_hops_costs_nothing(spark: SparkSession) -> None:
    row = the_row(overhead(dataframe(spark, History("quiet").table())))
    assert {value for name, value in row.items() if name != "run"} == {0}


def test_what_a_run_said_of_itself_is_read_back(spark: SparkSession) -> None:
    table = History("r").table(violations=["a", "b"], wrong_entries=3, changes=4)
    row = the_row(outcomes(dataframe(spark, table)))
    assert len(row.pop("fingerprint")) == 32
    assert row == {"run": "r", "violations": 2, "wrong_entries": 3, "changes": 4}


@pytest.mark.parametrize("level", ["counted", "summed"])
def test_levels_differ_in_rows_and_not_in_sums(spark: SparkSession, level: str) -> None:
    settings = {"brokers": "10", "duration_s": "3.0", "publications.until_s": "3.0", "subscriptions.subscribers": "0.5"}
    changes = {"changes.from_s": "1.0", "changes.until_s": "2.5", "changes.every_s": "0.1"}
    scenario = parse_scenario("", {**settings, **changes, "publications.rate_hz": "20.0"}, "test")
    full, other = (
        the_row(overhead(dataframe(spark, pa.Table.from_batches(run.batches()))))
        for run in (simulate(scenario, 3, name="r", trace=kind) for kind in ("full", level))
    )
    assert full["misrouted"] > 0
    # A counted hop has the time of its interval only.
    assert other.pop("event_hops_per_s") == pytest.approx(full.pop("event_hops_per_s"), rel=0.05)
    assert other == full


def test_measures_come_as_rows_and_over_time_with_their_x(spark: SparkSession) -> None:
    run = History("r").subscribe("s", "x > 2").publish("p", x=3).publish("p", x=4).deliver("s", "p/2")
    rows = measures(
        dataframe(spark, run.table(wrong_entries=0)), ["lost", "overhead", "wrong_entries", "delivered_percent"]
    )
    assert {tuple(row) for row in rows.collect()} == {
        ("r", "lost", None, 1.0),
        ("r", "overhead", None, 0.0),
        ("r", "wrong_entries", None, 0.0),
        ("r", "delivered_percent", 0.0, 50.0),
    }


@pytest.mark.parametrize("names", [[], ["lots"]])
def test_a_measure_that_there_is_not_is_refused(spark: SparkSession, names: list[str]) -> None:
    with pytest.raises(UsageError, match="there are clients, publications, owed"):
        measures(dataframe(spark, History("r").table()), names)


def test_a_point_is_the_mean_over_seeds_with_students_interval(spark: SparkSession) -> None:
    numbers = [3.0, 5.0, 10.0]
    values = spark.createDataFrame(
        [(f"e/c/deferred/{seed}", "lost", None, value) for seed, value in enumerate(numbers)], VALUES
    )
    row = the_row(results(values, [PointOf("1", "deferred", "lost", "lost", "e/c/deferred", x=7.0, paper=6.5)]))
    half = 4.302653 * statistics.stdev(numbers) / math.sqrt(3)
    assert (row["figure"], row["series"], row["x"], row["metric"], row["paper"]) == ("1", "deferred", 7.0, "lost", 6.5)
    assert (row["mean"], row["runs"]) == (6.0, 3)
    assert (row["ci95_low"], row["ci95_high"]) == (pytest.approx(6 - half), pytest.approx(6 + half))


def test_an_improvement_is_taken_seed_by_seed(spark: SparkSession) -> None:
    rows = [("e/c/strawman/1", 10.0), ("e/c/strawman/2", 100.0), ("e/c/strawman/3", 0.0), ("e/c/strawman/4", 5.0)]
    rows += [("e/c/deferred/1", 5.0), ("e/c/deferred/2", 90.0), ("e/c/deferred/3", 1.0)]
    values = spark.createDataFrame([(run, "overhead", None, value) for run, value in rows], VALUES)
    point = PointOf("6", "deferred", "improvement", "overhead", "e/c/deferred", baseline="e/c/strawman")
    row = the_row(results(values, [point]))
    assert (row["mean"], row["runs"], row["x"]) == (30.0, 2, None), "50 % and 10 %; a baseline of 0 has no percentage"


def test_one_run_has_a_mean_and_no_interval(spark: SparkSession) -> None:
    values = spark.createDataFrame([("e/c/deferred/1", "lost", None, 4.0)], VALUES)
    row = the_row(results(values, [PointOf("1", "s", "lost", "lost", "e/c/deferred")]))
    assert (row["mean"], row["ci95_low"], row["ci95_high"], row["runs"]) == (4.0, None, None, 1)


def test_over_time_each_x_is_a_point_and_is_compared_with_its_own(spark: SparkSession) -> None:
    rows = [("e/c/a/1", 0.1, 100.0), ("e/c/a/1", 0.2, 50.0), ("e/c/b/1", 0.1, 50.0), ("e/c/b/1", 0.2, 50.0)]
    values = spark.createDataFrame([(run, "delivered_percent", x, value) for run, x, value in rows], VALUES)
    alone = PointOf("5", "a", "delivered_percent", "delivered_percent", "e/c/a")
    compared = PointOf("5", "b", "improvement", "delivered_percent", "e/c/b", baseline="e/c/a")
    found = {(row.series, row.x): row["mean"] for row in results(values, [alone, compared]).collect()}
    assert found == {("a", 0.1): 100.0, ("a", 0.2): 50.0, ("b", 0.1): 50.0, ("b", 0.2): 0.0}

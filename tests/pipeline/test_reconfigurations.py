"""What each reconfiguration cost: Spark finds in the trace what the simulator counted, reconfiguration by
reconfiguration."""

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pipeline.histories import History
from regraft.pipeline import measures, reconfigurations, reconfigurations_by_run
from regraft.sim import Outcome, parse_scenario, simulate

pytestmark = pytest.mark.jvm

SCENARIO = """
duration_s = 4.0
tree = { brokers = 20 }
link = { latency_us = 5000.0 }
subscriptions = { kind = "quotes", subscribers = 0.6, churn_hz = 1.0, core = 0.5, acknowledged = true }
publications = { rate_hz = 10.0, until_s = 3.5 }
changes = { from_s = 1.0, until_s = 2.5, every_s = 0.2, replace_after_s = 0.1 }
"""

CASES = [
    ("strawman", "break", "false"),
    ("deferred", "break", "true"),
    ("deferred", "exchange", "false"),
    ("coordinated-fifo", "exchange", "true"),
    ("coordinated-causal", "any", "false"),
]


def simulated(spark: SparkSession, protocol: str, kind: str, batch: str) -> tuple[DataFrame, Outcome]:
    settings = {"protocol": protocol, "changes.kind": kind, "broker.batch": batch, "broker.covering": batch}
    run = simulate(parse_scenario(SCENARIO, settings, "test"), 5, name="r", trace="counted")
    table = pa.Table.from_batches(run.batches())
    assert run.outcome is not None
    return spark.createDataFrame(table), run.outcome


@pytest.mark.parametrize(("protocol", "kind", "batch"), CASES)
def test_spark_and_the_simulator_agree_on_each_reconfiguration(
    spark: SparkSession, protocol: str, kind: str, batch: str
) -> None:
    trace, outcome = simulated(spark, protocol, kind, batch)
    found = {
        row.reconfiguration: (
            row.outcome or "",
            row.cycle_length or 0,
            row.floor,
            row.messages,
            row.filters_carried,
            row.control_bytes,
            row.touched,
            row.touched_off_path,
            row.filters_over_floor,
        )
        for row in reconfigurations(trace).collect()
    }
    counted = {
        account.reconfiguration: (
            account.outcome,
            account.cycle,
            account.floor,
            account.messages,
            account.filters_carried,
            account.bytes,
            account.touched,
            account.touched_off_path,
            account.over_floor,
        )
        for account in outcome.reconfigurations
    }
    assert found == counted
    assert any(account.floor for account in outcome.reconfigurations)
    assert any(account.messages for account in outcome.reconfigurations)


def test_a_runs_ratio_is_of_the_sums(spark: SparkSession) -> None:
    trace, outcome = simulated(spark, "deferred", "exchange", "false")
    compared = [account for account in outcome.reconfigurations if account.floor is not None]
    (row,) = reconfigurations_by_run(trace).collect()
    assert row.floor == sum(account.floor or 0 for account in compared)
    assert row.floor_ratio == pytest.approx(sum(account.filters_carried for account in compared) / row.floor)
    assert row.touched == pytest.approx(sum(account.touched for account in compared) / len(compared))
    assert {name for _, name, _, value in measures(trace, ["floor_ratio"]).collect() if value} == {"floor_ratio"}


def test_a_run_without_reconfigurations_has_no_ratio(spark: SparkSession) -> None:
    (row,) = reconfigurations_by_run(spark.createDataFrame(History("still").table())).collect()
    assert tuple(row) == ("still", None, None, None, None)

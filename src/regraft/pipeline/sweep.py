"""Runs many simulations as Spark tasks and keeps their traces as one run set.

A task is a row: the run's name, its scenario as JSON, its seed, its trace level. `mapInArrow` turns such rows into
trace rows: the function is pure, so that Spark may run it again after a failure or twice at once (speculation) and
gets the same rows; it writes nothing itself. Batches go to the JVM as the simulation yields them, and Spark writes
them as Parquet, partitioned by run: neither side holds a whole run.

Placement. A partition holds one run, or a few where there are more than `PARTITIONS_MAX`; partitions are numbered by
falling cost and Spark starts them in that order, so the long ones do not come last. The runs of a partition are
written one after the other into a file each: without a sort, since `spark.sql.maxConcurrentOutputFileWriters` lets a
task keep several files open (a sort by run would buffer a task's whole output, and would not be stable).

The directory must not exist; it appears when everything is there (`trace.whole_directory`). On a cluster it must be
on a file system that the driver and the workers share.
"""

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from regraft.errors import UsageError
from regraft.pipeline.progress import progress
from regraft.pipeline.reading import TRACE_TYPE, read_trace
from regraft.pipeline.session import spark_trouble
from regraft.sim import Scenario, scenario_from, simulate
from regraft.trace import LEVEL_COUNTED, LEVELS, whole_directory

PARTITIONS_MAX = 2_000

TASK_SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("run", pa.string()),
        ("scenario", pa.string()),
        ("seed", pa.int64()),
        ("level", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class SweepTask:
    """One run to make. `cost` is how long it takes beside the others, in any unit; a guess does."""

    run: str
    scenario: Scenario
    seed: int
    level: str = LEVEL_COUNTED
    cost: float = 1.0


def sweep(session: SparkSession, tasks: Sequence[SweepTask], directory: Path) -> DataFrame:
    """Make all the runs and return their trace, which is in `directory` then."""
    check_tasks(tasks)
    groups = place(tasks, PARTITIONS_MAX)
    rows = [_row(partition, task) for partition, group in enumerate(groups) for task in group]
    table = pa.Table.from_pylist(rows, schema=TASK_SCHEMA)
    runs, costs = [len(group) for group in groups], [sum(task.cost for task in group) for group in groups]
    with whole_directory(directory.absolute()) as partial:
        trace = (
            session.createDataFrame(table)
            .repartitionById(len(groups), "partition")
            .mapInArrow(simulate_rows, TRACE_TYPE)
        )
        with spark_trouble(f"sweep into {directory}"), progress(session.sparkContext, "sweep", runs, costs):
            trace.write.partitionBy("run").mode("append").parquet(partial.as_uri())
    return read_trace(session, directory)


def simulate_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The trace rows of the runs that these rows describe, run after run."""
    for batch in batches:
        for row in batch.to_pylist():
            scenario = scenario_from(json.loads(row["scenario"]), f"run {row['run']}")
            yield from simulate(scenario, row["seed"], name=row["run"], trace=row["level"]).batches()


def check_tasks(tasks: Sequence[SweepTask]) -> None:
    if not tasks:
        raise UsageError("a sweep of no runs")
    names = set()
    for task in tasks:
        if task.run in names:
            raise UsageError(f"run {task.run!r} is in the sweep twice")
        if task.level not in LEVELS:
            raise UsageError(f"run {task.run!r}: a trace is one of {', '.join(LEVELS)}, not {task.level}")
        names.add(task.run)


def place(tasks: Sequence[SweepTask], partitions_max: int) -> list[list[SweepTask]]:
    """Groups of nearly equal cost, the dearest first: each task goes to the group that is cheapest so far."""
    groups: list[list[SweepTask]] = [[] for _ in range(min(len(tasks), partitions_max))]
    cheapest = [(0.0, number) for number in range(len(groups))]
    for task in sorted(tasks, key=lambda task: -task.cost):
        cost, number = cheapest[0]
        groups[number].append(task)
        heapq.heapreplace(cheapest, (cost + task.cost, number))
    return sorted(groups, key=lambda group: -sum(task.cost for task in group))


def _row(partition: int, task: SweepTask) -> dict[str, Any]:
    scenario = msgspec.json.encode(task.scenario).decode()
    return {"partition": partition, "run": task.run, "scenario": scenario, "seed": task.seed, "level": task.level}

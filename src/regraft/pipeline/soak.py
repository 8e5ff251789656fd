"""A round of a soak as one Spark job: a task a row, and a result a row that is a function of it (`sim/soaking.py`)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import SparkSession

from regraft.pipeline.progress import progress
from regraft.pipeline.session import spark_trouble
from regraft.sim.soaking import SoakResult, SoakTask, soak_run

TASK_SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("number", pa.int64()),
        ("protocol", pa.string()),
        ("brokers_min", pa.int32()),
        ("brokers_max", pa.int32()),
    ]
)
RESULT_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("protocol", pa.string()),
        ("promised", pa.bool_()),
        ("changes", pa.int64()),
        ("hops", pa.int64()),
        ("owed", pa.int64()),
        ("lost", pa.int64()),
        ("duplicated", pa.int64()),
        ("out_of_order", pa.int64()),
        ("violations", pa.list_(pa.string())),
    ]
)
RESULT_TYPE = (
    "number long, protocol string, promised boolean, changes long, hops long, owed long, lost long, duplicated long, "
    "out_of_order long, violations array<string>"
)


def soak_round(session: SparkSession, tasks: Sequence[SoakTask]) -> list[SoakResult]:
    """Make these runs, a partition each; the results in the order of the tasks."""
    rows = [{"partition": number, **asdict(task)} for number, task in enumerate(tasks)]
    table = pa.Table.from_pylist(rows, schema=TASK_SCHEMA)
    results = session.createDataFrame(table).repartitionById(len(tasks), "partition").mapInArrow(soak_rows, RESULT_TYPE)
    ones = [1] * len(tasks)
    with spark_trouble("soak"), progress(session.sparkContext, "soak", ones, ones):
        found = [SoakResult(**{**row.asDict(), "violations": tuple(row.violations)}) for row in results.collect()]
    return sorted(found, key=lambda result: result.number)


def soak_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            del row["partition"]
            result = asdict(soak_run(SoakTask(**row)))
            yield pa.RecordBatch.from_pylist([result], schema=RESULT_SCHEMA)

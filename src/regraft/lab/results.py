"""The rows that an experiment ends in: one for each point of a figure, the paper's value beside ours.

`results.parquet` and `results.jsonl` hold the same rows with the same columns. They are what a report is made from:
it can be made again, and a table compared with another, without the trace and without Spark.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from regraft.errors import RegraftError

PARQUET, JSON_LINES = "results.parquet", "results.jsonl"

SCHEMA = pa.schema(
    [
        pa.field("experiment", pa.string(), nullable=False),
        pa.field("figure", pa.string(), nullable=False),
        pa.field("series", pa.string(), nullable=False),
        pa.field("x", pa.float64()),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("mean", pa.float64()),
        pa.field("ci95_low", pa.float64()),
        pa.field("ci95_high", pa.float64()),
        pa.field("runs", pa.int64(), nullable=False),
        pa.field("paper", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Result:
    """`x` is None where a figure is a table; the interval is None where one run is all there is."""

    experiment: str
    figure: str
    series: str
    x: float | None
    metric: str
    mean: float | None
    ci95_low: float | None
    ci95_high: float | None
    runs: int
    paper: float | None


def write_results(directory: Path, results: Sequence[Result]) -> None:
    rows = [asdict(result) for result in results]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), directory / PARQUET)
    (directory / JSON_LINES).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def read_results(directory: Path) -> list[Result]:
    file = directory / PARQUET
    try:
        table = pq.read_table(file, schema=SCHEMA)
    except (pa.ArrowException, OSError) as error:
        raise RegraftError(f"{file}: no results: {str(error).splitlines()[0]}") from error
    return [Result(**row) for row in table.to_pylist()]


def of_series(results: Iterable[Result], figure: str, series: str, metric: str) -> list[Result]:
    """The points of one series, by x; one name may stand for several series that differ in the metric."""
    found = [result for result in results if (result.figure, result.series, result.metric) == (figure, series, metric)]
    return sorted(found, key=lambda result: result.x if result.x is not None else 0.0)

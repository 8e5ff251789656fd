"""A run set on disk as a DataFrame.

The schema is given, not guessed: a run's name stays a string, and a column that happens to be empty is there all the
same. A run set that was cut off is refused here, before a question is asked of it, and not answered wrongly: every
run must close with its `run_end` row.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from regraft.errors import RegraftError
from regraft.pipeline.session import spark_trouble
from regraft.trace import KIND_RUN_END, SCHEMA, run_names

Trace = DataFrame  # for those who hand one on and know nothing of Spark
TRACE_TYPE = StructType([StructField(field.name, field.dataType) for field in from_arrow_schema(SCHEMA).fields])


def read_trace(session: SparkSession, directory: Path) -> DataFrame:
    """The rows of all runs, in no order that could be relied on."""
    directory = directory.absolute()
    runs = run_names(directory)
    trace = session.read.schema(TRACE_TYPE).parquet(directory.as_uri())
    with spark_trouble(f"{directory}: no trace, or cut off"):
        whole = {row.run for row in trace.where(F.col("kind") == KIND_RUN_END).select("run").distinct().collect()}
    cut_off = [run for run in runs if run not in whole]
    if cut_off:
        more = f" (and {len(cut_off) - 1} more)" if len(cut_off) > 1 else ""
        raise RegraftError(f"{directory}: cut off: run {cut_off[0]!r}{more} has no {KIND_RUN_END!r} row")
    return trace

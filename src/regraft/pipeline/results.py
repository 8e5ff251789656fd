"""From a trace to the points of figures: what was measured in each run, its mean over the seeds and a 95 % interval.

A *measure* is a number a run (or, over time, one a run and x). A *point* names a measure and the group of runs whose
mean it is, those that differ in the seed alone: a run's name is its group's name, a slash, and the seed. A point with
a baseline is an improvement: 100 * (baseline - group) / baseline in percent, for each seed by itself, since both met
the same tree, events and breaks under one seed; the mean is over these.

The interval is Student's, from the sample's own deviation: right if the mean of so many runs is about normal,
whatever the runs are. One run has no interval. A run whose measure is null (a `summed` run cannot be audited), or
whose baseline is 0, does not count.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import cache, reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf

from regraft.errors import UsageError
from regraft.pipeline.audit import audit, delivery_over_time, steady_clients
from regraft.pipeline.exchanges import OVER_CYCLE, over_cycle
from regraft.pipeline.overhead import NS_PER_S, outcomes, overhead
from regraft.pipeline.reconfigurations import reconfigurations_by_run

CONFIDENCE = 0.95

# Of the measures over time: short enough for several between the papers' breaks, which come every 0.3 s.
WINDOW_NS = NS_PER_S // 20

# What can be measured, by the table that it comes from.
OF_AUDIT = ("clients", "publications", "owed", "delivered", "lost", "duplicated", "fifo", "causal")
OF_OVERHEAD = (
    "messages",
    "filters_carried",
    "control_bytes",
    "subscriptions",
    "acknowledgements",
    "event_hops",
    "misrouted",
    "event_bytes",
    "overhead",
    "event_hops_per_s",
)
OF_OUTCOMES = ("violations", "wrong_entries", "changes")
OF_RECONFIGURATIONS = ("floor", "floor_ratio", "touched", "touched_off_path")
# Over the time of publication, in seconds; that of the core over what is owed to clients that never cancel a
# subscription.
OVER_TIME = ("delivered_percent", "core_delivered_percent")
ALL_MEASURES = (*OF_AUDIT, *OF_OVERHEAD, *OF_OUTCOMES, *OF_RECONFIGURATIONS, *OVER_TIME, *OVER_CYCLE)

POINT_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("figure", "series", "metric", "measure", "group", "baseline")),
        ("x", pa.float64()),
        ("paper", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class PointOf:
    """A point of a figure; `x` is None where the measure itself brings one."""

    figure: str
    series: str
    metric: str
    measure: str
    group: str
    baseline: str | None = None
    x: float | None = None
    paper: float | None = None


def measures(trace: DataFrame, names: Collection[str]) -> DataFrame:
    """`run, measure, x, value`: a row for each run and measure; or for each `WINDOW_NS` where it is over time, for each
    length of cycle where it is over these."""
    unknown = [name for name in names if name not in ALL_MEASURES]
    if unknown or not names:
        raise UsageError(f"no such measure: {', '.join(unknown) or 'none named'}; there are {', '.join(ALL_MEASURES)}")
    sources = (
        (audit, OF_AUDIT),
        (overhead, OF_OVERHEAD),
        (outcomes, OF_OUTCOMES),
        (reconfigurations_by_run, OF_RECONFIGURATIONS),
    )
    tables = [
        _long(make(trace), [name for name in offered if name in names])
        for make, offered in sources
        if any(name in names for name in offered)
    ]
    for name in OVER_TIME:
        if name in names:
            clients = steady_clients(trace) if name == "core_delivered_percent" else None
            over_time = delivery_over_time(trace, WINDOW_NS, clients)
            x, value = F.col("window_ns") / NS_PER_S, F.col("delivered_percent")
            tables.append(over_time.select("run", F.lit(name).alias("measure"), x.alias("x"), value.alias("value")))
    of_cycles = [name for name in OVER_CYCLE if name in names]
    if of_cycles:
        tables.append(_long(over_cycle(trace, of_cycles), of_cycles))
    return reduce(DataFrame.unionByName, tables)


def results(values: DataFrame, points: Sequence[PointOf]) -> DataFrame:
    """`figure, series, x, metric, mean, ci95_low, ci95_high, runs, paper`: a row for each point that a run counts
    for."""
    table = pa.Table.from_pylist([asdict(point) for point in points], POINT_SCHEMA)
    wanted = values.sparkSession.createDataFrame(table)
    group = F.expr("substring(run, 1, length(run) - length(substring_index(run, '/', -1)) - 1)")
    of_group = values.select(
        group.alias("group"),
        F.substring_index("run", "/", -1).alias("seed"),
        "measure",
        F.col("x").alias("x_measured"),
        "value",
    )
    of_baseline = of_group.withColumnsRenamed(
        {"group": "baseline", "x_measured": "baseline_x", "value": "baseline_value"}
    )
    alone = F.col("baseline").isNull()
    improvement = F.try_divide(100.0 * (F.col("baseline_value") - F.col("value")), F.col("baseline_value"))
    return (
        of_group.join(F.broadcast(wanted), ["group", "measure"])
        .join(of_baseline, ["baseline", "seed", "measure"], "left")
        .where(alone | F.col("x_measured").eqNullSafe(F.col("baseline_x")))
        .withColumn("x", F.coalesce("x_measured", "x"))
        .withColumn("value", F.when(alone, F.col("value")).otherwise(improvement))
        .where(F.col("value").isNotNull())
        .groupBy("figure", "series", "x", "metric", "paper")
        .agg(*_mean_and_interval(F.col("value")))
        .select("figure", "series", "x", "metric", "mean", "ci95_low", "ci95_high", "runs", "paper")
    )


@cache
def student_quantile(degrees_of_freedom: int) -> float:
    """The t that a Student variable stays within, either side, with probability `CONFIDENCE`.

    For a whole number of degrees of freedom the distribution is a finite sum (Abramowitz and Stegun 26.7.3 and
    26.7.4), so that bisection gets it to the last digit, and a table or a library is not needed.
    """
    low, high = 0.0, 1e3
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees_of_freedom) < CONFIDENCE else (low, middle)
    return high


def _within(t: float, degrees_of_freedom: int) -> float:
    angle = math.atan(t / math.sqrt(degrees_of_freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees_of_freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(degrees_of_freedom // 2):
        total += term
        term *= cosine * cosine * (2 * k + 1 + odd) / (2 * k + 2 + odd)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _mean_and_interval(value: Column) -> list[Column]:
    quantile = arrow_udf(_quantiles, "double")(F.count(value))  # type: ignore[call-overload]
    half = F.try_divide(quantile * F.stddev_samp(value), F.sqrt(F.count(value)))
    mean = F.avg(value)
    return [
        mean.alias("mean"),
        (mean - half).alias("ci95_low"),
        (mean + half).alias("ci95_high"),
        F.count(value).alias("runs"),
    ]


def _quantiles(runs: pa.Array) -> pa.Array:
    return pa.array([student_quantile(count - 1) if count > 1 else None for count in runs.to_pylist()], pa.float64())


def _long(table: DataFrame, names: Sequence[str]) -> DataFrame:
    """A column a measure becomes a row a measure; x is null where the table has none."""
    x = F.col("x") if "x" in table.columns else F.lit(None)
    values = [F.col(name).cast("double").alias(name) for name in names]
    long = table.select("run", x.cast("double").alias("x"), *values).unpivot(
        ["run", "x"], list(names), "measure", "value"
    )
    return long.select("run", "measure", "x", "value")

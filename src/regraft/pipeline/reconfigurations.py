"""What each reconfiguration cost, and what it had to cost at the least.

A *reconfiguration* is a planned exchange, or a break with its replacement. Its rows of the kinds
`reconfiguration_begin` and `reconfiguration_end` say which names its messages carry (`changes`; a coordinated exchange
has one, under the other protocols the old link's end and the new one's beginning have names of their own), who is on
its cycle, and its floor (`planning/floor.py`). The hops that carry one of these names are its cost. A message of one
reconfiguration that makes a broker send others passes its name on, so the account is complete; what a client caused
meanwhile has no name and is not in it.

A broker is *touched* if it receives a message of the reconfiguration and is no end of the removed link; *off the path*
if it is not on the cycle either. Measures that need a replacement (floor, cycle, off the path) are null where the link
was never replaced or the exchange did not come about.

The begin and end rows are few, the hops are many: one join by name, one aggregation by reconfiguration.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from regraft.trace import (
    KIND_HOP,
    KIND_RECONFIGURATION_BEGIN,
    KIND_RECONFIGURATION_END,
    KIND_RUN,
    MESSAGE_EVENT,
)

KNOWN = "removed array<string>, cycle array<string>, changes array<string>, outcome string, floor bigint"
ONE = ("run", "reconfiguration")


def reconfigurations(trace: DataFrame) -> DataFrame:
    """One row a reconfiguration: `run, reconfiguration, begin_ns, end_ns, outcome, cycle_length, floor, messages,
    filters_carried, control_bytes, touched, touched_off_path, filters_over_floor, floor_ratio`.

    The ratio is null where the floor is 0.
    """
    known = _known(trace)
    changes = known.select(*ONE, "removed", "cycle", F.explode("changes").alias("change"))
    hops = trace.where((F.col("kind") == KIND_HOP) & (F.col("message") != MESSAGE_EVENT)).select(
        "run",
        F.col("reconfiguration").alias("change"),
        "peer",
        F.col("bytes").cast("bigint").alias("bytes"),
        filters_carried().alias("filters"),
    )
    aside = F.array_contains("removed", F.col("peer"))
    on_path = F.array_contains("cycle", F.col("peer"))
    costs = (
        hops.join(changes, ["run", "change"])
        .groupBy(*ONE)
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.sum("filters").alias("filters_carried"),
            F.sum("bytes").alias("control_bytes"),
            F.count_distinct(F.when(~aside, F.col("peer"))).alias("touched"),
            F.count_distinct(F.when(~aside & ~on_path, F.col("peer"))).alias("off_path"),
        )
    )
    counted = ["messages", "filters_carried", "control_bytes", "touched", "off_path"]
    return (
        known.join(costs, list(ONE), "left")
        .na.fill(0, counted)
        .select(
            *ONE,
            "begin_ns",
            "end_ns",
            "outcome",
            F.when(F.col("cycle").isNotNull(), F.size("cycle")).alias("cycle_length"),
            "floor",
            *counted[:-1],
            F.when(F.col("cycle").isNotNull(), F.col("off_path")).alias("touched_off_path"),
            (F.col("filters_carried") - F.col("floor")).alias("filters_over_floor"),
            F.try_divide(F.col("filters_carried").cast("double"), F.col("floor")).alias("floor_ratio"),
        )
    )


def reconfigurations_by_run(trace: DataFrame) -> DataFrame:
    """One row a run: `run, floor, floor_ratio, touched, touched_off_path`, over its reconfigurations with a floor.

    `floor` is their sum, `floor_ratio` all that they carried over it; the other two are means a reconfiguration. All
    are null where there is none.
    """
    compared = reconfigurations(trace).where(F.col("floor").isNotNull())
    carried = F.sum("filters_carried").cast("double")
    totals = compared.groupBy("run").agg(
        F.sum("floor").alias("floor"),
        F.try_divide(carried, F.sum("floor")).alias("floor_ratio"),
        F.avg("touched").alias("touched"),
        F.avg("touched_off_path").alias("touched_off_path"),
    )
    return trace.where(F.col("kind") == KIND_RUN).select("run").join(totals, "run", "left")


def filters_carried() -> Column:
    """By the message of a control hop: as many as its attributes say, else one if it names one."""
    said = F.get_json_object("attributes", "$.filters").cast("bigint")
    return F.coalesce(said, F.col("filter").isNotNull().cast("bigint"))


def _known(trace: DataFrame) -> DataFrame:
    """What the rows of the beginning and of the end say together."""
    kind, said = F.col("kind"), F.col("said")
    return (
        trace.where(kind.isin(KIND_RECONFIGURATION_BEGIN, KIND_RECONFIGURATION_END))
        .select(*ONE, "kind", "t_ns", F.from_json("attributes", KNOWN).alias("said"))
        .groupBy(*ONE)
        .agg(
            F.min("t_ns").alias("begin_ns"),
            F.max(F.when(kind == KIND_RECONFIGURATION_END, F.col("t_ns"))).alias("end_ns"),
            *(F.max(said[name]).alias(name) for name in ("removed", "cycle", "outcome", "floor")),
            F.array_distinct(F.flatten(F.collect_list(said["changes"]))).alias("changes"),
        )
    )

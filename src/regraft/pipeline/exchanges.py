"""What each planned exchange cost, and how long it made events wait: a row an exchange, and by the length of its cycle.

An exchange begins with its `reconfiguration_begin` row, which says its cycle: the brokers from one end of the link
that goes, by way of the link that comes, to its other end. The cycle is as long as it has links, both of these
included (debs06 §2.2).

What it cost is `reconfigurations.py`'s to say; a break is no exchange, and is left out.

How long events and messages waited behind the new link comes from the `release` rows, which name their exchange.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from regraft.pipeline.overhead import NS_PER_S
from regraft.pipeline.reconfigurations import reconfigurations
from regraft.trace import KIND_RECONFIGURATION_BEGIN, KIND_RELEASE

NS_PER_MS = NS_PER_S // 1000

# Over the length of the cycle, in links: means over the exchanges of a run with a cycle of that length.
OVER_CYCLE = ("exchange_messages", "event_delay_ms", "control_delay_ms")


def exchanges(trace: DataFrame) -> DataFrame:
    """`run, reconfiguration, cycle_length, exchange_messages, events_held, event_delay_ms, controls_held,
    control_delay_ms`: a row for each planned exchange; a delay is the mean over what was held, null if nothing was."""
    length = F.json_array_length(F.get_json_object("attributes", "$.cycle"))
    begun = (
        trace.where(F.col("kind") == KIND_RECONFIGURATION_BEGIN)
        .select("run", "reconfiguration", length.alias("cycle_length"))
        .where("cycle_length IS NOT NULL")  # a break knows none when it begins
    )
    keys = ["run", "reconfiguration"]
    held = _held(trace)
    messages = reconfigurations(trace).select(*keys, F.col("messages").alias("exchange_messages"))
    return (
        begun.join(messages, keys, "left")
        .join(held, keys, "left")
        .na.fill(0, ["exchange_messages", "events_held", "controls_held"])
    )


def over_cycle(trace: DataFrame, names: list[str]) -> DataFrame:
    """`run, x` (the length of the cycle) and a column for each name."""
    means = [F.avg(name).alias(name) for name in names]
    return exchanges(trace).groupBy("run", F.col("cycle_length").cast("double").alias("x")).agg(*means)


def _held(trace: DataFrame) -> DataFrame:
    released = trace.where(F.col("kind") == KIND_RELEASE).select(
        "run",
        "reconfiguration",
        F.col("message").alias("queue"),
        *(F.get_json_object("attributes", f"$.{key}").cast("bigint").alias(key) for key in ("count", "waited_ns")),
    )
    return released.groupBy("run", "reconfiguration").agg(
        *_queue("events_held", "event_delay_ms", "event"), *_queue("controls_held", "control_delay_ms", "control")
    )


def _queue(count: str, delay_ms: str, queue: str) -> list[Column]:
    held = F.sum(F.when(F.col("queue") == queue, F.col("count")))
    waited_ns = F.sum(F.when(F.col("queue") == queue, F.col("waited_ns")))
    return [held.alias(count), F.try_divide(waited_ns, held * F.lit(float(NS_PER_MS))).alias(delay_ms)]

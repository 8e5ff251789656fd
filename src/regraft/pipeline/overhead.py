"""What the runs cost: messages, filters and bytes on the links, by run.

A message counts once for each link that it crosses. The acknowledgements that tell a client when its subscription is
in force are counted apart (`acknowledgements`) and are in no other column: the papers have none. What was dropped
never arrived and is no hop.

A hop of a `counted` or `summed` trace stands for many (`count` in its attributes), a message may carry many filters
(`filters`); where the attributes say nothing it is one of each. sem02 counts messages and icdcs03 (un)subscriptions of
one filter each, so a message that carries a whole set (RECMSG, or any with `batch`) is counted both as it is and as
many: `one_filter_each` is what the messages would be if each carried at most one. An event hop is *misrouted* if nobody
beyond that link wanted the event, in the tree as it was at the time; the trace marks it by its cause.

icdcs03 calls overhead what would not have been sent without the reconfigurations: (un)subscriptions that they caused,
and misrouted events. To these come, where there are any, the messages that a protocol has beside (un)subscriptions
(`coordination`).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from regraft.pipeline.reconfigurations import filters_carried
from regraft.trace import (
    ACKNOWLEDGEMENT_MESSAGES,
    CAUSE_RECONFIGURATION,
    COUNTED_INTERVAL_NS,
    KIND_HOP,
    KIND_RUN,
    KIND_RUN_END,
    MESSAGE_EVENT,
    MESSAGE_SUBSCRIBE,
    MESSAGE_UNSUBSCRIBE,
)

NS_PER_S = 1_000_000_000


def overhead(trace: DataFrame) -> DataFrame:
    """One row a run.

    `messages`, `one_filter_each`, `filters_carried`, `control_bytes`: of the control plane. `subscriptions`: hops of
    (un)subscriptions that reconfigurations caused; `coordination`: of their other messages. `event_hops`, `misrouted`,
    `event_bytes`: of events. `overhead`: `subscriptions`, `coordination` and `misrouted` together. `event_hops_per_s`:
    over the time from the first to the last event hop.
    """
    message, size = F.col("message"), F.col("bytes").cast("bigint")
    event = message == MESSAGE_EVENT
    control = ~event & ~message.isin(*ACKNOWLEDGEMENT_MESSAGES)
    subscribing = message.isin(MESSAGE_SUBSCRIBE, MESSAGE_UNSUBSCRIBE)
    reconfiguring = F.col("cause") == CAUSE_RECONFIGURATION
    interval_begin_ns = F.when(event, F.col("t_ns"))
    counted = (
        trace.where(F.col("kind") == KIND_HOP)
        .withColumn("count", F.when(event, F.coalesce(_from_attributes("count"), F.lit(1))).otherwise(1))
        .withColumn("filters", filters_carried())
        .groupBy("run")
        .agg(
            _total("messages", control, 1),
            _total("one_filter_each", control, F.greatest(F.col("filters"), F.lit(1))),
            _total("filters_carried", control, F.col("filters")),
            _total("control_bytes", control, size),
            _total("subscriptions", subscribing & reconfiguring, 1),
            _total("coordination", control & ~subscribing & reconfiguring, 1),
            _total("acknowledgements", message.isin(*ACKNOWLEDGEMENT_MESSAGES), 1),
            _total("event_hops", event, F.col("count")),
            _total("misrouted", event & reconfiguring, F.col("count")),
            _total("event_bytes", event, size),
            (F.max(interval_begin_ns) - F.min(interval_begin_ns) + COUNTED_INTERVAL_NS).alias("hopping_ns"),
        )
    )
    runs = trace.where(F.col("kind") == KIND_RUN).select("run")
    complete = runs.join(counted, "run", "left").na.fill(0)
    per_second = F.try_divide(F.col("event_hops") * F.lit(float(NS_PER_S)), F.col("hopping_ns"))
    return (
        complete.withColumn("overhead", F.col("subscriptions") + F.col("coordination") + F.col("misrouted"))
        .withColumn("event_hops_per_s", F.coalesce(per_second, F.lit(0.0)))
        .drop("hopping_ns")
    )


def outcomes(trace: DataFrame) -> DataFrame:
    """What each run said of itself at its end: `run, fingerprint, violations` (how many), `wrong_entries, changes`."""
    violations = F.json_array_length(F.get_json_object("attributes", "$.violations"))
    return trace.where(F.col("kind") == KIND_RUN_END).select(
        "run",
        F.get_json_object("attributes", "$.fingerprint").alias("fingerprint"),
        violations.cast("bigint").alias("violations"),
        *(_from_attributes(name).alias(name) for name in ("wrong_entries", "changes")),
    )


def _total(name: str, condition: Column, amount: Column | int) -> Column:
    return F.sum(F.when(condition, amount).otherwise(0)).cast("bigint").alias(name)


def _from_attributes(key: str) -> Column:
    return F.get_json_object("attributes", f"$.{key}").cast("bigint")

"""The audit: what was lost, duplicated and out of order, counted from the trace by Spark.

The definitions (`docs/guide/pipeline.md` has them with examples):

- A subscription is the time from a `subscribe` row of a (client, filter) to its next `unsubscribe` row. It is
  *standing* if it is never cancelled before the run ends; it is *owed* an event that satisfies its filter if its
  `in_force` row comes before the event's `publish` row. A client that cancels a filter and later takes it again has
  another subscription: what was published before the new one was in force is not owed to it, nor to the one that was
  cancelled.
- **lost**: a (client, event) that is owed and never delivered. **duplicated**: each delivery of an event to a client
  after the first. **fifo**, **causal**: each first delivery that comes too late; see `witness`.

How: which subscriptions stand is a window over the few rows about subscriptions. Those, the publications and the
deliveries (hops are not read) are moved so that a run is in one partition, sorted by `n` within, and read once by a
`Witness` a run, in Arrow batches. One exchange, one sort (which spills to disk), one pass. Nothing is collected: each
function returns a DataFrame.

Why a pass in order, and not a join for each measure: happened-before is transitive through deliveries to publishers,
so the causal measure needs the rows of a run in order anyhow, and then the others cost next to nothing; as joins and
windows they take longer than the whole pass. The price: one run is read by one core. Runs are what there are many of.

Left out: a trace of several recorders, whose `n` is no total order; and `summed` runs, which do not say what was
delivered to whom: their measures are null.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from regraft.pipeline.witness import (
    MEASURES,
    ROLE_DELIVER,
    ROLE_IN_FORCE,
    ROLE_PUBLISH,
    ROLE_RUN,
    Witness,
)
from regraft.trace import (
    KIND_DELIVER,
    KIND_IN_FORCE,
    KIND_PUBLISH,
    KIND_RUN,
    KIND_SUBSCRIBE,
    KIND_UNSUBSCRIBE,
)

Batches = Iterator[pa.RecordBatch]

# Spark places runs by the hash of their names: more partitions than cores, so that no core gets many of the long ones.
PARTITIONS_PER_CORE = 8

_counts = [(name, pa.int64()) for name in ("owed", "delivered", *MEASURES)]
_totals = [(name, pa.int64()) for name in ("clients", "publications")]
RUN_SCHEMA = pa.schema([("run", pa.string()), *_totals, *_counts])
CLIENT_SCHEMA = pa.schema([("run", pa.string()), ("client", pa.string()), *_counts])
VIOLATION_SCHEMA = pa.schema(
    [*((name, pa.string()) for name in ("run", "measure", "client", "event")), ("n", pa.int64())]
)
WINDOW_SCHEMA = pa.schema([("run", pa.string()), *((name, pa.int64()) for name in ("window_ns", "owed", "delivered"))])


def standing(trace: DataFrame) -> DataFrame:
    """The subscriptions that are owed something: `run, client, filter`, and `n` from which on they are."""
    subscription = Window.partitionBy("run", "client", "filter")
    kind, n = F.col("kind"), F.col("n")
    return (
        trace.where(kind.isin(KIND_SUBSCRIBE, KIND_IN_FORCE, KIND_UNSUBSCRIBE))
        .select("run", "client", "filter", "kind", "n")
        .withColumn("cancelled", F.max(F.when(kind == KIND_UNSUBSCRIBE, n)).over(subscription))
        .where(F.col("cancelled").isNull() | (n > F.col("cancelled")))
        .withColumn("issued", F.min(F.when(kind == KIND_SUBSCRIBE, n)).over(subscription))
        .where((kind == KIND_IN_FORCE) & (n > F.col("issued")))
        .groupBy("run", "client", "filter")
        .agg(F.min("n").alias("n"))
    )


def audit(trace: DataFrame) -> DataFrame:
    """One row a run: `run, clients, publications, owed, delivered, lost, duplicated, fifo, causal`."""
    return _in_order(trace).mapInArrow(_count_runs, from_arrow_schema(RUN_SCHEMA))


def audit_clients(trace: DataFrame) -> DataFrame:
    """One row for each client of each run: `run, client, owed, delivered, lost, duplicated, fifo, causal`."""
    return _in_order(trace).mapInArrow(_count_clients, from_arrow_schema(CLIENT_SCHEMA))


def violations(trace: DataFrame) -> DataFrame:
    """One row for each violation: `run, measure, client, event`, and `n` of the delivery that is at fault."""
    return _in_order(trace).mapInArrow(_list_violations, from_arrow_schema(VIOLATION_SCHEMA))


def delivery_over_time(trace: DataFrame, interval_ns: int, clients: DataFrame | None = None) -> DataFrame:
    """`run, window_ns, owed, delivered, delivered_percent` for each interval of publication that owes anything.

    `window_ns` is the interval's start. What is delivered in the end counts where the event was *published*. With
    `clients` (`run, client`), what is owed to these alone.
    """
    counted = _in_order(trace, clients).mapInArrow(_count_windows(interval_ns), from_arrow_schema(WINDOW_SCHEMA))
    return counted.withColumn("delivered_percent", 100.0 * F.col("delivered") / F.col("owed"))


def steady_clients(trace: DataFrame) -> DataFrame:
    """`run, client`: those that subscribe and never cancel a subscription; where others do, the stable core."""
    cancelled = F.count_if(F.col("kind") == KIND_UNSUBSCRIBE)
    changes = trace.where(F.col("kind").isin(KIND_SUBSCRIBE, KIND_UNSUBSCRIBE)).groupBy("run", "client")
    return changes.agg(cancelled.alias("cancelled")).where("cancelled = 0").select("run", "client")


def _in_order(trace: DataFrame, clients: DataFrame | None = None) -> DataFrame:
    """What a witness reads, the rows of a run together and in order; of the subscriptions, those of these clients."""
    role = F.when(F.col("kind") == KIND_DELIVER, ROLE_DELIVER).when(F.col("kind") == KIND_PUBLISH, ROLE_PUBLISH)
    told = trace.where(F.col("kind").isin(KIND_RUN, KIND_PUBLISH, KIND_DELIVER)).select(
        "run", "n", role.otherwise(ROLE_RUN).cast("byte").alias("role"), "t_ns", "client", "event", "attributes"
    )
    subscriptions = standing(trace)
    if clients is not None:
        subscriptions = subscriptions.join(clients, ["run", "client"], "left_semi")
    owed = subscriptions.select(
        "run",
        "n",
        F.lit(ROLE_IN_FORCE).cast("byte").alias("role"),
        F.lit(None).cast("bigint").alias("t_ns"),
        "client",
        F.lit(None).cast("string").alias("event"),
        F.col("filter").alias("attributes"),
    )
    partitions = PARTITIONS_PER_CORE * trace.sparkSession.sparkContext.defaultParallelism
    return told.unionByName(owed).repartition(partitions, "run").sortWithinPartitions("run", "n")


def _witnesses(batches: Batches) -> Iterator[tuple[Witness, bool]]:
    """Each run's witness after each batch that it has read, and once more, with True, when its run is over."""
    witness: Witness | None = None
    for batch in batches:
        for run, rows in _by_run(batch):
            if witness is not None and witness.run != run:
                witness.close()
                yield witness, True
                witness = None
            witness = witness or Witness(run)
            witness.read(rows)
            yield witness, False
    if witness is not None:
        witness.close()
        yield witness, True


def _by_run(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """A batch that is sorted by run, cut where one run ends and the next begins."""
    codes = batch["run"].dictionary_encode()
    ends = np.flatnonzero(np.diff(codes.indices.to_numpy())) + 1
    for begin, end in pairwise([0, *ends.tolist(), batch.num_rows]):
        if begin < end:
            yield batch["run"][begin].as_py(), batch.slice(begin, end - begin)


def _count_runs(batches: Batches) -> Batches:
    counts = dict.fromkeys(MEASURES, 0)
    for witness, over in _witnesses(batches):
        for violation in witness.drain():
            counts[violation.measure] += 1
        if over:
            clients = list(witness.clients())
            row: dict[str, Any] = {"run": witness.run}
            if witness.auditable:
                row |= {"clients": len(clients), "publications": sum(1 for _ in witness.debts())}
                row |= {"owed": sum(owed for _, owed, _ in clients)}
                row |= {"delivered": sum(delivered for _, _, delivered in clients), **counts}
            yield pa.RecordBatch.from_pylist([row], schema=RUN_SCHEMA)
            counts = dict.fromkeys(MEASURES, 0)


def _count_clients(batches: Batches) -> Batches:
    counts: dict[tuple[str, str], int] = {}
    for witness, over in _witnesses(batches):
        for violation in witness.drain():
            key = (violation.client, violation.measure)
            counts[key] = counts.get(key, 0) + 1
        if over:
            rows = [
                {"run": witness.run, "client": client, "owed": owed, "delivered": delivered}
                | {measure: counts.get((client, measure), 0) for measure in MEASURES}
                for client, owed, delivered in witness.clients()
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=CLIENT_SCHEMA)
            counts = {}


def _list_violations(batches: Batches) -> Batches:
    for witness, _ in _witnesses(batches):
        found = witness.drain()
        if found:
            rows = [{"run": witness.run, **asdict(violation)} for violation in found]
            yield pa.RecordBatch.from_pylist(rows, schema=VIOLATION_SCHEMA)


def _count_windows(interval_ns: int) -> Callable[[Batches], Batches]:
    def count(batches: Batches) -> Batches:
        for witness, over in _witnesses(batches):
            witness.drain()
            if over:
                windows: dict[int, list[int]] = {}
                for debt in witness.debts():
                    if debt.owed:
                        window = windows.setdefault(debt.published_ns // interval_ns * interval_ns, [0, 0])
                        window[0] += debt.owed
                        window[1] += debt.delivered
                rows = [
                    {"run": witness.run, "window_ns": start_ns, "owed": owed, "delivered": delivered}
                    for start_ns, (owed, delivered) in windows.items()
                ]
                yield pa.RecordBatch.from_pylist(rows, schema=WINDOW_SCHEMA)

    return count

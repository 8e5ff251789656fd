"""Spark's room: many runs at once, and every question that is answered from their traces.

    with spark_session() as session:
        trace = sweep(session, [SweepTask("mine/a/deferred/1", scenario, 1)], Path("trace"))
        audit(trace).show()

A trace is a DataFrame with the columns of `regraft.trace.SCHEMA`; every measure is a transformation of it that Spark
carries out when it is asked for the rows.
"""

from regraft.pipeline.audit import audit, audit_clients, delivery_over_time, standing, steady_clients, violations
from regraft.pipeline.exchanges import exchanges
from regraft.pipeline.overhead import outcomes, overhead
from regraft.pipeline.reading import Trace, read_trace
from regraft.pipeline.reconfigurations import reconfigurations, reconfigurations_by_run
from regraft.pipeline.results import ALL_MEASURES, PointOf, measures, results
from regraft.pipeline.session import spark_session, spark_trouble
from regraft.pipeline.soak import soak_round
from regraft.pipeline.sweep import SweepTask, sweep

__all__ = [
    "ALL_MEASURES",
    "PointOf",
    "SweepTask",
    "Trace",
    "audit",
    "audit_clients",
    "delivery_over_time",
    "exchanges",
    "measures",
    "outcomes",
    "overhead",
    "read_trace",
    "reconfigurations",
    "reconfigurations_by_run",
    "results",
    "soak_round",
    "spark_session",
    "spark_trouble",
    "standing",
    "steady_clients",
    "sweep",
    "violations",
]

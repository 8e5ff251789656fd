"""How many trace rows a second the audit takes, on two cores.

The trace is the simulator's own: a few runs in which links break under load and clients are owed what they subscribed
to, each written several times under different names, since an audit sees no difference and simulating takes longer
than auditing. Twice: `full`, where most rows are hops that an audit skips, and `counted`, where nearly all are
publications and deliveries, every one of which it must look at: the harder of the two for each row.

Spark compiles what it runs often, so the audit is run once unmeasured; the time is that of the second, from files to
counts.
"""

import tempfile
import time
from pathlib import Path

from regraft.pipeline import audit, read_trace, spark_session
from regraft.sim import parse_scenario, simulate
from regraft.trace import LEVEL_COUNTED, LEVEL_FULL, RunSetWriter

SETTINGS = {
    "brokers": "50",
    "duration_s": "8.0",
    "subscriptions.subscribers": "0.8",
    "subscriptions.acknowledged": "true",
    "publications.from_s": "1.0",
    "publications.until_s": "7.5",
    "changes.from_s": "2.0",
    "changes.until_s": "6.0",
}


def run(quick: bool = False) -> dict[str, float | int | str]:
    rate_hz, seeds, copies = (5.0, 2, 2) if quick else (20.0, 4, 8)
    figures: dict[str, float | int | str] = {"audit_cores": 2}
    scenario = parse_scenario("", {**SETTINGS, "publications.rate_hz": str(rate_hz)}, "bench audit")
    with tempfile.TemporaryDirectory() as scratch, spark_session("local[2]") as session:
        for level in (LEVEL_FULL, LEVEL_COUNTED):
            directory = Path(scratch) / level
            with RunSetWriter(directory) as writer:
                for seed in range(seeds):
                    batches = list(simulate(scenario, seed, name=f"bench/{seed}", trace=level).batches())
                    for copy in range(copies):
                        writer.write(f"bench/{seed}/{copy}", batches)
            trace = read_trace(session, directory)
            rows = trace.count()
            audit(trace).collect()
            begin_s = time.perf_counter()
            counts = audit(trace).collect()
            took_s = time.perf_counter() - begin_s
            figures |= {
                f"audit_{level}_rows": rows,
                f"audit_{level}_deliveries": sum(run.delivered for run in counts),
                f"audit_{level}_lost_events": sum(run.lost for run in counts),
                f"audit_{level}_audit_s": took_s,
                f"audit_{level}_rows_per_s": rows / took_s,
            }
    return figures

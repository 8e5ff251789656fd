"""How much sooner a sweep is done on two cores than on one.

The same runs, of different lengths, once with one Spark core and once with two; each session first makes a small
sweep unmeasured, so that workers have started and imported what they need. A ratio of 2 would be perfect; what is
lost goes to Spark's own work (scheduling, writing Parquet), which on one Spark core already has the other core of the
machine to itself, and to the end of the sweep, when one core has nothing left to do.
"""

import tempfile
import time
from pathlib import Path

from regraft.pipeline import SweepTask, spark_session, sweep
from regraft.sim import parse_scenario

SETTINGS = {
    "duration_s": "8.0",
    "publications.from_s": "1.0",
    "publications.until_s": "7.0",
    "publications.rate_hz": "2.0",
    "changes.from_s": "2.0",
    "changes.until_s": "6.0",
    "changes.every_s": "0.03",
}


def run(quick: bool = False) -> dict[str, float | int | str]:
    sizes, seeds = ((10, 20), 2) if quick else ((50, 100, 150, 200), 6)
    tasks = [task for brokers in sizes for task in _tasks(brokers, seeds)]
    took_s = {cores: _sweep_s(tasks, cores) for cores in (1, 2)}
    return {
        "sweep_runs": len(tasks),
        "sweep_one_core_s": took_s[1],
        "sweep_two_cores_s": took_s[2],
        "sweep_two_cores_over_one_ratio": took_s[1] / took_s[2],
    }


def _tasks(brokers: int, seeds: int) -> list[SweepTask]:
    scenario = parse_scenario("", {**SETTINGS, "brokers": str(brokers)}, "bench sweep")
    return [SweepTask(f"bench/{brokers}/{seed}", scenario, seed, cost=brokers) for seed in range(seeds)]


def _sweep_s(tasks: list[SweepTask], cores: int) -> float:
    with tempfile.TemporaryDirectory() as scratch, spark_session(f"local[{cores}]") as session:
        sweep(session, _tasks(5, 2 * cores), Path(scratch) / "warm")
        begin_s = time.perf_counter()
        sweep(session, tasks, Path(scratch) / "measured")
        return time.perf_counter() - begin_s

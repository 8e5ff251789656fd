"""How much sooner a sweep is done on two cores than on one.

The same runs, of different lengths, once with one Spark core and once with two; each session first makes a small
sweep unmeasured, so that workers have started and imported what they need. A ratio of 2 would be perfect; what is
lost goes to Spark's own work (scheduling, writing Parquet), which on one Spark core already has the other core of the
machine to itself, and to the end of the sweep, when one core has nothing left to do.

And to the machine: two cores that share a clock, a cache or an execution unit are less than two. So the same is asked
of plain processes without Spark, some of the longest runs by one and by two of them. What the sweep can be blamed for
is what it falls short of that ratio.
"""

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from regraft.pipeline import SweepTask, spark_session, sweep
from regraft.sim import parse_scenario, simulate

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
    plain_s = _plain_s(_tasks(sizes[-1], 4))
    took_s = {cores: _sweep_s(tasks, cores) for cores in (1, 2)}
    return {
        "sweep_runs": len(tasks),
        "sweep_one_core_s": took_s[1],
        "sweep_two_cores_s": took_s[2],
        "sweep_two_cores_over_one_ratio": took_s[1] / took_s[2],
        "sweep_plain_processes_two_over_one_ratio": plain_s[1] / plain_s[2],
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


def _plain_s(tasks: list[SweepTask]) -> dict[int, float]:
    """How long one process takes for these runs, and how long two take that share them."""
    took_s = {}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_make, _tasks(5, 4)))
        for processes in (1, 2):
            shares = [tasks[number::processes] for number in range(processes)]
            begin_s = time.perf_counter()
            list(pool.map(_make_all, shares))
            took_s[processes] = time.perf_counter() - begin_s
    return took_s


def _make_all(tasks: list[SweepTask]) -> None:
    for task in tasks:
        _make(task)


def _make(task: SweepTask) -> None:
    for _ in simulate(task.scenario, task.seed, name=task.run, trace=task.level).batches():
        pass

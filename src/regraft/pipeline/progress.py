"""What is done, what is left and how long it takes, on stderr, while a Spark job keeps the caller waiting.

Spark tells how many tasks of a stage are done, not which. Tasks start in the order of their partitions, so the done
ones are taken to be the first ones, which is right but for the few that are running. Time left is by cost: a sweep
begins with its longest tasks, and counting tasks alone would promise too much waiting.

On a terminal one line is kept up to date (rich); elsewhere, in a log, a line is written at most every `LOG_EVERY_S`.
"""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TextIO

from pyspark import SparkContext
from rich.console import Console
from rich.live import Live

POLL_EVERY_S = 0.5
LOG_EVERY_S = 10.0


@contextmanager
def progress(
    context: SparkContext, what: str, runs: Sequence[int], costs: Sequence[float], stream: TextIO | None = None
) -> Iterator[None]:
    """Report on the jobs of the block. Partition k of their widest stage does `runs[k]` runs at `costs[k]`."""
    stream = stream or sys.stderr
    group = f"{what} {id(runs)}"
    context.setJobGroup(group, what)
    over = threading.Event()
    report = _on_terminal if stream.isatty() else _in_log
    watch = _Watch(context, group, what, runs, costs)
    watcher = threading.Thread(target=report, args=(watch, over, stream), name="progress", daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        _leave_group(context)
        raise
    else:  # and not where a signal ended the block: this thread's connection to Spark owes an answer then
        _leave_group(context)
    finally:
        over.set()
        watcher.join()


def _leave_group(context: SparkContext) -> None:
    context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


class _Watch:
    def __init__(
        self, context: SparkContext, group: str, what: str, runs: Sequence[int], costs: Sequence[float]
    ) -> None:
        self._tracker = context.statusTracker()
        self._group = group
        self._what = what
        self._partitions = len(runs)
        self._runs_done = [0, *accumulate(runs)]
        self._cost_done = [0.0, *accumulate(costs)]
        self._begin_s = time.monotonic()

    def line(self) -> str:
        done = self._partitions_done()
        runs, runs_all = self._runs_done[done], self._runs_done[-1]
        elapsed_s = time.monotonic() - self._begin_s
        line = f"{self._what}: {runs} of {runs_all} runs done, {runs_all - runs} left, {duration(elapsed_s)} so far"
        if 0 < done < self._partitions:
            left_s = elapsed_s * (self._cost_done[-1] / self._cost_done[done] - 1)
            line += f", about {duration(left_s)} to go"
        return line

    def _partitions_done(self) -> int:
        for job in sorted(self._tracker.getJobIdsForGroup(self._group), reverse=True):
            info = self._tracker.getJobInfo(job)
            for stage in sorted(info.stageIds if info else (), reverse=True):
                status = self._tracker.getStageInfo(stage)
                if status is not None and status.numTasks == self._partitions:
                    return min(status.numCompletedTasks, self._partitions)
        return 0


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _on_terminal(watch: _Watch, over: threading.Event, stream: TextIO) -> None:
    with Live(watch.line(), console=Console(file=stream), refresh_per_second=1 / POLL_EVERY_S) as live:
        while not over.wait(POLL_EVERY_S):
            live.update(watch.line())
        live.update(watch.line())


def _in_log(watch: _Watch, over: threading.Event, stream: TextIO) -> None:
    while not over.wait(LOG_EVERY_S):
        print(watch.line(), file=stream, flush=True)

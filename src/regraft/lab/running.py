"""Runs an experiment: the sweep, the measures, the results, the report.

Everything is written into a folder that gets the name `DIR` when all of it is there, and vanishes if anything goes
wrong or the user has had enough. `DIR` must not exist, which is looked at before a session is started.

What is measured where: each measure is asked of the runs that need it, told apart by their trace's level. The results
are a few rows a figure, and the only thing that the driver ever holds.
"""

import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from regraft.lab.experiment import Experiment, Point, Series, seed_numbers
from regraft.lab.record import Record, commit, package_version, size_bytes, write_record
from regraft.lab.report import write_report
from regraft.lab.results import Result, write_results
from regraft.pipeline import PointOf, Trace, measures, outcomes, results, spark_session, spark_trouble, sweep
from regraft.trace import whole_directory

TRACE = "trace"


def run_experiment(experiment: Experiment, seeds: int, out: Path, master: str | None = None) -> Record:
    """Fill `out` with trace, results and report."""
    tasks = list(experiment.tasks(seed_numbers(seeds)))
    with whole_directory(out.absolute()) as folder, spark_session(master, name=f"regraft {experiment.name}") as session:
        begin_s = time.monotonic()
        trace = sweep(session, tasks, folder / TRACE)
        simulated_s = time.monotonic() - begin_s
        with _told("measuring"), spark_trouble(f"measuring {experiment.name}"):
            found = _measure(experiment, trace)
            rows, violations = trace.count(), outcomes(trace).where("violations > 0").count()
        record = Record(
            experiment=experiment.name,
            seeds=seeds,
            runs=len(tasks),
            settings=dict(experiment.overlaid),
            figures=[figure.name for figure in experiment.figures],
            commit=commit(),
            version=package_version(),
            master=str(session.sparkContext.master),
            simulated_s=round(simulated_s, 1),
            measured_s=round(time.monotonic() - begin_s - simulated_s, 1),
            trace_rows=rows,
            trace_bytes=size_bytes(folder / TRACE),
            violations=violations,
            cores=os.cpu_count() or 1,
            python=platform.python_version(),
        )
        write_results(folder, found)
        write_record(folder, record)
        write_report(folder, experiment, record, found)
    return record


def _measure(experiment: Experiment, trace: Trace) -> list[Result]:
    """Every point's value, in the order of the declaration."""
    by_level: dict[str, list[PointOf]] = {}
    for figure in experiment.figures:
        for series in figure.series:
            for point in series.points:
                level = point.group.cell.level
                by_level.setdefault(level, []).append(_point_of(experiment, figure.name, series, point))
    found = []
    for points in by_level.values():
        groups = sorted({group for point in points for group in (point.group, point.baseline) if group is not None})
        runs = trace.where(_in_groups(groups))
        values = measures(runs, sorted({point.measure for point in points})).persist()
        found += [row.asDict() for row in results(values, points).collect()]
        values.unpersist()
    order = {
        (figure.name, series.name, series.metric): (place, position)
        for place, figure in enumerate(experiment.figures)
        for position, series in enumerate(figure.series)
    }
    rows = [Result(experiment=experiment.name, **row) for row in found]
    return sorted(
        rows, key=lambda row: (order[row.figure, row.series, row.metric], row.x if row.x is not None else 0.0)
    )


def _point_of(experiment: Experiment, figure: str, series: Series, point: Point) -> PointOf:
    return PointOf(
        figure=figure,
        series=series.name,
        metric=series.metric,
        measure=series.measure,
        group=experiment.group_name(point.group),
        baseline=None if point.baseline is None else experiment.group_name(point.baseline),
        x=point.x,
        paper=point.paper,
    )


def _in_groups(groups: Sequence[str]) -> str:
    """A condition on the partition column alone, so that only these runs' files are opened."""
    listed = ", ".join(f"'{group}'" for group in groups)
    return f"regexp_replace(run, '/[^/]*$', '') IN ({listed})"


@contextmanager
def _told(what: str) -> Iterator[None]:
    begin_s = time.monotonic()
    print(f"{what} ...", file=sys.stderr, flush=True)
    yield
    print(f"{what}: done after {time.monotonic() - begin_s:.0f} s", file=sys.stderr, flush=True)

"""A small icdcs03, a small debs06 and the guarantees, from the declaration to the report, against plain simulations."""

import json
import signal
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from regraft.errors import UsageError
from regraft.lab import Experiment, find_experiment, read_record, read_results, run_experiment, running
from regraft.lab.experiment import Group, Settings
from regraft.lab.results import Result
from regraft.sim import Outcome, simulate
from regraft.trace import read_run, run_names

pytestmark = pytest.mark.jvm

SEEDS = 2
LARGEST = 20.0
SIMPLE: Settings = {"changes.until_s": "4.0", "duration_s": "8.0"}


def small(experiment: Experiment) -> Experiment:
    """The same figures for the two smallest networks."""
    figures = []
    for figure in experiment.figures:
        series = [replace(s, points=tuple(p for p in s.points if (p.x or 0.0) <= LARGEST)) for s in figure.series]
        figures.append(replace(figure, series=tuple(series)))
    return replace(experiment, figures=tuple(figures))


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return small(find_experiment("icdcs03").restricted(["6b", "6e"]).overlay(SIMPLE))


@pytest.fixture(scope="module")
def directory(spark: SparkSession, experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lab") / "icdcs03"
    run_experiment(experiment, SEEDS, out, spark.sparkContext.master)
    return out


def hops_and_outcome(experiment: Experiment, group: Group, seed: int) -> tuple[int, Outcome]:
    """The (un)subscriptions that reconfigurations caused, counted without Spark."""
    run = simulate(experiment.scenario(group), seed, name="direct", trace=group.cell.level)
    table = pa.Table.from_batches(run.batches())
    control = pc.is_in(table["message"], pa.array(["subscribe", "unsubscribe"]))
    caused = pc.and_(pc.equal(table["kind"], "hop"), pc.equal(table["cause"], "reconfiguration"))
    assert run.outcome is not None
    return pc.sum(pc.and_(caused, control)).as_py() or 0, run.outcome


def overhead(experiment: Experiment, group: Group, seed: int) -> int:
    hops, outcome = hops_and_outcome(experiment, group, seed)
    return hops + outcome.misrouted


def test_each_run_is_in_the_trace_once(directory: Path, experiment: Experiment) -> None:
    assert run_names(directory / "trace") == sorted(task.run for task in experiment.tasks(range(1, SEEDS + 1)))


def test_there_is_a_result_for_every_point(directory: Path, experiment: Experiment) -> None:
    results = read_results(directory)
    wanted = [
        (figure.name, series.name, series.metric, point.x)
        for figure in experiment.figures
        for series in figure.series
        for point in series.points
    ]
    assert [(row.figure, row.series, row.metric, row.x) for row in results] == wanted
    assert {row.runs for row in results} == {SEEDS}


def test_an_improvement_is_the_mean_over_the_seeds_of_what_plain_simulations_give(
    directory: Path, experiment: Experiment
) -> None:
    (figure,) = experiment.restricted(["6b"]).figures
    series = figure.series[1]
    point = series.points[1]
    assert point.baseline is not None
    improvements = []
    for seed in range(1, SEEDS + 1):
        before, after = overhead(experiment, point.baseline, seed), overhead(experiment, point.group, seed)
        improvements.append(100 * (before - after) / before)
    (found,) = rows(directory, "6b", series.name, "improvement", point.x)
    assert found.mean == pytest.approx(fmean(improvements))


def test_messages_and_misrouted_events_are_counted_as_the_simulator_counts_them(
    directory: Path, experiment: Experiment
) -> None:
    (figure,) = experiment.restricted(["6e"]).figures
    group = next(series.points[1].group for series in figure.series if series.name == "deferred, misrouted events")
    direct = [hops_and_outcome(experiment, group, seed) for seed in range(1, SEEDS + 1)]
    (control,) = rows(directory, "6e", "deferred, (un)subscriptions", "messages", LARGEST)
    (misrouted,) = rows(directory, "6e", "deferred, misrouted events", "misrouted", LARGEST)
    assert control.mean == fmean(hops for hops, _ in direct)
    assert misrouted.mean == fmean(outcome.misrouted for _, outcome in direct)
    assert misrouted.mean > 0


def test_everything_that_was_promised_is_there(directory: Path, experiment: Experiment) -> None:
    names = {file.name for file in directory.iterdir()}
    assert names == {"trace", "results.parquet", "results.jsonl", "experiment.json", "report.html", "figures"}
    assert {file.name for file in (directory / "figures").iterdir()} == {f"{f.name}.svg" for f in experiment.figures}
    record = read_record(directory)
    assert record.runs == len(run_names(directory / "trace"))
    assert record.trace_rows == sum(
        read_run(directory / "trace", run).num_rows for run in run_names(directory / "trace")
    )
    assert record.violations == 0
    assert record.settings == SIMPLE
    assert pq.read_table(directory / "results.parquet").num_rows == len(read_results(directory))
    assert len((directory / "results.jsonl").read_text().splitlines()) == len(read_results(directory))


def test_a_directory_that_exists_is_refused_before_any_work(
    directory: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "spark_session", lambda *_, **__: pytest.fail("a session was started"))
    before = sorted(file for file in directory.rglob("*"))
    with pytest.raises(UsageError, match="icdcs03"):
        run_experiment(experiment, SEEDS, directory)
    assert sorted(file for file in directory.rglob("*")) == before


def test_a_run_that_is_interrupted_leaves_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "write_report", interrupt)
    one = find_experiment("guarantees").restricted(["one_break"])
    with pytest.raises(KeyboardInterrupt):
        run_experiment(one, 1, tmp_path / "out", spark.sparkContext.master)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_sweep_that_is_told_to_end_ends_quietly_and_leaves_nothing(tmp_path: Path, number: int) -> None:
    line = ["lab", "run", "icdcs03", "--figures", "6b", "--seeds", "30", "--master", "local[1]"]
    with (tmp_path / "log").open("w") as log:
        command = [sys.executable, "-m", "regraft.cli", *line, "--out", str(tmp_path / "out")]
        # Whoever runs the tests in the background may have had Ctrl-C ignored.
        process = subprocess.Popen(
            command, stderr=log, stdout=log, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        )
    deadline_s = time.monotonic() + 120
    while not list(tmp_path.rglob("*.parquet")):
        assert process.poll() is None, (tmp_path / "log").read_text()
        assert time.monotonic() < deadline_s
        time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    said = (tmp_path / "log").read_text()
    assert [line for line in said.splitlines() if not line.startswith(("sweep: ", "WARNING: Using incubator"))] == []
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_the_guarantees_are_the_means_of_what_the_simulator_saw(spark: SparkSession, tmp_path: Path) -> None:
    one = find_experiment("guarantees").restricted(["planned_exchange"])
    run_experiment(one, SEEDS, tmp_path / "out", spark.sparkContext.master)
    for group in one.groups():
        outcomes = [hops_and_outcome(one, group, seed)[1] for seed in range(1, SEEDS + 1)]
        numbers = [outcome.numbers for outcome in outcomes if outcome.numbers is not None]
        expected = {
            "lost": fmean(number.lost for number in numbers),
            "duplicated": fmean(number.duplicated for number in numbers),
            "fifo": fmean(number.out_of_order for number in numbers),
            "wrong_entries": fmean(outcome.wrong_entries for outcome in outcomes),
        }
        for metric, mean in expected.items():
            (found,) = rows(tmp_path / "out", "planned_exchange", group.protocol, metric, None)
            assert (found.mean, found.runs) == (mean, SEEDS)
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert {json.loads(line)["metric"] for line in lines} == {
        *("lost", "duplicated", "fifo", "causal", "wrong_entries", "messages", "floor_ratio", "touched_off_path")
    }


def rows(directory: Path, figure: str, series: str, metric: str, x: float | None) -> list[Result]:
    return [
        row
        for row in read_results(directory)
        if (row.figure, row.series, row.metric, row.x) == (figure, series, metric, x)
    ]


@pytest.fixture(scope="module")
def debs06(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, Path]:
    few = {"changes.count_max": "4", "brokers": "20", "tree.nodes": "400", "tree.domains": "10"}
    few |= {"publications.publishers": "10"}
    small = find_experiment("debs06").overlay(few)
    out = tmp_path_factory.mktemp("lab") / "debs06"
    run_experiment(small, SEEDS, out, spark.sparkContext.master)
    return small, out


def by_cycle(experiment: Experiment, group: Group, seed: int) -> dict[str, dict[float, float]]:
    """Messages and delay of events by the length of the cycle, without Spark."""
    run = simulate(experiment.scenario(group), seed, name="direct", trace=group.cell.level)
    length, held, messages = {}, defaultdict(list), defaultdict(list)
    exchange = ""
    for row in pa.Table.from_batches(run.batches()).to_pylist():
        if row["kind"] == "reconfiguration_begin":
            exchange = row["reconfiguration"]
            length[exchange] = len(json.loads(row["attributes"])["cycle"])
            messages[exchange] = []
        elif row["kind"] == "hop" and row["message"] != "event" and row["cause"] == "reconfiguration" and exchange:
            messages[exchange].append(row)
        elif row["kind"] == "release" and row["message"] == "event":
            held[row["reconfiguration"]].append(json.loads(row["attributes"]))
    counts, delays = defaultdict(list), defaultdict(list)
    for name, rows in messages.items():
        counts[length[name]].append(len(rows))
    for name, queues in held.items():
        waited_ns, count = (sum(queue[key] for queue in queues) for key in ("waited_ns", "count"))
        delays[length[name]].append(waited_ns / count / 1e6)
    return {name: {x: fmean(found[x]) for x in found} for name, found in (("messages", counts), ("delay_ms", delays))}


@pytest.mark.parametrize(("figure", "metric"), [("4", "messages"), ("5", "delay_ms")])
def test_an_exchange_is_measured_by_the_length_of_its_cycle(
    debs06: tuple[Experiment, Path], figure: str, metric: str
) -> None:
    experiment, directory = debs06
    (declared,) = [one for one in experiment.figures if one.name == figure]
    for series in declared.series:
        if (series.metric, series.drawn) != (metric, True):
            continue
        runs = [by_cycle(experiment, series.points[0].group, seed)[metric] for seed in range(1, SEEDS + 1)]
        expected = {x: fmean(run[x] for run in runs if x in run) for x in {x for run in runs for x in run}}
        wanted = (figure, series.name, metric)
        results = [row for row in read_results(directory) if (row.figure, row.series, row.metric) == wanted]
        found = {row.x: row.mean for row in results}
        assert found == pytest.approx(expected)
        assert found


def test_no_coordinated_exchange_loses_or_duplicates(debs06: tuple[Experiment, Path]) -> None:
    _, directory = debs06
    found = {(row.series, row.metric): row.mean for row in read_results(directory) if row.figure == "loss"}
    for protocol in ("coordinated-fifo", "coordinated-causal"):
        assert (found[protocol, "owed"] or 0) > 0
        assert found[protocol, "lost"] == found[protocol, "duplicated"] == found[protocol, "fifo"] == 0
    assert found["coordinated-causal", "causal"] == 0
    assert "claims of the paper" in (directory / "report.html").read_text()

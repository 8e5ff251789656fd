"""A sweep's table is what the runs are one by one, on this machine and on a cluster, or there is no table."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipeline.cluster import standalone_cluster
from regraft.errors import RegraftError, UsageError
from regraft.pipeline import SweepTask, outcomes, read_trace, spark_trouble, sweep
from regraft.pipeline.progress import progress
from regraft.sim import parse_scenario, simulate
from regraft.trace import read_run, read_runs, run_names

pytestmark = pytest.mark.jvm

SETTINGS = {
    "brokers": "8",
    "duration_s": "2.0",
    "subscriptions.acknowledged": "true",
    "subscriptions.subscribers": "0.5",
    "publications.until_s": "2.0",
    "publications.rate_hz": "10.0",
    "changes.from_s": "0.5",
    "changes.until_s": "1.5",
}
SCENARIO = parse_scenario("", SETTINGS, "test")
TASKS = [
    SweepTask(
        f"test/small/{protocol}/{seed}", parse_scenario("", {**SETTINGS, "protocol": protocol}, "test"), seed, level
    )
    for protocol, level in (("strawman", "full"), ("deferred", "counted"))
    for seed in (1, 2)
]


def directly(task: SweepTask) -> pa.Table:
    return pa.Table.from_batches(simulate(task.scenario, task.seed, name=task.run, trace=task.level).batches())


@pytest.fixture(scope="module")
def swept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sweep") / "trace"
    sweep(spark, TASKS, directory)
    return directory


def test_each_run_is_the_run_that_is_made_directly(swept: Path) -> None:
    assert run_names(swept) == sorted(task.run for task in TASKS)
    for task in TASKS:
        assert read_run(swept, task.run).equals(directly(task).combine_chunks())


def test_spark_reads_the_same_rows_and_outcomes(spark: SparkSession, swept: Path) -> None:
    trace = read_trace(spark, swept)
    assert trace.count() == sum(directly(task).num_rows for task in TASKS)
    fingerprints = {row.run: row.fingerprint for row in outcomes(trace).collect()}
    for task in TASKS:
        run = simulate(task.scenario, task.seed, name=task.run, trace=task.level)
        for _ in run.batches():
            pass
        assert run.outcome is not None
        assert fingerprints[task.run] == run.outcome.fingerprint


def test_a_run_is_written_in_order_into_one_file(swept: Path) -> None:
    for folder in swept.glob("run=*"):
        (file,) = folder.glob("*.parquet")
        positions = pq.read_table(file, columns=["n"], partitioning=None)["n"]
        assert pc.all(pc.equal(positions, pa.array(range(len(positions))))).as_py()


def test_several_runs_in_one_partition_are_the_same_runs(
    spark: SparkSession, tmp_path: Path, swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["regraft.pipeline.sweep"], "PARTITIONS_MAX", 1)
    sweep(spark, TASKS, tmp_path / "trace")
    assert read_runs(tmp_path / "trace").equals(read_runs(swept))


def test_a_directory_that_exists_is_refused_before_any_work(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    begin_s = time.monotonic()
    with pytest.raises(UsageError, match="exists already"):
        sweep(spark, TASKS, tmp_path)
    assert time.monotonic() - begin_s < 0.5
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]


def test_a_run_that_fails_is_named_and_nothing_is_left(spark: SparkSession, tmp_path: Path) -> None:
    broken = msgspec.structs.replace(SCENARIO, duration_s=-1.0)
    with pytest.raises(UsageError, match=r"sweep into .*trace: run bad/1, duration_s: must be between 0 and"):
        sweep(spark, [*TASKS, SweepTask("bad/1", broken, 1)], tmp_path / "trace")
    assert list(tmp_path.iterdir()) == []


def test_a_bug_of_ours_keeps_its_traceback(spark: SparkSession) -> None:
    def buggy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ZeroDivisionError("a bug")
        yield from batches

    with pytest.raises(Exception, match="a bug") as caught, spark_trouble("doing something"):
        spark.range(1).mapInArrow(buggy, "id bigint").count()
    assert not isinstance(caught.value, RegraftError)


def test_a_damaged_run_set_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    directory = tmp_path / "trace"
    sweep(spark, TASKS[:1], directory)
    (file,) = directory.rglob("*.parquet")
    for crc in directory.rglob(".*.crc"):
        crc.unlink()
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(RegraftError, match=r"trace: no trace, or cut off: .*parquet"):
        read_trace(spark, directory)


def test_a_run_without_its_end_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    begin = spark.createDataFrame(directly(TASKS[0]).slice(0, 100))
    begin.write.partitionBy("run").parquet(str(tmp_path / "trace"))
    with pytest.raises(RegraftError, match=f"cut off: run '{TASKS[0].run}' has no 'run_end' row"):
        read_trace(spark, tmp_path / "trace")


def test_progress_says_what_is_done_and_what_is_left(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tasks wait until what they wait for has been said, so that no clock decides what can be said."""
    monkeypatch.setattr("regraft.pipeline.progress.LOG_EVERY_S", 0.2)
    begun, two_done = tmp_path / "begun", tmp_path / "two done"

    def waiting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            said = begun if batch["id"][0].as_py() < 2 else two_done
            deadline_s = time.monotonic() + 60
            while not said.exists() and time.monotonic() < deadline_s:
                time.sleep(0.02)
            yield batch

    class Listener(StringIO):
        def write(self, text: str) -> int:
            if "test: 0 of 12 runs done, 12 left" in text:
                begun.touch()
            if "test: 4 of 12 runs done, 8 left, " in text and " to go" in text:
                two_done.touch()
            return super().write(text)

    listener = Listener()
    tasks = spark.range(0, 6, 1, numPartitions=6).mapInArrow(waiting, "id bigint")
    with progress(spark.sparkContext, "test", [2] * 6, [6, 5, 4, 3, 2, 1], listener):
        tasks.write.format("noop").mode("overwrite").save()
    assert listener.getvalue().startswith("test: 0 of 12 runs done, 12 left, 0 s so far")
    assert two_done.exists(), listener.getvalue()
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


ON_CLUSTER = """
import sys
from pathlib import Path
from pipeline.test_sweep import TASKS
from regraft.pipeline import spark_session, sweep

def where(batches):
    import pyarrow, regraft
    for batch in batches:
        yield pyarrow.RecordBatch.from_pydict({"place": [next(iter(regraft.__path__))]})

if __name__ == "__main__":
    with spark_session(sys.argv[1]) as session:
        sweep(session, TASKS, Path(sys.argv[2]))
        executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
        (place,) = session.range(1, numPartitions=1).mapInArrow(where, "place string").collect()
        print(f"executors {executors}, package from {place.place}")
"""


def test_a_cluster_of_two_workers_gives_the_same_table(swept: Path, tmp_path: Path) -> None:
    script = tmp_path / "on_cluster.py"
    script.write_text(ON_CLUSTER)
    with standalone_cluster(tmp_path, workers=2) as url:
        done = subprocess.run(
            [sys.executable, str(script), url, str(tmp_path / "trace")],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert done.returncode == 0, done.stderr
    assert "executors 2, package from " in done.stdout
    assert "regraft.zip" in done.stdout, "the workers are to use the package that was sent to them"
    assert read_runs(tmp_path / "trace").equals(read_runs(swept))

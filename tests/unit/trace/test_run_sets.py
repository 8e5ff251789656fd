"""A run set on disk comes back as it was written, appears whole or not at all, and is refused when it is damaged."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regraft.errors import RegraftError, UsageError
from regraft.trace import (
    SCHEMA,
    RunSetWriter,
    TraceBuffer,
    fingerprint_of,
    read_run,
    read_runs,
    run_folder,
    run_names,
)

STRANGE = "icdcs03/6b rho=0.03/deferred/ü%/1"


def batches_of(run: str, rows: int = 5) -> Iterator[pa.RecordBatch]:
    buffer = TraceBuffer(run, rows_per_batch=2)
    for position in range(rows):
        buffer.append((position, "hop", "b1", "b2", None, None, "x > 1", "subscribe", "client", None, 40, None))
        if buffer.full:
            yield buffer.flush()
    yield buffer.finish(rows, {"violations": []})[0]


def written(directory: Path, *runs: str) -> Path:
    with RunSetWriter(directory) as writer:
        for run in runs:
            writer.write(run, batches_of(run))
    return directory


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    directory = written(tmp_path / "set", STRANGE, "other")
    assert run_names(directory) == sorted([STRANGE, "other"])
    table = read_run(directory, STRANGE)
    assert table.schema == SCHEMA
    assert table.equals(pa.Table.from_batches(batches_of(STRANGE)).combine_chunks())
    assert fingerprint_of(table) in table["attributes"][-1].as_py()
    assert read_runs(directory).num_rows == 12


def test_rows_come_in_order_though_the_files_do_not(tmp_path: Path) -> None:
    folder = tmp_path / "set" / run_folder("r")
    folder.mkdir(parents=True)
    table = pa.Table.from_batches(batches_of("r")).drop_columns("run")
    pq.write_table(table.slice(3), folder / "part-a.parquet")
    pq.write_table(table.slice(0, 3), folder / "part-b.parquet")
    assert read_run(tmp_path / "set", "r")["n"].to_pylist() == [0, 1, 2, 3, 4, 5]


def test_a_directory_that_exists_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    with pytest.raises(UsageError, match="exists already"), RunSetWriter(tmp_path / "set"):
        pytest.fail("the block must not be entered")
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_a_failure_on_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    def cut() -> Iterator[pa.RecordBatch]:
        yield next(batches_of("r"))
        raise RuntimeError("the world ended")

    with pytest.raises(RuntimeError, match="the world ended"), RunSetWriter(tmp_path / "set") as writer:
        writer.write("r", cut())
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_came_into_being_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    writer = RunSetWriter(tmp_path / "set")
    writer.__enter__()
    writer.write("r", batches_of("r"))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "theirs").write_text("kept")
    with pytest.raises(RegraftError, match="cannot be written"):
        writer.__exit__(None, None, None)
    assert [path.name for path in tmp_path.rglob("*")] == ["set", "theirs"]


def test_a_place_that_cannot_hold_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegraftError, match="file/set: cannot be written"), RunSetWriter(tmp_path / "file" / "set"):
        pytest.fail("the block must not be entered")


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    directory = written(tmp_path / "set", "r")
    file = next(directory.rglob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(RegraftError, match=r"run=r/part-0\.parquet: not a Parquet file, or cut off"):
        read_run(directory, "r")


def test_a_run_without_its_end_is_cut_off(tmp_path: Path) -> None:
    with RunSetWriter(tmp_path / "set") as writer:
        writer.write("r", list(batches_of("r"))[:-1])
    with pytest.raises(RegraftError, match="run=r: cut off"):
        read_run(tmp_path / "set", "r")


def test_a_run_whose_rows_were_changed_is_damaged(tmp_path: Path) -> None:
    for number, (column, value) in enumerate((("t_ns", 7), ("peer", "b3"), ("attributes", "{}"), ("attributes", "{"))):
        rows = pa.Table.from_batches(batches_of("r")).to_pylist()
        rows[-1 if column == "attributes" else 2][column] = value
        with RunSetWriter(tmp_path / f"{number}") as writer:
            writer.write("r", pa.Table.from_pylist(rows, SCHEMA).to_batches())
        with pytest.raises(RegraftError, match="run=r: damaged"):
            read_run(tmp_path / f"{number}", "r")


def test_no_flipped_bit_is_taken_for_another_story(tmp_path: Path) -> None:
    directory = written(tmp_path / "set", "r")
    whole = read_run(directory, "r")
    file = next(directory.rglob("*.parquet"))
    data = file.read_bytes()
    refused = 0
    for place in range(0, len(data), 23):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        try:
            content = read_run(directory, "r").drop_columns("n")
        except RegraftError:
            refused += 1
        else:  # a bit that says nothing about the rows, or one of the outcome beside the fingerprint
            assert content.slice(0, 5).equals(whole.drop_columns("n").slice(0, 5))
    assert refused > 30


def test_a_parquet_file_of_something_else_is_no_trace(tmp_path: Path) -> None:
    folder = tmp_path / "set" / run_folder("r")
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"n": [1], "kind": ["hop"]}), folder / "part.parquet")
    with pytest.raises(RegraftError, match=r"part\.parquet: no trace: it lacks the columns t_ns"):
        read_run(tmp_path / "set", "r")
    wrong = pa.table({name: ["x"] for name in SCHEMA.names if name != "run"})
    pq.write_table(wrong, folder / "part.parquet")
    with pytest.raises(RegraftError, match=r"part\.parquet: no trace"):
        read_run(tmp_path / "set", "r")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such directory"),
        (lambda path: path.write_text("x"), "not a directory"),
        (lambda path: path.mkdir(), "no trace"),
    ],
)
def test_what_is_no_run_set_is_refused(tmp_path: Path, make, message: str) -> None:  # type: ignore[no-untyped-def]
    make(tmp_path / "set")
    with pytest.raises(RegraftError, match=message):
        run_names(tmp_path / "set")


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no run 'q'"):
        read_run(written(tmp_path / "set", "r"), "q")

"""Reads a run set, or one run of it, back as Arrow.

For whoever wants one run in memory (`explain`, a test, a notebook); questions over many runs go through `pipeline/`,
which lets Spark read the same files. A run's rows come in the order of `n`, wherever the files were written.

What is no trace, or not a whole one, is refused with the file or the run named: a file that is cut off, a Parquet
file of something else, a run whose `run_end` is missing, rows that have not the fingerprint that their run closes with.
"""

import json
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from regraft.errors import RegraftError, UsageError
from regraft.trace.fingerprint import Fingerprint
from regraft.trace.schema import KIND_RUN_END, SCHEMA
from regraft.trace.writer import run_folder


def run_names(directory: Path) -> list[str]:
    """The runs of a run set, sorted."""
    if not directory.exists():
        raise UsageError(f"{directory}: no such directory")
    if not directory.is_dir():
        raise UsageError(f"{directory}: not a directory; a trace is a directory of runs")
    names = sorted(unquote(folder.name[4:]) for folder in directory.iterdir() if folder.name.startswith("run="))
    if not names:
        raise RegraftError(f"{directory}: no trace: it holds no folder run=NAME")
    return names


def read_run(directory: Path, run: str) -> pa.Table:
    """The rows of one run in the order of `n`."""
    if run not in run_names(directory):
        raise UsageError(f"{directory}: has no run {run!r}")
    folder = directory / run_folder(run)
    if not folder.is_dir():
        # Spark leaves more characters unescaped than we do.
        folder = next(other for other in directory.iterdir() if unquote(other.name) == f"run={run}")
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise RegraftError(f"{folder}: no trace: it holds no Parquet file")
    table = pa.concat_tables(_read_file(file, run) for file in files).sort_by("n")
    ends = pc.sum(pc.equal(table["kind"], KIND_RUN_END)).as_py() or 0
    if ends != 1 or not pc.equal(table["kind"][-1], KIND_RUN_END).as_py():
        raise RegraftError(f"{folder}: cut off: the run does not close with its {KIND_RUN_END!r} row")
    if _closing_fingerprint(table) != fingerprint_of(table):
        raise RegraftError(f"{folder}: damaged: its rows do not have the fingerprint that its last row tells")
    return table


def read_runs(directory: Path) -> pa.Table:
    """All runs, one after the other, each in the order of `n`."""
    return pa.concat_tables(read_run(directory, run) for run in run_names(directory))


def fingerprint_of(run: pa.Table) -> str:
    """The fingerprint made again from what was read of one run, without `run_end`, as when it was written."""
    fingerprint = Fingerprint()
    for batch in run.filter(pc.not_equal(run["kind"], KIND_RUN_END)).to_batches():
        fingerprint.update(batch)
    return fingerprint.hexdigest()


def _closing_fingerprint(run: pa.Table) -> str | None:
    try:
        told: str = json.loads(run["attributes"][-1].as_py())["fingerprint"]
    except (ValueError, TypeError, KeyError):  # not even JSON, or not even text: it is damaged
        return None
    return told


def _read_file(file: Path, run: str) -> pa.Table:
    try:
        table = pq.ParquetFile(file).read()
        columns = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise RegraftError(f"{file}: not a Parquet file, or cut off: {str(error).splitlines()[0]}") from error
    missing = [name for name in SCHEMA.names if name != "run" and name not in columns]
    if missing:
        raise RegraftError(f"{file}: no trace: it lacks the columns {', '.join(missing)}")
    name = pa.repeat(pa.scalar(run, pa.string()), table.num_rows)
    try:
        return pa.table([name, *(table[column] for column in SCHEMA.names[1:])], names=SCHEMA.names).cast(SCHEMA)
    except (pa.ArrowException, ValueError) as error:
        raise RegraftError(f"{file}: no trace: {str(error).splitlines()[0]}") from error

"""From rows to Arrow batches to Parquet files.

`TraceBuffer` is what a world writes into. Rows wait as one flat list of cells, and `append` is that list's `extend`:
a row costs the making of one tuple that dies at once, and a column is a slice with a stride. `run` and `n` are not in
the tuple but added at `flush`, which turns the waiting rows into one `pyarrow.RecordBatch`. Whoever drives the world
flushes when the buffer is `full`; nothing else bounds it.

`RunSetWriter` keeps runs in a directory: `DIRECTORY/run=NAME/part-0.parquet`, the layout that Spark reads and writes
(`NAME` percent-encoded, the column `run` in the path alone). It writes into a hidden folder beside `DIRECTORY` and
gives it its name when everything is whole, so a directory that exists is a run set that was finished. It never writes
into one that exists.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regraft.errors import RegraftError, UsageError
from regraft.trace.fingerprint import CONTENT_COLUMNS, Fingerprint
from regraft.trace.schema import KIND_RUN_END, SCHEMA

ROWS_PER_BATCH = 16_384

# A row as a world writes it: `CONTENT_COLUMNS` in order, that is every column of the schema but `run` and `n`.
Row = tuple[
    int,  # t_ns
    str,  # kind
    str | None,  # broker
    str | None,  # peer
    str | None,  # client
    str | None,  # event
    str | None,  # filter
    str | None,  # message
    str | None,  # cause
    str | None,  # reconfiguration
    int | None,  # bytes
    str | None,  # attributes
]

_CONTENT_TYPES = tuple(SCHEMA.field(name).type for name in CONTENT_COLUMNS)


class TraceBuffer:
    """The rows of one run, on their way into batches. `append(row)` is the fast path and checks nothing; `flush`
    does."""

    def __init__(self, run: str, rows_per_batch: int = ROWS_PER_BATCH) -> None:
        self.run = run
        self.rows_flushed = 0
        self._cells: list[Any] = []
        self._cells_per_batch = rows_per_batch * len(CONTENT_COLUMNS)
        self._fingerprint = Fingerprint()
        self.append: Callable[[Row], None] = self._cells.extend

    @property
    def full(self) -> bool:
        return len(self._cells) >= self._cells_per_batch

    def __len__(self) -> int:
        """Rows that wait for the next flush."""
        return len(self._cells) // len(CONTENT_COLUMNS)

    def flush(self) -> pa.RecordBatch:
        """The waiting rows as one batch, possibly an empty one; they are in the fingerprint from now on."""
        batch = self._batch()
        self._fingerprint.update(batch)
        return batch

    def finish(self, t_ns: int, outcome: Mapping[str, Any]) -> tuple[pa.RecordBatch, str]:
        """The last batch, closed by the `run_end` row, and the fingerprint of all the rows before that one.

        `run_end` holds the fingerprint and `outcome` as JSON; it is not covered by the fingerprint, as it could not be.
        """
        last = self.flush()
        fingerprint = self._fingerprint.hexdigest()
        text = json.dumps({"fingerprint": fingerprint, **outcome}, ensure_ascii=False, separators=(",", ":"))
        self.append((t_ns, KIND_RUN_END, None, None, None, None, None, None, None, None, None, text))
        return pa.concat_batches([last, self._batch()]), fingerprint

    def _batch(self) -> pa.RecordBatch:
        cells, width, count = self._cells, len(CONTENT_COLUMNS), len(self)
        assert len(cells) == count * width, "a row has a cell too many or too few"
        arrays = [
            pa.repeat(pa.scalar(self.run, pa.string()), count),
            pa.array(np.arange(self.rows_flushed, self.rows_flushed + count, dtype=np.int64)),
            *(pa.array(cells[k::width], type_) for k, type_ in enumerate(_CONTENT_TYPES)),
        ]
        self.rows_flushed += count
        cells.clear()  # the list stays the same object: `append` is bound to it
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


@contextmanager
def whole_directory(directory: Path) -> Iterator[Path]:
    """A folder to fill that becomes `directory` when the block ends well, and vanishes when it does not.

    `directory` must not exist: `UsageError`, before anything is done. A failure leaves nothing behind but empty
    parents.
    """
    if directory.exists() or directory.is_symlink():
        raise UsageError(f"{directory}: exists already; name a directory that does not")
    partial = directory.with_name(f".{directory.name}.partial-{os.getpid()}")
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        raise RegraftError(f"{directory}: cannot be written: {error.strerror}") from error
    try:
        yield partial
        os.rename(partial, directory)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise RegraftError(f"{directory}: cannot be written: {error.strerror or error}") from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def whole_file(file: Path) -> Iterator[IO[bytes]]:
    """The same for one file: it has its name when the block ends well."""
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file}: exists already; name a file that does not")
    partial = file.with_name(f".{file.name}.partial-{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RegraftError(f"{file}: cannot be written: {error.strerror}") from error
    try:
        with partial.open("xb") as output:
            yield output
        partial.rename(file)
    except OSError as error:
        raise RegraftError(f"{file}: cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def run_folder(run: str) -> str:
    """The folder of a run inside its run set."""
    return f"run={quote(run, safe='')}"


class RunSetWriter:
    """Writes the runs of one directory; as a context manager, so that the directory appears whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self._whole = whole_directory(directory)

    def __enter__(self) -> Self:
        self._partial = self._whole.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return self._whole.__exit__(kind, error, traceback)

    def write(self, run: str, batches: Iterable[pa.RecordBatch]) -> None:
        """One run, as its batches come; a run is written once."""
        with self.open(run) as write:
            for batch in batches:
                write(batch)

    @contextmanager
    def open(self, run: str) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """The same for whoever hands the batches in."""
        folder = self._partial / run_folder(run)
        folder.mkdir()
        without_run = SCHEMA.remove(SCHEMA.get_field_index("run"))
        with pq.ParquetWriter(folder / "part-0.parquet", without_run, compression="zstd") as writer:
            yield lambda batch: writer.write_batch(batch.select(without_run.names))

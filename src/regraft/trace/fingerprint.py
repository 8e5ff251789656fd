"""A run's fingerprint: 128 bits that change when any row of the run changes.

Two runs of one (scenario, seed) must have one fingerprint: on another machine, under another hash seed, as a Spark
task that ran twice. So it covers what happened and nothing about how the rows were carried: neither the run's name,
nor where one batch ends and the next begins.

How: every column but `run` and `n` (the run's identity and the row's position) is hashed as two streams of its own,
in row order. For strings, *shape* is the length of each value as int32, with -1 for null, and *data* is the values'
bytes one after the other; for integers, *shape* is one byte a value (1, or 0 for null) and *data* the values, null as
0. Each stream is the same bytes however the rows are cut into batches. The fingerprint is the hash of the number of
rows and of all the streams' digests. Lengths beside the bytes make it impossible to move a character from one value
to the next unseen.

Only whole buffers are handed to the hash (BLAKE2b), which is why it costs a small part of a microsecond a row.
"""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from regraft.trace.schema import SCHEMA

DIGEST_BYTES = 16
IDENTITY_COLUMNS = ("run", "n")
CONTENT_COLUMNS = tuple(name for name in SCHEMA.names if name not in IDENTITY_COLUMNS)


Buffer = bytes | memoryview


class Fingerprint:
    """Fed with the batches of one run in order; `hexdigest()` may be asked at any time."""

    def __init__(self) -> None:
        self._rows = 0
        self._streams = [
            (hashlib.blake2b(digest_size=DIGEST_BYTES), hashlib.blake2b(digest_size=DIGEST_BYTES))
            for _ in CONTENT_COLUMNS
        ]

    def update(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        for name, (shape, data) in zip(CONTENT_COLUMNS, self._streams, strict=True):
            column = batch.column(name)
            shape_bytes, data_bytes = _strings(column) if pa.types.is_string(column.type) else _integers(column)
            shape.update(shape_bytes)
            data.update(data_bytes)

    def hexdigest(self) -> str:
        whole = hashlib.blake2b(self._rows.to_bytes(8, "little"), digest_size=DIGEST_BYTES)
        for shape, data in self._streams:
            whole.update(shape.digest())
            whole.update(data.digest())
        return whole.hexdigest()


def _strings(column: Any) -> tuple[Buffer, Buffer]:
    _, offsets_buffer, data_buffer = column.buffers()
    if offsets_buffer is None or len(column) == 0:
        return b"", b""
    offsets = np.frombuffer(offsets_buffer, dtype="<i4")[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    if column.null_count:
        # A null's stretch of the data buffer is empty in arrays that Arrow builds, but nothing promises it.
        missing = _missing(column)
        if lengths[missing].any():
            return _strings(pa.array(column.to_pylist(), type=column.type))
        lengths[missing] = -1
    data = b"" if data_buffer is None else memoryview(data_buffer)[int(offsets[0]) : int(offsets[-1])]
    return lengths.data, data


def _integers(column: Any) -> tuple[Buffer, Buffer]:
    present = (~_missing(column)).astype(np.uint8)
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    return present.data, np.ascontiguousarray(values).data


def _missing(column: Any) -> npt.NDArray[np.bool_]:
    missing: npt.NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return missing

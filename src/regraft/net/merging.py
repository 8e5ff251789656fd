"""The records of an overlay's brokers, put together into one run of one trace.

The brokers ran on one machine, so their clocks are one; rows are put in the order of their times, and of one time in
the order of the brokers' names. A broker whose record is missing (it was killed) is named in `run_end`.
"""

import json
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Any

import pyarrow as pa

from regraft.trace import CONTENT_COLUMNS, KIND_RUN, KIND_RUN_END, LEVEL_FULL, RunSetWriter, TraceBuffer, read_run


def merge_records(records: list[tuple[str, Path]], directory: Path, run: str) -> None:
    """`records` are the brokers, and where each has written its trace; one that was started again is there again."""
    tables = [(name, read_run(folder, name)) for name, folder in records if folder.is_dir()]
    began_ns = [json.loads(table["attributes"][0].as_py())["began_ns"] for _, table in tables]
    first_ns = min(began_ns, default=0)
    missing = [name for name, folder in records if not folder.is_dir()]
    with RunSetWriter(directory) as writer, writer.open(run) as write:
        trace = TraceBuffer(run)
        known = {
            "level": LEVEL_FULL,
            "world": "net",
            "brokers": list(dict.fromkeys(name for name, _ in records)),
            "began_ns": first_ns,
        }
        trace.append((0, KIND_RUN, *(None,) * 9, json.dumps(known)))
        rows = merge(*(_rows(table, ns - first_ns, name) for (name, table), ns in zip(tables, began_ns, strict=True)))
        last_ns = 0
        for last_ns, _, _, cells in rows:
            trace.append((last_ns, *cells))
            if trace.full:
                write(trace.flush())
        batch, _ = trace.finish(last_ns, {"violations": [], "missing": missing})
        write(batch)


def _rows(table: pa.Table, later_ns: int, name: str) -> Iterator[tuple[int, str, int, tuple[Any, ...]]]:
    """In the order of time: a broker's clock never goes back."""
    number = 0
    for batch in table.select(CONTENT_COLUMNS).to_batches(max_chunksize=16_384):
        for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if cells[1] not in (KIND_RUN, KIND_RUN_END):
                number += 1
                yield cells[0] + later_ns, name, number, cells[1:]

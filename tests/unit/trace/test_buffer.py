"""The buffer turns rows into batches of the schema, and the fingerprint sees rows and nothing else."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.trace import CONTENT_COLUMNS, KIND_RUN_END, SCHEMA, Fingerprint, TraceBuffer

text = st.text(max_size=4) | st.none()
rows = st.lists(
    st.tuples(
        st.integers(0, 2**62),
        st.text(max_size=4),
        *([text] * 8),
        st.integers(0, 2**31 - 1) | st.none(),
        text,
    ),
    max_size=30,
)


def hop(t_ns: int = 5, size: int | None = 40) -> tuple[Any, ...]:
    return (t_ns, "hop", "b1", "b2", None, "p/1", None, "event", "client", None, size, None)


def fingerprint_in_batches(content: list[tuple[Any, ...]], cuts: list[int]) -> str:
    buffer = TraceBuffer("a run")
    for position, row in enumerate(content):
        for _ in range(cuts.count(position)):
            buffer.flush()
        buffer.append(row)
    return buffer.finish(0, {})[1]


def test_a_flushed_batch_holds_the_rows_in_order_with_run_and_position() -> None:
    buffer = TraceBuffer("e/c/p/1")
    buffer.append(hop(5))
    buffer.append(hop(6, None))
    first = buffer.flush()
    buffer.append(hop(7))
    second = buffer.flush()
    assert first.schema == SCHEMA
    assert first.to_pylist()[1] == dict(zip(SCHEMA.names, ("e/c/p/1", 1, *hop(6, None)), strict=True))
    assert second["n"].to_pylist() == [2]
    assert len(buffer) == 0


def test_the_buffer_is_full_at_the_number_of_rows_of_a_batch() -> None:
    buffer = TraceBuffer("r", rows_per_batch=2)
    buffer.append(hop())
    assert not buffer.full
    buffer.append(hop())
    assert buffer.full
    buffer.flush()
    assert not buffer.full


def test_a_row_with_a_cell_too_few_is_found_at_the_flush() -> None:
    buffer = TraceBuffer("r")
    buffer.append(hop()[:-1])  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="a cell too many or too few"):
        buffer.flush()


def test_the_last_row_holds_the_fingerprint_of_all_rows_before_it() -> None:
    buffer = TraceBuffer("r")
    buffer.append(hop())
    last, fingerprint = buffer.finish(9, {"violations": []})
    end = last.to_pylist()[-1]
    assert (end["kind"], end["n"], end["t_ns"]) == (KIND_RUN_END, 1, 9)
    assert json.loads(end["attributes"]) == {"fingerprint": fingerprint, "violations": []}
    alone = Fingerprint()
    alone.update(last.slice(0, 1))
    assert alone.hexdigest() == fingerprint


@given(rows, st.lists(st.integers(0, 30), max_size=5))
def test_the_fingerprint_does_not_see_where_batches_end(content: list[tuple[Any, ...]], cuts: list[int]) -> None:
    assert fingerprint_in_batches(content, cuts) == fingerprint_in_batches(content, [])


@given(rows, rows)
def test_other_rows_have_another_fingerprint(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> None:
    assert (fingerprint_in_batches(one, []) == fingerprint_in_batches(other, [])) == (one == other)


@pytest.mark.parametrize("column", range(len(CONTENT_COLUMNS)), ids=CONTENT_COLUMNS)
def test_each_cell_counts_and_null_is_neither_empty_nor_zero(column: int) -> None:
    is_text = pa.types.is_string(SCHEMA.field(CONTENT_COLUMNS[column]).type)
    values = ("", "a", None) if is_text else (0, 1, None)
    seen = set()
    for value in values:
        if value is None and not SCHEMA.field(CONTENT_COLUMNS[column]).nullable:
            continue
        row = list(hop())
        row[column] = value
        seen.add(fingerprint_in_batches([tuple(row)], []))
    assert len(seen) == (3 if SCHEMA.field(CONTENT_COLUMNS[column]).nullable else 2)


def test_a_null_that_hides_bytes_is_a_null_like_any_other() -> None:
    batch = TraceBuffer("r")
    batch.append(hop())
    clean = batch.flush()
    position = SCHEMA.get_field_index("peer")
    hidden = pa.StringArray.from_buffers(
        1, pa.py_buffer(b"\0\0\0\0\5\0\0\0"), pa.py_buffer(b"ghost"), pa.py_buffer(b"\0"), 1
    )
    empty = pa.array([None], pa.string())
    digests = set()
    for column in (hidden, empty):
        fingerprint = Fingerprint()
        fingerprint.update(clean.set_column(position, SCHEMA.field("peer"), column))
        digests.add(fingerprint.hexdigest())
    assert len(digests) == 1

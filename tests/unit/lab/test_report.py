"""A report shows the results, marks the paper's numbers as the paper's, and is made again without a change."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from regraft.errors import RegraftError
from regraft.lab import put_in_document, read_record, read_results, write_report
from regraft.lab.drawing import svg
from regraft.lab.experiment import Experiment
from regraft.lab.guarantees import ALL_PROTOCOLS, GUARANTEES, METRICS
from regraft.lab.icdcs03 import ICDCS03
from regraft.lab.record import Record, write_record
from regraft.lab.results import Result, write_results

COLUMNS = ["experiment", "figure", "series", "x", "metric", "mean", "ci95_low", "ci95_high", "runs", "paper"]


def invented(experiment: Experiment) -> list[Result]:
    """A result for each point of the declaration; over time, two."""
    return [
        Result(experiment.name, figure.name, series.name, x, series.metric, 40.0, 38.0, 42.0, 30, point.paper)
        for figure in experiment.figures
        for series in figure.series
        for point in series.points
        for x in ([3.0, 3.05] if series.metric == "delivered_percent" else [point.x])
    ]


def record_of(experiment: Experiment, results: Sequence[Result]) -> Record:
    return Record(
        experiment=experiment.name,
        seeds=30,
        runs=len(results),
        settings={"tree": "balanced"},
        figures=[figure.name for figure in experiment.figures],
        commit="0123456789ab",
        version="0.1.0",
        master="local[*]",
        cores=2,
        python="3.11.0",
        simulated_s=60.0,
        measured_s=30.0,
        trace_rows=1_000_000,
        trace_bytes=2_000_000,
        violations=0,
    )


def test_results_come_back_as_they_were_written_with_these_columns(tmp_path: Path) -> None:
    results = [*invented(ICDCS03), Result("icdcs03", "6a", "deferred", None, "lost", 0.0, None, None, 1, None)]
    write_results(tmp_path, results)
    assert read_results(tmp_path) == results
    assert pq.read_schema(tmp_path / "results.parquet").names == COLUMNS
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [list(line) for line in lines] == [COLUMNS] * len(results)
    assert [Result(**line) for line in lines] == results


def test_the_papers_values_are_drawn_and_called_the_papers() -> None:
    (figure,) = ICDCS03.restricted(["6b"]).figures
    results = invented(ICDCS03)
    drawn = svg(figure, results)
    assert "paper's value" in drawn
    without = [Result(**{**_fields(result), "paper": None}) for result in results]
    assert "paper's value" not in svg(figure, without)


def test_every_series_that_is_drawn_is_in_the_legend() -> None:
    results = invented(ICDCS03)
    for figure in ICDCS03.figures:
        drawn = svg(figure, results)
        names = {series.name for series in figure.series}
        assert {name for name in names if f">{name}<" in drawn} == {s.name for s in figure.series if s.drawn}
        assert all(f">paper: {band.text}<" in drawn for band in figure.bands)


def test_a_report_made_again_is_the_same(tmp_path: Path) -> None:
    results = invented(ICDCS03)
    record = record_of(ICDCS03, results)
    write_report(tmp_path, ICDCS03, record, results)
    first = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    write_report(tmp_path, ICDCS03, record, results)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == first
    assert len(first) == 1 + len(ICDCS03.figures)


def test_the_report_says_where_the_numbers_come_from_and_what_does_not_fit(tmp_path: Path) -> None:
    results = invented(ICDCS03)
    write_report(tmp_path, ICDCS03, record_of(ICDCS03, results), results)
    report = (tmp_path / "report.html").read_text()
    for told in ("0123456789ab", "seeds 1 to 30", "2 cores", "set: tree=balanced", "does not fit", ">fits<", "<svg"):
        assert told in report


def test_a_document_gets_table_and_figures(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("<!-- icdcs03:begin -->\n<!-- icdcs03:end -->\n")
    results = invented(ICDCS03)
    put_in_document(document, ICDCS03, record_of(ICDCS03, results), results)
    text = document.read_text()
    assert "| 6b |" in text
    for figure in ICDCS03.figures:
        assert f"](icdcs03/{figure.name}.svg)" in text
        assert (tmp_path / "icdcs03" / f"{figure.name}.svg").exists()


def test_the_guarantees_are_one_table_with_a_row_for_each_protocol_and_fault(tmp_path: Path) -> None:
    document = tmp_path / "guarantees.md"
    document.write_text("<!-- guarantees-full:begin -->\n<!-- guarantees-full:end -->\n")
    results = invented(GUARANTEES)
    put_in_document(document, GUARANTEES, record_of(GUARANTEES, results), results)
    rows = [line for line in document.read_text().splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(ALL_PROTOCOLS) * len(GUARANTEES.figures)
    assert f"| strawman | one break |{' 40 |' * len(METRICS)}" in rows
    assert [file.name for file in tmp_path.iterdir()] == ["guarantees.md"]


def test_the_summary_of_the_guarantees_says_nought_only_where_nothing_was_seen(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text("<!-- guarantees:begin -->\n<!-- guarantees:end -->\n")
    three = ("lost", "duplicated", "fifo")
    results = [
        replace(result, mean=0.0) if result.figure == "covering" and result.metric in three else result
        for result in invented(GUARANTEES)
    ]
    put_in_document(document, GUARANTEES, record_of(GUARANTEES, results), results)
    header, _, *rows = [line for line in document.read_text().splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows] == [f"| {protocol}" for protocol in ALL_PROTOCOLS]
    cells = dict(zip(header.strip("| ").split(" | "), rows[0].strip("| ").split(" | "), strict=True))
    assert (cells["covering"], cells["one break"]) == ("0", "40 / 40 / 40")


def test_a_record_comes_back(tmp_path: Path) -> None:
    record = record_of(ICDCS03, [])
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record


@pytest.mark.parametrize("file", ["experiment.json", "results.parquet"])
def test_what_is_no_run_of_an_experiment_is_refused_by_name(tmp_path: Path, file: str) -> None:
    read = read_record if file == "experiment.json" else read_results
    with pytest.raises(RegraftError, match=file):
        read(tmp_path)
    (tmp_path / file).write_bytes(b"{")
    with pytest.raises(RegraftError, match=file):
        read(tmp_path)


def _fields(result: Result) -> dict[str, object]:
    return {column: getattr(result, column) for column in COLUMNS}

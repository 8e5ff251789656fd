"""What a run of an experiment says, to be read: as one HTML file, and as Markdown for the documentation.

Made from `results.parquet` and `experiment.json` alone, by rules: no sentence here depends on how the numbers came out,
but for the table of findings, which holds each of the paper's claims against them and says whether they fit. Both
reports have the same parts (`_parts`) and differ in how a part is written.
"""

import html
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from regraft.errors import UsageError
from regraft.lab.catalogue import CLAIMS
from regraft.lab.claims import judge
from regraft.lab.document import around_region, markdown_table, number, put_region
from regraft.lab.drawing import svg
from regraft.lab.experiment import Experiment, Figure
from regraft.lab.guarantees import ALL_PROTOCOLS, GUARANTEES, METRICS
from regraft.lab.record import Record
from regraft.lab.results import Result, of_series

HTML, FIGURES = "report.html", "figures"
FULL = f"{GUARANTEES.name}-full"
ROWS_MAX = 45  # of a series in a table

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2 { line-height: 1.2; } figure { margin: 2rem 0; } svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; } caption { text-align: left; }
td, th { border-bottom: 1px solid #ddd; padding: .2rem .6rem; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } .no { color: #b00020; } .yes { color: #006b3c; }
details { margin: .5rem 0 2rem; } summary { cursor: pointer; }
"""


EMPHASIS = re.compile(r"\*([^*]+)\*")
VERDICT_CLASSES = {"fits": ' class="yes"', "does not fit": ' class="no"'}


def figure_files(experiment: Experiment, results: Sequence[Result]) -> dict[str, str]:
    """The drawn figures, by file name."""
    return {
        f"{figure.name}.svg": svg(figure, results)
        for figure in experiment.figures
        if any(series.drawn for series in figure.series)
    }


def write_report(directory: Path, experiment: Experiment, record: Record, results: Sequence[Result]) -> None:
    """`report.html` and `figures/`; those that are there are replaced."""
    files = figure_files(experiment, results)
    folder = directory / FIGURES
    if files:
        folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    (directory / HTML).write_text(_html(experiment, _parts(experiment, record, results), files))


def put_in_document(document: Path, experiment: Experiment, record: Record, results: Sequence[Result]) -> None:
    """Into the document's region of the experiment's name; the figures into a folder of that name beside it.

    The guarantees have two: `guarantees` is the summary, `guarantees-full` the whole table.
    """
    files = figure_files(experiment, results)
    region = region_of(document, experiment)
    is_summary = region == GUARANTEES.name
    parts = _summary(experiment, record, results) if is_summary else _parts(experiment, record, results)
    put_region(document, region, _markdown(parts, experiment.name))
    folder = document.parent / experiment.name
    if files:
        folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def region_of(document: Path, experiment: Experiment) -> str:
    """The region that the document has for this experiment; `UsageError` where it has none."""
    names = [experiment.name, FULL] if experiment.name == GUARANTEES.name else [experiment.name]
    for name in names[1:]:
        with suppress(UsageError):
            around_region(document, name)
            return name
    around_region(document, names[0])
    return names[0]


def provenance(record: Record) -> str:
    settings = ", ".join(f"{key}={value}" for key, value in record.settings.items())
    return (
        f"{record.runs:,} runs, seeds 1 to {record.seeds}; commit {record.commit}; "
        f"{record.wall_s / 60:.1f} minutes on {record.cores} cores ({record.master}): simulating "
        f"{record.simulated_s / 60:.1f}, measuring {record.measured_s / 60:.1f}; trace {record.trace_rows:,} rows, "
        f"{record.trace_bytes / 1e6:,.0f} MB; "
        f"{record.violations or 'no'} runs with a violated check{f'; set: {settings}' if settings else ''}."
    )


# --- what a report says


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers are set to the right, from column `numbers_from` on. `title` where it is opened only on demand."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers_from: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    file: str
    title: str


Part = Heading | Paragraph | Table | Drawing


def _parts(experiment: Experiment, record: Record, results: Sequence[Result]) -> list[Part]:
    parts: list[Part] = []
    if experiment.name == GUARANTEES.name:
        parts += _guarantees(experiment, results)
    parts.append(Paragraph(provenance(record)))
    verdicts = judge(CLAIMS.get(experiment.name, ()), results)
    if verdicts:
        rows = tuple((v.figure, v.paper, v.ours, "fits" if v.fits else "does not fit") for v in verdicts)
        fitting = sum(verdict.fits for verdict in verdicts)
        parts.append(Paragraph(f"Of {len(verdicts)} claims of the paper, {fitting} fit."))
        parts.append(Table(("figure", "the paper", "here", ""), rows, numbers_from=4))
    for figure in experiment.figures:
        if any(series.drawn for series in figure.series):
            parts += [Heading(f"Fig. {figure.name}"), Drawing(f"{figure.name}.svg", figure.title)]
        if experiment.name != GUARANTEES.name:
            header = ("series", "metric", "x", "mean", "95 % interval", "runs", "paper")
            parts.append(Table(header, _points(figure, results), 2, f"Fig. {figure.name} in numbers"))
    return parts


def _guarantees(experiment: Experiment, results: Sequence[Result]) -> list[Part]:
    cells = {(result.figure, result.series, result.metric): result for result in results}
    rows, runs = [], []
    for protocol in ALL_PROTOCOLS:
        for figure in experiment.figures:
            found = [cells.get((figure.name, protocol, metric)) for metric in METRICS]
            runs += [result.runs for result in found if result is not None and result.metric == "lost"]
            means = (number(None if result is None else result.mean) for result in found)
            rows.append((protocol, figure.name.replace("_", " "), *means))
    header = ("protocol", "fault", *(metric.replace("_", " ") for metric in METRICS))
    meaning = f"Means over at least {min(runs, default=0)} runs; 0 means 0 in every one of them."
    faults = "; ".join(f"*{figure.name.replace('_', ' ')}*: {figure.title}" for figure in experiment.figures)
    return [Table(header, tuple(rows), numbers_from=2), Paragraph(meaning), Paragraph(f"{faults}.")]


def _summary(experiment: Experiment, record: Record, results: Sequence[Result]) -> list[Part]:
    """A protocol a row, a fault a column; in a cell the three numbers that matter."""
    means = {(result.figure, result.series, result.metric): result.mean for result in results}

    def cell(protocol: str, fault: str) -> str:
        three = [means.get((fault, protocol, metric)) for metric in ("lost", "duplicated", "fifo")]
        return "0" if not any(three) else " / ".join(number(mean) for mean in three)

    header = ("protocol", *(figure.name.replace("_", " ") for figure in experiment.figures))
    rows = [(protocol, *(cell(protocol, figure.name) for figure in experiment.figures)) for protocol in ALL_PROTOCOLS]
    wrong = [result for result in results if result.metric == "wrong_entries" and result.mean]
    runs = min((result.runs for result in results if result.metric == "lost"), default=0)
    meaning = (
        f"Lost / duplicated / out of the order of their publisher, means over {runs} runs a cell; a single 0: none of "
        "the three in any run. "
        f"Wrong table entries at the end: {f'in {len(wrong)} cells' if wrong else 'none, in any run'}. "
        f"{record.runs:,} runs, commit {record.commit}."
    )
    return [Table(header, tuple(rows), numbers_from=1), Paragraph(meaning)]


def _points(figure: Figure, results: Sequence[Result]) -> tuple[tuple[str, ...], ...]:
    """Every point of the figure; of a long series over time only the lowest and the last."""
    rows = []
    for series in figure.series:
        own = of_series(results, figure.name, series.name, series.metric)
        if len(own) > ROWS_MAX and any(point.x is None for point in series.points):
            own = [min(own, key=lambda result: result.mean if result.mean is not None else 0.0), own[-1]]
        for result in own:
            interval = f"{number(result.ci95_low)} to {number(result.ci95_high)}"
            x = "" if result.x is None else f"{result.x:g}"
            paper = "" if result.paper is None else number(result.paper)
            rows.append((result.series, result.metric, x, number(result.mean), interval, str(result.runs), paper))
    return tuple(rows)


# --- how it is written


def _markdown(parts: Sequence[Part], folder: str) -> str:
    return "\n\n".join(_markdown_part(part, folder) for part in parts)


def _markdown_part(part: Part, folder: str) -> str:
    match part:
        case Heading():
            return f"## {part.text}"
        case Paragraph():
            return part.text
        case Drawing():
            return f"![{part.title}]({folder}/{part.file})"
        case Table():
            table = markdown_table(part.header, part.rows, part.numbers_from)
            if not part.title:
                return table
            return f"<details><summary>{part.title}</summary>\n\n{table}\n\n</details>"


def _html(experiment: Experiment, parts: Sequence[Part], drawings: dict[str, str]) -> str:
    name = _text(experiment.name)
    head = f'<meta charset="utf-8"><title>{name} - Regraft</title><style>{STYLE}</style>'
    body = "\n".join(_html_part(part, drawings) for part in parts)
    heading = f"<h1>{name}: {_text(experiment.title)}</h1>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{heading}\n{body}\n</body></html>\n'


def _html_part(part: Part, drawings: dict[str, str]) -> str:
    match part:
        case Heading():
            return f"<h2>{_text(part.text)}</h2>"
        case Paragraph():
            words = EMPHASIS.sub(r"<em>\1</em>", _text(part.text))
            return f"<p>{words}</p>"
        case Drawing():
            drawing = drawings[part.file]
            return f"<figure>{drawing[drawing.index('<svg') :]}</figure>"
        case Table():
            table = _html_table(part)
            if not part.title:
                return table
            return f"<details><summary>{_text(part.title)}</summary>{table}</details>"


def _html_table(table: Table) -> str:
    rows = [_html_row("th", table.header, table.numbers_from)]
    rows += [_html_row("td", row, table.numbers_from) for row in table.rows]
    return f"<table>{''.join(rows)}</table>"


def _html_row(tag: str, cells: Sequence[str], numbers_from: int) -> str:
    written = []
    for place, cell in enumerate(cells):
        kind = ' class="n"' if place >= numbers_from else VERDICT_CLASSES.get(cell, "")
        written.append(f"<{tag}{kind}>{_text(cell)}</{tag}>")
    return f"<tr>{''.join(written)}</tr>"


def _text(words: str) -> str:
    return html.escape(words)

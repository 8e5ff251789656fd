"""`regraft lab`: the papers' experiments, run again and held against the papers."""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regraft.cli.settings import parse_settings

if TYPE_CHECKING:
    from regraft.lab import Experiment, Record

app = typer.Typer(
    help="Run the papers' experiments and hold the results against the papers.",
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="An experiment that `regraft lab list` shows.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Master = Annotated[str | None, typer.Option(metavar="URL", help="Spark's master; every core of this machine if unset.")]
Document = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Put the tables between this document's markers `<!-- NAME:begin/end -->`."),
]


@app.command("list")
def list_experiments(as_json: AsJson = False) -> None:
    """Show the experiments, their figures and what may be set.

    \b
    Example:
        regraft lab list
    """
    from regraft.lab import EXPERIMENTS

    if as_json:
        print(json.dumps({name: _described(experiment) for name, experiment in EXPERIMENTS.items()}))
        return
    for name, experiment in EXPERIMENTS.items():
        print(f"{name}: {experiment.title} ({len(experiment.groups())} groups of {experiment.seeds} runs)")
        for figure in experiment.figures:
            print(f"  {figure.name:<22} {figure.title}")
        print("  --set  " + " ".join(f"{key}={value}" for key, value in experiment.settings.items()))


@app.command()
def run(
    name: Name,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where everything goes; the folder must not exist.")],
    seeds: Annotated[int | None, typer.Option(help="Runs of each group; the experiment's own number if unset.")] = None,
    figures: Annotated[
        list[str] | None, typer.Option(metavar="FIGURE", help="Only these figures, 6b or all of 6; repeatable.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a free parameter; repeatable.")
    ] = None,
    master: Master = None,
    document: Document = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment as a Spark sweep; write its trace, results, figures and report.

    \b
    Example:
        regraft lab run icdcs03 --seeds 3 --figures 6b --set tree=balanced --out out/icdcs03
    """
    from regraft.errors import UsageError
    from regraft.lab import find_experiment, region_of, run_experiment

    wanted = [part for text in figures or () for part in text.split(",") if part]
    if figures and not wanted:
        raise UsageError("--figures: names none; leave it out for all of them")
    experiment = find_experiment(name).restricted(wanted).overlay(parse_settings(settings))
    if document is not None:
        region_of(document, experiment)
    record = run_experiment(experiment, experiment.seeds if seeds is None else seeds, out, master)
    _finish(out, record, document, as_json)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What `regraft lab run` has written.")],
    document: Document = None,
    as_json: AsJson = False,
) -> None:
    """Make the report and the figures again from a run's results.

    \b
    Example:
        regraft lab report out/icdcs03 --document docs/experiments/icdcs03.md
    """
    from regraft.lab import read_record, read_results, write_report

    record, results = read_record(directory), read_results(directory)
    write_report(directory, _experiment_of(record), record, results)
    _finish(directory, record, document, as_json)


@app.command()
def fit(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experiment whose free parameters to fit: icdcs03.")],
    seeds: Annotated[int, typer.Option(help="Runs of each candidate under each protocol.")] = 10,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Only candidates with this; repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the runs there.")] = None,
    master: Master = None,
    document: Document = None,
    as_json: AsJson = False,
) -> None:
    """Try every combination of the parameters that a paper leaves open; rank them by the numbers that it gives.

    \b
    Example:
        regraft lab fit icdcs03 --seeds 3
    """
    from regraft.errors import UsageError
    from regraft.lab import around_region, fit_experiment, provenance, put_region, ranking, read_results, run_experiment
    from regraft.lab.fit import HEADER, fit_markdown, is_default, table_rows

    if name != "icdcs03":
        raise UsageError(f"{name} has no parameters to fit; icdcs03 has")
    fixed = parse_settings(settings)
    experiment = fit_experiment(fixed)
    region = f"{experiment.name}-finalists" if fixed else experiment.name
    if document is not None:
        around_region(document, region)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "fit" if out is None else out
        record = run_experiment(experiment, seeds, folder, master)
        ranked = ranking(read_results(folder), fixed)
    if document is not None:
        put_region(document, region, f"{fit_markdown(ranked)}\n\n{provenance(record)}")
    if as_json:
        print(json.dumps([{**asdict(one), "default": is_default(one)} for one in ranked]))
        return
    _print_table(HEADER, table_rows(ranked))
    print(f"icdcs03 runs with {'the nearest' if is_default(ranked[0]) else 'another'}.")


def _described(experiment: "Experiment") -> dict[str, object]:
    return {
        "title": experiment.title,
        "seeds": experiment.seeds,
        "groups": len(experiment.groups()),
        "figures": {figure.name: figure.title for figure in experiment.figures},
        "settings": dict(experiment.settings),
    }


def _experiment_of(record: "Record") -> "Experiment":
    from regraft.lab import find_experiment, fit_experiment

    if record.experiment == fit_experiment().name:
        return fit_experiment()
    return find_experiment(record.experiment).restricted(record.figures).overlay(record.settings)


def _finish(directory: Path, record: "Record", document: Path | None, as_json: bool) -> None:
    from regraft.lab import provenance, put_in_document, read_results

    results = read_results(directory)
    if document is not None:
        put_in_document(document, _experiment_of(record), record, results)
    if as_json:
        print(json.dumps({"out": str(directory), **_plain(record), "results": [asdict(row) for row in results]}))
        return
    print(f"{directory}: {len(results)} results; {provenance(record)}")
    print(f"report: {directory / 'report.html'}")


def _plain(record: "Record") -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(record)
    return plain


def _print_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
    for row in (header, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

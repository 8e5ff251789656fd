"""`regraft explain`: the story of one event or one subscription, from the trace.

A story is every row of a run that names the event, or the filter: where it began, each hop, each drop, each delivery.
One run is read at a time, in memory; questions over many runs are the pipeline's.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regraft.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

SECOND_NS = 1_000_000_000

Row = dict[str, Any]


def explain(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A folder that holds a trace.")],
    event: Annotated[str | None, typer.Option(metavar="P/N", help="An event: its publisher and its number.")] = None,
    filter_text: Annotated[
        str | None, typer.Option("--filter", metavar="FILTER", help="A subscription: its filter.")
    ] = None,
    run: Annotated[str | None, typer.Option(metavar="NAME", help="Which run, where the trace holds several.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as one JSON object.")] = False,
) -> None:
    """Tell the story of one event or one subscription: every hop, drop and delivery.

    \b
    Example:
        regraft explain out/seven --event c.g/1
    """
    if (event is None) == (filter_text is None):
        raise UsageError('name either an event (--event c.g/1) or a subscription (--filter "price > 10")')
    import pyarrow.compute as pc

    from regraft.model.filters import Filter
    from regraft.trace import LEVEL_FULL, read_run, run_names

    names = run_names(trace)
    if run is None and len(names) > 1:
        raise UsageError(f"{trace}: holds {len(names)} runs; name one, such as --run {names[0]}")
    rows = read_run(trace, run or names[0])
    column, key = ("event", event) if event is not None else ("filter", Filter.parse(filter_text or "").text)
    story: list[Row] = rows.filter(pc.equal(rows[column], key)).to_pylist()
    first = rows.slice(0, 1).to_pylist()[0]
    if not story:
        raise UsageError(f"{trace}: run {first['run']} knows no {column} {key}")
    whole = json.loads(first["attributes"])["level"] == LEVEL_FULL
    untold = _untold_of_event(whole) if event is not None else _untold_of_filter(rows)
    if as_json:
        told = [{name: value for name, value in row.items() if value is not None and name != "run"} for row in story]
        print(json.dumps({"run": first["run"], column: key, "rows": told, "untold": untold}))
    else:
        print("\n".join([*_in_words(story), *untold]))


def _in_words(story: list[Row]) -> Iterator[str]:
    delivered_to: set[str] = set()
    for row in story:
        where = f"{row['broker']} -> {row['peer']}" if row["peer"] else row["broker"]
        words = [
            row["message"] if row["kind"] in ("hop", "drop") else None,
            row["client"] and f"client {row['client']}",
        ]
        words.append(f"because of {row['cause']}" if row["cause"] not in (None, "client") else None)
        words.append(f"{row['bytes']} bytes" if row["bytes"] is not None else None)
        words.append(row["attributes"])
        if row["kind"] == "deliver":
            words.append("again" if row["client"] in delivered_to else None)
            delivered_to.add(row["client"])
        told = "  ".join(word for word in words if word)
        yield f"{row['t_ns'] / SECOND_NS:14.9f} s  {row['kind']:<11}  {where}  {told}".rstrip()


def _untold_of_event(whole: bool) -> list[str]:
    """What the trace cannot tell about it, so that silence is not taken for absence."""
    return [] if whole else ["The trace is not full: hops are counted in it, and not told one by one."]


def _untold_of_filter(rows: "pa.Table") -> list[str]:
    """The same for a filter: a message that carries several does not say which."""
    import pyarrow as pa
    import pyarrow.compute as pc

    changes = pc.is_in(rows["message"], value_set=pa.array(["subscribe", "unsubscribe"]))
    bundles = pc.sum(pc.and_(changes, pc.is_null(rows["filter"]))).as_py()
    return [f"{bundles} messages carried several filters, and the trace does not tell which."] if bundles else []

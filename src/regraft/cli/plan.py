"""`regraft plan`: how to get from one tree of brokers to another, step by step, and what each step will cost."""

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regraft.errors import RegraftError, UsageError

if TYPE_CHECKING:
    from regraft.planning import Prediction, Step, TreeFile

COSTS = ("messages", "filters_carried", "floor")


class Order(StrEnum):
    """`broker.messages.Order`, spelled out so that `--help` need not load it."""

    NONE = "none"
    FIFO = "fifo"
    CAUSAL = "causal"


def plan(
    current_file: Annotated[Path, typer.Argument(metavar="CURRENT", help="The tree as it is, as a TOML file.")],
    wanted_file: Annotated[Path, typer.Argument(metavar="WANTED", help="The tree that is wanted, as a TOML file.")],
    order: Annotated[Order, typer.Option(help="The order that exchanges keep, which costs.")] = Order.FIFO,
    batch: Annotated[
        bool, typer.Option("--batch", help="Many filters in a message; without it, one, as the papers count.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    drawing: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the plan there: what goes red, what comes green.")
    ] = None,
) -> None:
    """Plan the way from one tree of brokers to another: leaves that come, links exchanged, leaves that go.

    Steps of one group may happen at the same time. Costs are predicted where CURRENT has subscriptions.

    \b
    Example:
        regraft plan docs/examples/current.toml docs/examples/wanted.toml --svg out/plan.svg
    """
    from regraft.planning import plan as make_plan
    from regraft.planning import predict, svg

    current, wanted = _read(current_file), _read(wanted_file)
    if wanted.subscriptions:
        raise UsageError(f"{wanted_file}, subscriptions: they belong to the current tree")
    groups = make_plan(current.links, wanted.links)
    costs: list[list[Prediction]] | None = None
    if current.subscriptions:
        costs = predict(current.adjacency, groups, current.local(), causal=order is Order.CAUSAL, batch=batch)
    if drawing is not None:
        try:
            drawing.parent.mkdir(parents=True, exist_ok=True)
            drawing.write_text(svg(current.adjacency, wanted.adjacency, groups))
        except OSError as error:
            raise RegraftError(f"{drawing}: cannot be written: {error.strerror or error}") from error
    rows = [
        [_row(step, costs[number][place] if costs else None) for place, step in enumerate(group)]
        for number, group in enumerate(groups)
    ]
    print(json.dumps({"groups": rows, **_totals(rows)}) if as_json else _in_words(rows))


def _read(file: Path) -> "TreeFile":
    from regraft.planning import parse_tree

    try:
        return parse_tree(file.read_bytes().decode(), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise RegraftError(f"{file}: cannot be read: {error}") from error


def _row(step: "Step", cost: "Prediction | None") -> dict[str, Any]:
    from regraft.planning import describe

    known = {"step": type(step).__name__, "text": describe(step), **asdict(step)}
    if cost is not None:
        known |= {"messages": cost.messages, "filters_carried": cost.filters_carried, "floor": cost.floor}
    return known


def _totals(rows: list[list[dict[str, Any]]]) -> dict[str, int]:
    steps = [row for group in rows for row in group]
    totals = {"steps": len(steps), "exchanges": sum(row["step"] == "LinkExchange" for row in steps)}
    if steps and "messages" in steps[0]:
        for name in COSTS:
            totals[name] = sum(row[name] or 0 for row in steps)
    return totals


def _in_words(rows: list[list[dict[str, Any]]]) -> str:
    if not rows:
        return "nothing to do: the trees are the same"
    width = max(len(row["text"]) for group in rows for row in group)
    lines = []
    for number, group in enumerate(rows, start=1):
        lines.append(f"group {number}")
        for row in group:
            costs = [f"cycle {len(row['cycle'])}"] if "cycle" in row else []
            costs += [f"{name.replace('_', ' ')} {row[name]}" for name in COSTS if row.get(name) is not None]
            lines.append(f"  {row['text']:<{width}}  {'  '.join(costs)}".rstrip())
    totals = "  ".join(f"{name.replace('_', ' ')} {value}" for name, value in _totals(rows).items())
    return "\n".join([*lines, f"in {len(rows)} groups: {totals}"])

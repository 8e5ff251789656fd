"""`regraft status`, `regraft graph`, `regraft exchange`: operate an overlay that runs."""

import asyncio
import json
from collections.abc import Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

Result = TypeVar("Result")

DEFAULT_ADDRESS = "127.0.0.1:4270"
NOT_WHOLE = 1
JOINED_WITHIN_S = 20.0

Address = Annotated[str, typer.Option("--broker", metavar="HOST:PORT", help="Any broker of the overlay.")]


class Drawing(StrEnum):
    TEXT = "text"
    DOT = "dot"
    SVG = "svg"


class Ordering(StrEnum):
    """`broker.messages.Order`, spelled out for `--help`."""

    NONE = "none"
    FIFO = "fifo"
    CAUSAL = "causal"


def status(
    broker: Address = DEFAULT_ADDRESS,
    as_json: Annotated[bool, typer.Option("--json", help="Print all that the brokers say as one JSON object.")] = False,
) -> None:
    """Ask every broker of a running overlay how it is.

    The exit code is 1 where a broker does not answer, a link that is wanted is missing, or the two ends of a link hold
    different tables.

    \b
    Example:
        regraft status --broker 127.0.0.1:4270
    """
    from regraft.net.operating import look_at

    overlay = _run(look_at([broker]))
    if as_json:
        print(json.dumps({"brokers": msgspec.to_builtins(overlay.brokers), "unreachable": overlay.unreachable}))
    else:
        from regraft.net.drawing import status_table

        print(status_table(overlay))
    if not overlay.is_whole():
        raise typer.Exit(NOT_WHOLE)


def graph(
    broker: Address = DEFAULT_ADDRESS,
    drawing: Annotated[Drawing, typer.Option("--format", help="As text, for Graphviz, or as a drawing.")] = (
        Drawing.TEXT
    ),
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there and not to the screen.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print brokers and links as one JSON object.")] = False,
) -> None:
    """Draw a running overlay.

    \b
    Example:
        regraft graph --format svg --out overlay.svg
    """
    from regraft.net.drawing import as_dot, as_svg, as_text, links_of
    from regraft.net.operating import look_at

    overlay = _run(look_at([broker]))
    if as_json:
        brokers = {name: each.address for name, each in overlay.brokers.items()}
        print(json.dumps({"brokers": brokers, "links": links_of(overlay.tree()), "unreachable": overlay.unreachable}))
        return
    draw = {Drawing.TEXT: as_text, Drawing.DOT: as_dot, Drawing.SVG: as_svg}[drawing]
    if out is None:
        print(draw(overlay))
    else:
        out.write_text(draw(overlay) + "\n")


def exchange(
    remove: Annotated[str, typer.Option(metavar="A-B", help="The link that goes.")],
    add: Annotated[str, typer.Option(metavar="A-C", help="The link that comes.")],
    protocol: Annotated[
        str, typer.Option(help="coordinated, graft, or the one that the brokers use for links that break.")
    ] = "coordinated",
    order: Annotated[Ordering, typer.Option(help="What coordinated and graft keep in order.")] = Ordering.FIFO,
    broker: Address = DEFAULT_ADDRESS,
    within_s: Annotated[float, typer.Option(min=0.1, help="Give up after so many seconds.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the cost as one JSON object.")] = False,
) -> None:
    """Exchange one link of a running overlay for another, and print what that cost.

    The exit code is 1 where the exchange did not come about; the tree is then as it was.

    \b
    Example:
        regraft exchange --remove a-b --add a-c --protocol coordinated
    """
    from dataclasses import asdict

    from regraft.model.trees import split_link
    from regraft.net.operating import exchange as carry_out

    removed, added = split_link(remove, "--remove"), split_link(add, "--add")
    cost = _run(carry_out([broker], removed, added, protocol, order.value, within_s))
    if as_json:
        print(json.dumps(asdict(cost)))
    else:
        for name, value in asdict(cost).items():
            print(
                f"{name.replace('_', ' '):<18}{value:.3f}"
                if isinstance(value, float)
                else f"{name.replace('_', ' '):<18}{value}"
            )
    if cost.outcome != "done":
        raise typer.Exit(1)


def link(
    ends: Annotated[str, typer.Argument(metavar="A-B", help="The two brokers; the first keeps the link.")],
    brokers: Annotated[
        list[str] | None, typer.Option("--broker", metavar="HOST:PORT", help="A broker of each part; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the link as one JSON object.")] = False,
) -> None:
    """Join two parts of an overlay that is cut.

    \b
    Example:
        regraft link b2-b4 --broker 127.0.0.1:4270 --broker 127.0.0.1:4273
    """
    from regraft.model.trees import split_link
    from regraft.net.operating import join_link

    _run(join_link(brokers or [DEFAULT_ADDRESS], split_link(ends, "A-B"), JOINED_WITHIN_S))
    print(json.dumps({"linked": ends}) if as_json else f"{ends} is up")


def unlink(
    ends: Annotated[str, typer.Argument(metavar="A-B", help="The two brokers.")],
    broker: Address = DEFAULT_ADDRESS,
    as_json: Annotated[bool, typer.Option("--json", help="Print the link as one JSON object.")] = False,
) -> None:
    """End a link for good, and cut the overlay in two; to replace it, use `regraft exchange`.

    \b
    Example:
        regraft unlink b2-b4
    """
    from regraft.model.trees import split_link
    from regraft.net.operating import cut_link

    _run(cut_link([broker], split_link(ends, "A-B")))
    print(json.dumps({"unlinked": ends}) if as_json else f"{ends} is gone")


def _run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    from regraft.net.loops import new_loop

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(coroutine)

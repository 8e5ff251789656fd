"""`regraft bench`: the figures that the design promises, measured here and now.

A benchmark is a module `regraft.bench.NAME` with `run(*, quick: bool)`, which returns its figures by name, units last.
"""

import importlib
import json
from enum import StrEnum
from typing import Annotated

import typer


class Benchmark(StrEnum):
    MATCHING = "matching"
    SIMULATOR = "simulator"
    SWEEP = "sweep"
    AUDIT = "audit"


def bench(
    name: Annotated[Benchmark, typer.Argument(metavar="NAME", help="What to measure.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller inputs: does it run? The figures mean little.")
    ] = False,
) -> None:
    """Measure one part of Regraft on this machine.

    \b
    Example:
        regraft bench matching --json
    """
    figures: dict[str, object] = importlib.import_module(f"regraft.bench.{name}").run(quick=quick)
    if as_json:
        print(json.dumps(figures))
        return
    width = max(map(len, figures))
    for figure, value in figures.items():
        print(f"{figure:<{width}}  {value:,.6g}" if isinstance(value, float) else f"{figure:<{width}}  {value}")

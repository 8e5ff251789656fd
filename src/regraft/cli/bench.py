"""`regraft bench`: the figures that the design promises, measured here and now.

A benchmark is a module `regraft.bench.NAME` with `run(*, quick: bool)`, which returns its figures by name, units last.
`all` runs each in a process of its own: what one leaves in memory, a million filters or a Java virtual machine, would
be measured by the next.
"""

import importlib
import json
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Benchmark(StrEnum):
    MATCHING = "matching"
    SIMULATOR = "simulator"
    SCALE = "scale"
    SWEEP = "sweep"
    AUDIT = "audit"
    RELAY = "relay"
    LATENCY = "latency"
    EXCHANGE = "exchange"
    MEMORY = "memory"
    ALL = "all"


def bench(
    name: Annotated[
        Benchmark,
        typer.Argument(help="What to measure, or all."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller inputs: does it run? The figures mean little.")
    ] = False,
    document: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Put the figures between its markers `<!-- benchmarks:begin/end -->`."),
    ] = None,
) -> None:
    """Measure one part of Regraft on this machine, or every part in turn.

    \b
    Example:
        regraft bench matching --json
    """
    figures = _measure_all(quick) if name is Benchmark.ALL else _measure(name, quick)
    if document is not None:
        from regraft.bench.targets import benchmark_table
        from regraft.lab import put_region

        put_region(document, "benchmarks", benchmark_table(figures))
    if as_json:
        print(json.dumps(figures))
        return
    width = max(map(len, figures))
    for figure, value in figures.items():
        print(f"{figure:<{width}}  {value:,.6g}" if isinstance(value, float) else f"{figure:<{width}}  {value}")


def _measure(name: Benchmark, quick: bool) -> dict[str, Any]:
    figures: dict[str, Any] = importlib.import_module(f"regraft.bench.{name}").run(quick=quick)
    return figures


def _measure_all(quick: bool) -> dict[str, Any]:
    names = [name for name in Benchmark if name is not Benchmark.ALL]
    figures: dict[str, Any] = {}
    for number, name in enumerate(names, start=1):
        print(f"benchmark {number} of {len(names)}: {name}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "regraft.cli", "bench", name, "--json", *(["--quick"] if quick else [])]
        measured = subprocess.run(command, stdout=subprocess.PIPE)
        if measured.returncode:
            raise typer.Exit(measured.returncode)
        figures |= json.loads(measured.stdout)
    return figures

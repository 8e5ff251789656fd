"""`regraft sim`: one run of one scenario, in virtual time."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from regraft.cli.settings import parse_settings

VIOLATED = 1


def sim(
    scenario_file: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario as a TOML file.")],
    seed: Annotated[int, typer.Option(min=0, help="What the run draws from; the same seed gives the same run.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field of the scenario; repeatable.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the trace there; the folder must not exist.")
    ] = None,
    level: Annotated[str, typer.Option(help="full, counted or summed: how much of the trace is kept.")] = "full",
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")] = False,
) -> None:
    """Run a scenario in the simulator and print what it cost and what it lost.

    The exit code is 1 where one of the scenario's checks was violated.

    \b
    Example:
        regraft sim ring.toml --seed 7 --set protocol=strawman --trace out/ring
    """
    from regraft.sim import read_scenario, simulate
    from regraft.trace import RunSetWriter

    scenario = read_scenario(scenario_file, parse_settings(settings))
    run = simulate(scenario, seed, name=f"sim/{scenario.name}/{scenario.protocol}/{seed}", trace=level)
    if trace is None:
        for _ in run.batches():
            pass
    else:
        with RunSetWriter(trace) as writer:
            writer.write(run.name, run.batches())
    assert run.outcome is not None
    outcome = asdict(run.outcome)
    print(json.dumps({"run": run.name, **outcome}) if as_json else _in_words(run.name, outcome))
    if run.outcome.violations:
        raise typer.Exit(VIOLATED)


def _in_words(run: str, outcome: dict[str, object]) -> str:
    numbers, violations = outcome.pop("numbers"), outcome.pop("violations")
    assert isinstance(violations, list)
    lines = [f"run {run}"]
    if isinstance(numbers, dict):  # a summed trace keeps no account of single events
        lines.append("  ".join(f"{name.replace('_', ' ')} {count}" for name, count in numbers.items()))
    lines += [f"{name.replace('_', ' ')} {value}" for name, value in outcome.items()]
    return "\n".join([*lines, *(f"violated: {violation}" for violation in violations)])

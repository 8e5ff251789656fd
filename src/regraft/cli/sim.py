"""`regraft sim`: one run of one scenario, in virtual time.

What is asked to be kept, the trace and the brokers' inputs, appears when the run has ended, whole or not at all; a
name that is taken already is refused before the run begins.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regraft.cli.settings import parse_settings
from regraft.errors import ScenarioError, UsageError

if TYPE_CHECKING:
    from regraft.broker import BrokerConfig
    from regraft.broker.effects import Effect
    from regraft.broker.inputs import Input
    from regraft.sim import Recorder

VIOLATED = 1
ACCOUNTS_MAX = 40


class Level(StrEnum):
    """`trace.LEVELS`, spelled out so that `--help` need not load Arrow."""

    FULL = "full"
    COUNTED = "counted"
    SUMMED = "summed"


def sim(
    scenario_file: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario as a TOML file.")],
    seed: Annotated[int, typer.Option(min=0, help="What the run draws from; the same seed gives the same run.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field of the scenario; repeatable.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the trace there; the folder must not exist.")
    ] = None,
    level: Annotated[
        Level,
        typer.Option(
            help="How much the trace tells: every hop of every event; hops counted by link and 0.1 s; or publications "
            "and deliveries counted too, which leaves no account of what was lost."
        ),
    ] = Level.FULL,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record every broker's inputs there, for `replay`; it must not exist."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")] = False,
) -> None:
    """Run a scenario in the simulator and print what it cost and what it lost.

    The exit code is 1 where one of the scenario's checks was violated.

    \b
    Example:
        regraft sim scenarios/seven-brokers.toml --seed 7 --set protocol=strawman --trace out/seven
    """
    from regraft.sim import read_scenario, simulate
    from regraft.trace import RunSetWriter

    if trace is not None and inputs is not None and trace.absolute() == inputs.absolute():
        raise UsageError(f"--trace and --inputs: both name {trace}")
    scenario = read_scenario(scenario_file, parse_settings(settings))
    with ExitStack() as kept:
        record = kept.enter_context(_recorder(inputs, scenario.broker_config)) if inputs else None
        writer = kept.enter_context(RunSetWriter(trace)) if trace else None
        run = simulate(
            scenario, seed, name=f"sim/{scenario.name}/{scenario.protocol}/{seed}", trace=level, record=record
        )
        try:
            if writer is not None:
                writer.write(run.name, run.batches())
            else:
                for _ in run.batches():
                    pass
        except ScenarioError as error:  # what shows only when the tree stands, or when a step is taken
            raise ScenarioError(f"{scenario_file}, {error.place}", error.reason) from error
    assert run.outcome is not None
    outcome = asdict(run.outcome)
    print(json.dumps({"run": run.name, **outcome}) if as_json else _in_words(run.name, outcome))
    if run.outcome.violations:
        raise typer.Exit(VIOLATED)


@contextmanager
def _recorder(file: Path, config: "BrokerConfig") -> Iterator["Recorder"]:
    """What a world calls with each input; `file` appears when the block ends well."""
    from regraft.broker import RecordedStep, frame
    from regraft.trace import whole_file

    with whole_file(file) as output:
        output.write(frame(config))

        def record(broker: str, now_ns: int, given: "Input | None", effects: "list[Effect]") -> None:
            output.write(frame(RecordedStep(broker, now_ns, given, tuple(effects))))

        yield record


def _in_words(run: str, outcome: dict[str, object]) -> str:
    numbers, violations, accounts = (outcome.pop(name) for name in ("numbers", "violations", "reconfigurations"))
    assert isinstance(violations, list)
    assert isinstance(accounts, list)
    lines = [f"run {run}"]
    if isinstance(numbers, dict):  # a summed trace keeps no account of single events
        lines.append("  ".join(f"{name.replace('_', ' ')} {count}" for name, count in numbers.items()))
    lines += [f"{name.replace('_', ' ')} {value}" for name, value in outcome.items()]
    lines += _account_table(accounts)
    return "\n".join([*lines, *(f"violated: {violation}" for violation in violations)])


def _account_table(accounts: list[dict[str, object]]) -> list[str]:
    """What each reconfiguration cost, and the floor that it is to be compared with."""
    if not accounts:
        return []
    header = [name.replace("_", " ") for name in accounts[0]]
    rows = [["-" if cell in (None, "") else str(cell) for cell in account.values()] for account in accounts]
    shown = [header, *rows[:ACCOUNTS_MAX]]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    ]
    more = [f"and {len(rows) - ACCOUNTS_MAX} more; --json has all"] if len(rows) > ACCOUNTS_MAX else []
    return ["", *lines, *more]

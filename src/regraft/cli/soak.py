"""`regraft soak`: random scenarios through Spark until the time is up or a promise is broken."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regraft.errors import RegraftError, UsageError

if TYPE_CHECKING:
    from regraft.lab.soak import Soaked

VIOLATED = 1


def soak(
    minutes: Annotated[float | None, typer.Option(min=0.01, help="For how long; 10 unless --runs is given.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="How many runs.")] = None,
    first: Annotated[
        int | None, typer.Option(min=0, help="The number of the first run, drawn from the clock where none is given.")
    ] = None,
    protocol: Annotated[str, typer.Option(help="Of this protocol only.")] = "",
    brokers: Annotated[str, typer.Option(metavar="MIN-MAX", help="How large the trees are.")] = "10-200",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the scenario of a violation goes.")] = None,
    master: Annotated[str | None, typer.Option(help="A Spark master; by default all cores of this machine.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")] = False,
) -> None:
    """Run random scenarios, of every protocol, until the time is up or a promise is broken.

    The run that breaks one is made small and written as a scenario file. The exit code is 1 then.

    \b
    Example:
        regraft soak --minutes 5 --protocol coordinated-causal
    """
    from regraft.lab.soak import soak as soak_rounds
    from regraft.pipeline import soak_round, spark_session
    from regraft.sim.scenario import PROTOCOLS

    if protocol and protocol not in PROTOCOLS:
        raise UsageError(f"--protocol {protocol}: there are {', '.join(PROTOCOLS)}")
    if minutes is None and runs is None:
        minutes = 10.0
    if out is not None and out.exists():
        raise UsageError(f"{out}: exists already; name a file that does not")
    span = _span(brokers)
    first = int(time.time()) * 1_000 if first is None else first
    with spark_session(master, name="regraft soak") as session:
        soaked = soak_rounds(
            lambda tasks: soak_round(session, tasks),
            first,
            protocol=protocol,
            brokers=span,
            seconds=None if minutes is None else 60 * minutes,
            runs=runs,
            told=_tell,
        )
    file = _write(soaked, out or Path("out") / f"soak-{first}.toml")
    if as_json:
        print(_in_json(soaked, first, file))
    else:
        print(_in_words(soaked, first, file))
    if soaked.found is not None:
        raise typer.Exit(VIOLATED)


def _span(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and 3 <= int(low) <= int(high)):
        raise UsageError(f"--brokers {text}: a range such as 10-200, from 3 on")
    return int(low), int(high)


def _tell(soaked: "Soaked") -> None:
    what = "a violation; making it small ..." if soaked.found is not None else "no violation"
    print(f"soak: {soaked.runs} runs in {soaked.seconds:.0f} s, {what}", file=sys.stderr, flush=True)


def _write(soaked: "Soaked", file: Path) -> Path | None:
    from regraft.sim.writing import scenario_text

    if soaked.shrunk is None:
        return None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(scenario_text(soaked.shrunk.scenario))
    except OSError as error:
        raise RegraftError(f"{file}: cannot be written: {error.strerror or error}") from error
    return file


def _in_json(soaked: "Soaked", first: int, file: Path | None) -> str:
    from regraft.lab.record import commit

    accounts = [
        {"protocol": protocol, "promised": promised, **asdict(account)}
        for (protocol, promised), account in sorted(soaked.accounts.items())
    ]
    known: dict[str, object] = {"first": first, "runs": soaked.runs, "seconds": soaked.seconds, "accounts": accounts}
    if soaked.found is not None and soaked.shrunk is not None:
        known["found"] = asdict(soaked.found)
        known["shrunk"] = {
            "scenario": str(file),
            "seed": soaked.shrunk.seed,
            "commit": commit(),
            "violations": soaked.shrunk.violations,
        }
    return json.dumps(known)


def _in_words(soaked: "Soaked", first: int, file: Path | None) -> str:
    from regraft.lab.record import commit

    lines = [f"{soaked.runs} runs from number {first} in {soaked.seconds:.0f} s"]
    for (protocol, promised), account in sorted(soaked.accounts.items()):
        numbers = f"lost {account.lost}  duplicated {account.duplicated}  out of order {account.out_of_order}"
        lines.append(
            f"{protocol}: {account.runs} runs  {account.changes} changes  {account.hops} hops  owed {account.owed}  "
            f"{numbers}{'' if promised else '  (where nothing is promised of these three)'}"
        )
    if soaked.found is None or soaked.shrunk is None:
        return "\n".join([*lines, "no violation"])
    lines += [f"violated in run {soaked.found.number}: {violation}" for violation in soaked.found.violations]
    if not soaked.shrunk.violations:
        return "\n".join([*lines, "made again here, the same run violates nothing: it depends on more than its number"])
    lines += [f"made small: {violation}" for violation in soaked.shrunk.violations]
    lines += [f"scenario {file}  seed {soaked.shrunk.seed}  commit {commit()}"]
    return "\n".join([*lines, f"regraft sim {file} --seed {soaked.shrunk.seed}"])

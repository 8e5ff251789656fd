"""`regraft demo`: a live network that is rewired under load, and what that costs.

Seven brokers run on this machine, a process each, with a client at each that publishes and subscribes. Links are
exchanged for others by each protocol in turn, drawn from one seed, so that each meets the same first tree. The clients
keep account of what they were owed and what they got (`net/showing.py`, `net/trial.py`).

`strawman`, `deferred`, `path` and `informed` mend what breaks: for them the old link is ended and the new one opened.
`coordinated` and `graft` are for what is planned: the new link is opened first, and the old one closed when nothing is
left on it.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regraft.net.trial import Trial

EXCHANGES = 6
RATE_HZ = 150.0

INTRODUCTION = """\
{brokers} brokers, a process each, relay events of {brokers} publishers while links are exchanged
for others, by each protocol in turn."""

CONCLUSION = """\
Protocols for links that break mend every routing table, and lose what was under way.
Those for planned exchanges, coordinated and graft, lose, duplicate and reorder nothing."""

Tell = Callable[[str, str], None]  # what is done now, and how far it is


def demo(
    seed: Annotated[int, typer.Option(min=0, help="What the exchanges and the events are drawn from.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as one JSON object.")] = False,
) -> None:
    """Exchange links of a live network while events flow, by each protocol in turn, and print what that cost and lost.

    \b
    Example:
        regraft demo --seed 7
    """
    from regraft.errors import RegraftError
    from regraft.net.loops import new_loop
    from regraft.net.showing import LINKS, PROMISE_NOTHING_LOST, all_protocols

    brokers = len(LINKS) + 1
    if not as_json:
        print(INTRODUCTION.format(brokers=brokers), flush=True)
    with _progress() as tell, asyncio.Runner(loop_factory=new_loop) as runner:
        trials = runner.run(all_protocols(seed=seed, exchanges=EXCHANGES, rate_hz=RATE_HZ, tell=tell))
    for trial in trials:
        if trial.protocol in PROMISE_NOTHING_LOST and (trial.lost or trial.duplicated or trial.out_of_order):
            raise RegraftError(f"{trial.protocol} was to lose, duplicate and reorder nothing: {trial}")
    if as_json:
        print(json.dumps({"seed": seed, "brokers": brokers, "runs": [asdict(trial) for trial in trials]}))
        return
    print(_table(trials))
    print(CONCLUSION)


@contextmanager
def _progress() -> Iterator[Tell]:
    """On a terminal one line that is kept up to date, elsewhere a line for each protocol; on the standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        told: dict[str, None] = {}

        def tell(what: str, far: str) -> None:
            if what not in told:
                told[what] = None
                print(what, file=sys.stderr, flush=True)

        yield tell
        return
    with console.status("") as status:
        yield lambda what, far: status.update(f"{what}  {far}")


def _table(trials: "list[Trial]") -> str:
    """A column for each protocol, as there are more measures than fit side by side."""
    lines = []
    for name in (field.name for field in fields(trials[0])):
        cells = [getattr(trial, name) for trial in trials]
        words = [
            f"{cell:,.0f}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else cell
            for cell in cells
        ]
        lines.append(f"{name.replace('_', ' '):<18}" + "".join(f"{word:>12}" for word in words))
    return "\n".join(["", lines[0], "-" * len(lines[0]), *lines[1:], ""])

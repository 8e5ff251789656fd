"""`regraft demo`: a network that is rewired under load, and what that costs.

One scenario (`demo.toml`) is run five times from one seed: with its links left alone, and with links exchanged by each
protocol in turn, planned and broken. So every column of the table has met the same tree, the same subscriptions, the
same events and, the first one apart, the same breaks. It runs in the simulator, on one core, without Java.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pyarrow as pa

SCENARIO = "demo.toml"
SECOND_NS = 1_000_000_000

INTRODUCTION = """\
{brokers} simulated brokers route quotes to clients while links are exchanged for others:
planned (the other link at once) or broken ({gap} s later), by each protocol in turn."""

CONCLUSION = """\
Left alone, the network loses nothing. Both protocols mend every routing table, and
both lose events on the way: Regraft has no protocol yet that does not."""

ALONE, PLANNED, BROKEN = "left alone", "planned", "broken"
GAP_S = 0.1
SETTINGS = {
    ALONE: {"changes.count_max": "0"},
    PLANNED: {"changes.replace_after_s": "0.0"},
    BROKEN: {"changes.replace_after_s": str(GAP_S)},
}
SHOWS = (
    ("deferred", ALONE),
    ("strawman", PLANNED),
    ("strawman", BROKEN),
    ("deferred", PLANNED),
    ("deferred", BROKEN),
)

Tell = Callable[[str, str], None]  # what is done now, and how far it is


@dataclass(frozen=True, slots=True)
class Show:
    """`control_messages` are the (un)subscriptions that the exchange of links has caused, hop by hop."""

    protocol: str
    links: str
    changes: int
    control_messages: int
    misrouted_events: int
    events_published: int
    deliveries_owed: int
    lost: int
    duplicated: int
    out_of_order: int
    wrong_entries: int


def demo(
    seed: Annotated[int, typer.Option(min=0, help="What the tree, the clients and the breaks are drawn from.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as one JSON object.")] = False,
) -> None:
    """Exchange links of a network while events flow, by each protocol in turn, and print what that cost and lost.

    \b
    Example:
        regraft demo --seed 7
    """
    from regraft.sim import parse_scenario

    brokers = parse_scenario(_text(), {}, SCENARIO).tree.brokers
    if as_json:
        print(json.dumps({"seed": seed, "brokers": brokers, "runs": [asdict(show) for show in _shows(seed)]}))
        return
    print(INTRODUCTION.format(brokers=brokers, gap=GAP_S), flush=True)
    print(_table(list(_shows(seed))))
    print(CONCLUSION)


def _text() -> str:
    return (files("regraft.cli") / SCENARIO).read_text()


def _shows(seed: int) -> Iterator[Show]:
    with _progress() as tell:
        for number, (protocol, links) in enumerate(SHOWS, start=1):
            yield _run(protocol, links, seed, partial(tell, f"{number} of {len(SHOWS)}: {protocol}, links {links}"))


def _run(protocol: str, links: str, seed: int, tell: Callable[[str], None]) -> Show:
    from regraft.errors import RegraftError
    from regraft.sim import parse_scenario, simulate
    from regraft.trace import LEVEL_COUNTED

    scenario = parse_scenario(_text(), {"protocol": protocol, **SETTINGS[links]}, SCENARIO)
    run = simulate(scenario, seed, name=f"demo/{links}/{protocol}/{seed}", trace=LEVEL_COUNTED)
    control_messages = 0
    tell("")
    for batch in run.batches():
        control_messages += _caused_by_changes(batch)
        tell(f"{batch['t_ns'][-1].as_py() / SECOND_NS:.1f} of {scenario.duration_s} s")
    outcome = run.outcome
    assert outcome is not None
    assert outcome.numbers is not None
    if outcome.violations:
        raise RegraftError(f"{run.name}: {outcome.violations[0]}")
    return Show(
        protocol=protocol,
        links=links,
        changes=outcome.changes,
        control_messages=control_messages,
        misrouted_events=outcome.misrouted,
        events_published=outcome.events,
        deliveries_owed=outcome.numbers.owed,
        lost=outcome.numbers.lost,
        duplicated=outcome.numbers.duplicated,
        out_of_order=outcome.numbers.out_of_order,
        wrong_entries=outcome.wrong_entries,
    )


def _caused_by_changes(batch: "pa.RecordBatch") -> int:
    """The messages about subscriptions, hop by hop, that a reconfiguration is the cause of."""
    import pyarrow.compute as pc

    from regraft.trace import CAUSE_RECONFIGURATION, KIND_HOP, MESSAGE_EVENT

    control = pc.and_(pc.equal(batch["kind"], KIND_HOP), pc.not_equal(batch["message"], MESSAGE_EVENT))
    caused = pc.and_(control, pc.equal(batch["cause"], CAUSE_RECONFIGURATION))
    count: int = pc.sum(caused).as_py() or 0
    return count


@contextmanager
def _progress() -> Iterator[Tell]:
    """On a terminal one line that is kept up to date; elsewhere a line for each run. Both on the standard error."""
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


def _table(shows: list[Show]) -> str:
    """A column for each run, as there are more measures than fit side by side."""
    lines = []
    for name in (field.name for field in fields(Show)):
        cells = [getattr(show, name) for show in shows]
        words = [f"{cell:,}" if isinstance(cell, int) else cell for cell in cells]
        lines.append(f"{name.replace('_', ' '):<18}" + "".join(f"{word:>12}" for word in words))
    return "\n".join(["", *lines[:2], "-" * len(lines[0]), *lines[2:], ""])

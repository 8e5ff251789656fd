"""Soaking: random scenarios, round after round, until the time is up or a promise is broken; then that one, made small.

A round is some tens of runs through Spark, whose tasks are pure functions of their rows; between two rounds the time
is looked at and the account is kept. What a round takes is measured and the next one made to last `ROUND_S`, so that a
violation is seen soon and the machine is not kept waiting. Of a round's violations the one with the smallest number is
shrunk, here and not in Spark, and comes out as a scenario, a seed and a commit.

What is drawn: `sim/drawn.py`. How it shrinks: `sim/shrinking.py`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from regraft.sim.shrinking import RUNS_MAX, Shrunk, shrink
from regraft.sim.soaking import SoakResult, SoakTask, violations_of

ROUND_S = 15.0
ROUND_RUNS_FIRST = 16
ROUND_RUNS_MAX = 2_000

Round = Callable[[Sequence[SoakTask]], list[SoakResult]]


@dataclass
class Account:
    """Of the runs of one protocol that promise to lose nothing, or that do not."""

    runs: int = 0
    changes: int = 0
    hops: int = 0
    owed: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0

    def add(self, result: SoakResult) -> None:
        self.runs += 1
        self.changes += result.changes
        self.hops += result.hops
        self.owed += result.owed
        self.lost += result.lost
        self.duplicated += result.duplicated
        self.out_of_order += result.out_of_order


@dataclass
class Soaked:
    """`found` is the first violation as it was met, `shrunk` the same made small."""

    seconds: float = 0.0
    runs: int = 0
    accounts: dict[tuple[str, bool], Account] = field(default_factory=dict)  # by protocol, and whether it promises
    found: SoakResult | None = None
    shrunk: Shrunk | None = None


def soak(
    make: Round,
    first: int,
    *,
    protocol: str = "",
    brokers: tuple[int, int] = (10, 200),
    seconds: float | None = None,
    runs: int | None = None,
    shrink_runs_max: int = RUNS_MAX,
    told: Callable[[Soaked], None] = lambda soaked: None,
) -> Soaked:
    """Runs `first`, `first + 1`, …: for so long, or so many. `told` hears of each round, and before it shrinks."""
    begin_s = time.monotonic()
    soaked = Soaked()
    count = ROUND_RUNS_FIRST
    while soaked.found is None and not _is_over(soaked, seconds, runs):
        if runs is not None:
            count = min(count, runs - soaked.runs)
        numbers = range(first + soaked.runs, first + soaked.runs + count)
        round_s = time.monotonic()
        for result in make([SoakTask(number, protocol, *brokers) for number in numbers]):
            soaked.runs += 1
            soaked.accounts.setdefault((result.protocol, result.promised), Account()).add(result)
            if result.violations and soaked.found is None:
                soaked.found = result
        took_s = max(time.monotonic() - round_s, 0.001)
        count = max(1, min(round(count * ROUND_S / took_s), 4 * count, ROUND_RUNS_MAX))
        soaked.seconds = time.monotonic() - begin_s
        told(soaked)
    if soaked.found is not None:
        scenario = SoakTask(soaked.found.number, protocol, *brokers).scenario()
        soaked.shrunk = shrink(scenario, soaked.found.number, violations_of, shrink_runs_max)
    return soaked


def _is_over(soaked: Soaked, seconds: float | None, runs: int | None) -> bool:
    return (seconds is not None and soaked.seconds >= seconds) or (runs is not None and soaked.runs >= runs)

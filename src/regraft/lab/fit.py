"""Which values of the parameters that icdcs03 leaves open come nearest to the one pair of numbers that it gives.

The pair: at 200 brokers, sparse, rho 0.03 s, f_pub 0.001, T 0.15 s, strawman needs 63,162 messages and deferred 34,458.
Every combination of the open parameters is run under both protocols with the same seeds; the distance is that of the
logarithms, so that twice too many is as far as half as many. Nothing else of the paper is looked at, so that every
other figure is a prediction.

The candidates:

- `tree`: grown by attachment, as one writes a random tree down first; or balanced.
- `drawn_from`: what "the selection of the links breaking is done randomly" is uniform over. The links; or the brokers,
  each then losing one of its links, which is what picking a random module and one of its gates does in a simulator
  whose links are no objects of their own (OMNeT++, which the authors used).
- `endpoints`: what "or appearing" means. Both ends anywhere; the orphaned part hangs on another broker; or the broker
  that lost its link moves and takes its side with it.
- `subscriptions`: "at most s" filters: exactly s, or uniformly one to s.

What is left out: the largest degree (4, and "the influence of this parameter is negligible"), and a link's latency,
which changes the count little as long as a wave of messages is faster than the 0.1 s until the replacement.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from regraft.errors import UsageError
from regraft.lab.document import markdown_table, number
from regraft.lab.experiment import Cell, Experiment, Figure, Group, Point, Series, Settings
from regraft.lab.icdcs03 import (
    COMMON,
    DEFERRED,
    FITTED,
    PAPER_DEFERRED_MESSAGES,
    PAPER_STRAWMAN_MESSAGES,
    RHO_FAST_S,
    STRAWMAN,
    overhead_group,
)
from regraft.lab.results import Result

AXES = {
    "tree": ("attachment", "balanced"),
    "drawn_from": ("links", "brokers"),
    "endpoints": ("uniform", "reattach", "move"),
    "subscriptions": ("exact", "up_to"),
}
PAIR = {STRAWMAN: PAPER_STRAWMAN_MESSAGES, DEFERRED: PAPER_DEFERRED_MESSAGES}
FIGURE = "pair"
BROKERS = 200


@dataclass(frozen=True, slots=True)
class Fit:
    """One candidate. `distance` is 0 where both numbers are the paper's."""

    settings: Settings
    strawman: Result
    deferred: Result
    distance: float

    @property
    def improvement(self) -> float:
        return 100 * (1 - _mean(self.deferred) / _mean(self.strawman))


def candidates(fixed: Settings | None = None) -> list[dict[str, str]]:
    """Every combination; or only those that have these values, for a second round among the best with more seeds."""
    for key, value in (fixed or {}).items():
        if value not in AXES.get(key, ()):
            offered = "; ".join(f"{axis}: {', '.join(values)}" for axis, values in AXES.items())
            raise UsageError(f"--set {key}={value}: no parameter of the fit or no value of it; {offered}")
    every = [dict(zip(AXES, values, strict=True)) for values in product(*AXES.values())]
    return [candidate for candidate in every if candidate.items() >= (fixed or {}).items()]


def fit_experiment(fixed: Settings | None = None) -> Experiment:
    """The sweep over the candidates, as an experiment like any other."""
    series = tuple(
        Series(f"{protocol}, {_name(settings)}", "messages", "overhead", (_point(protocol, settings),), drawn=False)
        for settings in candidates(fixed)
        for protocol in PAIR
    )
    figure = Figure(FIGURE, "The pair that the free parameters are fitted on", "brokers", "messages", series)
    return Experiment("icdcs03-fit", "The free parameters of icdcs03", COMMON, (figure,), seeds=10)


def _point(protocol: str, settings: Settings) -> Point:
    declared = overhead_group(protocol, "sparse", BROKERS, RHO_FAST_S, 0.001, 0.15)
    cell = Cell(_name(settings), {**declared.cell.settings, **settings})
    return Point(float(BROKERS), Group(cell, protocol), paper=float(PAIR[protocol]))


def _name(settings: Settings) -> str:
    return "-".join(settings.values())


def ranking(results: Sequence[Result], fixed: Settings | None = None) -> list[Fit]:
    """The candidates, the nearest first."""
    found = {result.series: result for result in results}
    fits = []
    for settings in candidates(fixed):
        strawman, deferred = (found[f"{protocol}, {_name(settings)}"] for protocol in PAIR)
        distance = math.hypot(
            math.log(_mean(strawman) / PAPER_STRAWMAN_MESSAGES), math.log(_mean(deferred) / PAPER_DEFERRED_MESSAGES)
        )
        fits.append(Fit(settings, strawman, deferred, distance))
    return sorted(fits, key=lambda fit: fit.distance)


def _mean(result: Result) -> float:
    assert result.mean is not None
    return result.mean


def is_default(fit: Fit) -> bool:
    """Whether the experiment runs with this candidate unless told otherwise."""
    return all(FITTED[key] == value for key, value in fit.settings.items())


HEADER = (*AXES, STRAWMAN, DEFERRED, "improvement", "distance")


def table_rows(fits: Sequence[Fit]) -> list[tuple[str, ...]]:
    rows = [
        (
            *fit.settings.values(),
            _with_interval(fit.strawman),
            _with_interval(fit.deferred),
            f"{fit.improvement:.1f} %",
            f"{fit.distance:.3f}",
        )
        for fit in fits
    ]
    paper = (number(PAPER_STRAWMAN_MESSAGES), number(PAPER_DEFERRED_MESSAGES))
    share = 100 * (1 - PAPER_DEFERRED_MESSAGES / PAPER_STRAWMAN_MESSAGES)
    return [("the paper", *[""] * (len(AXES) - 1), *paper, f"{share:.1f} %", ""), *rows]


def _with_interval(result: Result) -> str:
    if result.ci95_high is None or result.mean is None:
        return number(result.mean)
    return f"{number(result.mean)} ± {number(result.ci95_high - result.mean)}"


def fit_markdown(fits: Sequence[Fit]) -> str:
    return markdown_table(HEADER, table_rows(fits), numbers_from=len(AXES))

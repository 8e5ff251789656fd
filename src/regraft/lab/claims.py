"""What a paper's text claims, held against what came out: a sentence, a number of ours, and whether they fit.

A claim looks at results alone, so that a report can be made again without the trace. It says nothing where the run did
not have the figures that it needs. What "about" and "independent" mean is a margin, and the margin is written into
the sentence: a reader may hold another one against the same number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regraft.lab.results import Result, of_series

Results = Sequence[Result]


@dataclass(frozen=True, slots=True)
class Finding:
    ours: str
    fits: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """`look` returns None where the results do not tell."""

    figure: str
    paper: str
    look: Callable[[Results], Finding | None]


@dataclass(frozen=True, slots=True)
class Verdict:
    figure: str
    paper: str
    ours: str
    fits: bool


def judge(claims: Sequence[Claim], results: Results) -> list[Verdict]:
    """The claims that the results tell something about, in order."""
    found = []
    for claim in claims:
        finding = claim.look(results)
        if finding is not None:
            found.append(Verdict(claim.figure, claim.paper, finding.ours, finding.fits))
    return found


def points(results: Results, figure: str, series: str, metric: str = "improvement") -> dict[float, float]:
    """x and mean of one series; empty where the results do not have it."""
    return {
        result.x: result.mean
        for result in of_series(results, figure, series, metric)
        if result.x is not None and result.mean is not None
    }


def differences(one: dict[float, float], other: dict[float, float]) -> dict[float, float]:
    """`one - other` at each x that both have."""
    return {x: one[x] - other[x] for x in one if x in other}

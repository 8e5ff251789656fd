"""A claim is judged by the numbers: each verdict turns when they do."""

from collections.abc import Callable

import pytest

from regraft.lab.claims import judge
from regraft.lab.icdcs03 import BROKERS
from regraft.lab.icdcs03_claims import CLAIMS
from regraft.lab.results import Result


def series(figure: str, name: str, metric: str, value: Callable[[float], float]) -> list[Result]:
    return [
        Result("icdcs03", figure, name, float(x), metric, value(x), value(x) - 1, value(x) + 1, 30, None)
        for x in BROKERS
    ]


def improvements(figure: str, **values: Callable[[float], float]) -> list[Result]:
    return [row for name, value in values.items() for row in series(figure, f"deferred, {name}", "improvement", value)]


def fits(results: list[Result], part_of_sentence: str) -> bool:
    (verdict,) = [verdict for verdict in judge(CLAIMS, results) if part_of_sentence in verdict.paper]
    return verdict.fits


def test_nothing_is_said_about_figures_that_were_not_run() -> None:
    assert judge(CLAIMS, []) == []
    assert {verdict.figure for verdict in judge(CLAIMS, improvements("6a", dense=lambda x: 30.0))} == {"6a"}


@pytest.mark.parametrize(("lowest", "expected"), [(20.0, True), (19.9, False)])
def test_one_size_below_20_percent_is_enough_to_fail(lowest: float, expected: bool) -> None:
    assert fits(improvements("6a", dense=lambda x: lowest if x == 50 else 30.0), "at least 20 %") is expected


@pytest.mark.parametrize(("at_10", "expected"), [(31.0, True), (29.0, False)])
def test_sparse_must_lie_above_dense_everywhere(at_10: float, expected: bool) -> None:
    results = improvements("6a", sparse=lambda x: at_10 if x == 10 else 45.0, dense=lambda x: 30.0)
    assert fits(results, "sparse above dense") is expected


@pytest.mark.parametrize(("messages", "expected"), [(63_162, True), (69_000, True), (70_000, False), (50_000, False)])
def test_a_number_fits_within_a_tenth(messages: float, expected: bool) -> None:
    results = series("6b", "strawman, rho 0.03 s, f_pub 0.001", "messages", lambda x: messages if x == 200 else 0.0)
    assert fits(results, "63,162") is expected


@pytest.mark.parametrize(("best", "expected"), [(0.11, True), (0.3, False)])
def test_the_order_of_the_timeouts_is_looked_at(best: float, expected: bool) -> None:
    results = [
        row
        for t in (0.11, 0.15, 0.3)
        for row in series("6f", f"deferred, T {t} s", "improvement", lambda x, t=t: 40 - 10 * abs(t - best))
    ]
    assert fits(results, "best at T 0.11") is expected


def delivery(short: Callable[[float], bool]) -> list[Result]:
    """Windows of 50 ms from 2.5 s to 7.8 s."""
    windows = [2.5 + 0.05 * k for k in range(106)]
    means = {x: 99.99 if short(x) else 100.0 for x in windows}
    return [
        Result("icdcs03", "5-top", "deferred", x, "delivered_percent", mean, mean, mean, 30, None)
        for x, mean in means.items()
    ]


def in_a_break(x: float) -> bool:
    return 3.0 - 1e-9 <= x < 7.0 and (x - 3.0 + 1e-9) % 0.3 < 0.149


def test_delivery_must_be_whole_after_each_reconfiguration_and_after_the_last() -> None:
    whole = delivery(in_a_break)
    assert fits(whole, "deferred: delivery returns")
    assert fits(whole, "deferred: exactly 100 % soon")
    never_between = delivery(lambda x: in_a_break(x) or 4.2 <= x < 4.5)
    assert not fits(never_between, "deferred: delivery returns")
    assert fits(never_between, "deferred: exactly 100 % soon")
    not_at_the_end = delivery(lambda x: in_a_break(x) or x > 7.7)
    assert fits(not_at_the_end, "deferred: delivery returns")
    assert not fits(not_at_the_end, "deferred: exactly 100 % soon")

"""The claims of debs06 and of the chapter turn when the numbers do."""

from collections.abc import Callable, Sequence

import pytest

from regraft.lab import chapter_claims, debs06_claims
from regraft.lab.claims import Claim, judge
from regraft.lab.results import Result

LENGTHS = (4.0, 8.0, 12.0, 16.0, 20.0)


def series(figure: str, name: str, metric: str, value: Callable[[float], float]) -> list[Result]:
    return [Result("debs06", figure, name, x, metric, value(x), None, None, 25, None) for x in LENGTHS]


def verdict(claims: Sequence[Claim], results: list[Result], part_of_sentence: str) -> bool:
    (found,) = [one for one in judge(claims, results) if part_of_sentence in one.paper]
    return found.fits


def messages(strawman: Callable[[float], float], fifo: Callable[[float], float]) -> list[Result]:
    return [
        *series("4", "strawman", "messages", strawman),
        *series("4", "coordinated-fifo", "messages", fifo),
    ]


def test_nothing_is_said_where_nothing_was_run() -> None:
    assert judge(debs06_claims.CLAIMS, []) == judge(chapter_claims.CLAIMS, []) == []


@pytest.mark.parametrize(("at_12", "expected"), [(99.0, True), (101.0, False)])
def test_one_length_above_strawman_is_enough_to_fail(at_12: float, expected: bool) -> None:
    results = messages(lambda x: 100.0, lambda x: at_12 if x == 12 else 50.0)
    assert verdict(debs06_claims.CLAIMS, results, "coordinated-fifo: below strawman") is expected


@pytest.mark.parametrize(("slope", "expected"), [(2.0, True), (-2.0, False)])
def test_messages_must_grow_with_the_cycle(slope: float, expected: bool) -> None:
    results = messages(lambda x: 100 + slope * x, lambda x: 10.0)
    assert verdict(debs06_claims.CLAIMS, results, "strawman: messages grow") is expected


@pytest.mark.parametrize(("fifo", "expected"), [(lambda x: 10 * x, True), (lambda x: 100.0, False)])
def test_the_saving_must_be_greater_on_short_cycles(fifo: Callable[[float], float], expected: bool) -> None:
    assert verdict(debs06_claims.CLAIMS, messages(lambda x: 200.0, fifo), "fifo: saves most on short") is expected


@pytest.mark.parametrize(
    ("delay", "expected"), [(lambda x: 5 * x + 3, True), (lambda x: 100 - 5 * x, False), (lambda x: x % 8, False)]
)
def test_the_delay_must_be_a_rising_line(delay: Callable[[float], float], expected: bool) -> None:
    results = series("5", "coordinated-causal", "delay_ms", delay)
    assert verdict(debs06_claims.CLAIMS, results, "coordinated-causal: the delay grows linearly") is expected


@pytest.mark.parametrize(("lost", "expected"), [(0.0, True), (0.04, False)])
def test_one_loss_in_one_run_is_enough_to_fail(lost: float, expected: bool) -> None:
    results = [
        Result("debs06", "loss", "coordinated-fifo", None, metric, mean, None, None, 25, None)
        for metric, mean in (("owed", 1000.0), ("lost", lost))
    ]
    assert verdict(debs06_claims.CLAIMS, results, "coordinated-fifo: no notification is lost") is expected


@pytest.mark.parametrize(("best", "expected"), [(79.0, True), (68.0, True), (67.0, False)])
def test_path_must_come_near_the_best_saving_somewhere(best: float, expected: bool) -> None:
    results = series("breaks-near", "path", "improvement", lambda x: best if x == 8 else 10.0)
    assert verdict(chapter_claims.CLAIMS, results, "path saves up to 78 %") is expected


@pytest.mark.parametrize(("informed", "expected"), [(60.0, True), (80.0, False), (20.0, False)])
def test_informed_must_lie_between(informed: float, expected: bool) -> None:
    results = [
        row
        for name, saving in (("deferred", 30.0), ("path", 70.0), ("informed", informed))
        for row in series("breaks-near", name, "improvement", lambda _, saving=saving: saving)  # type: ignore[misc]
    ]
    assert verdict(chapter_claims.CLAIMS, results, "informed saves more than deferred") is expected


@pytest.mark.parametrize(("overlapping", "expected"), [(55.0, True), (40.0, False)])
def test_informed_must_hold_under_overlap(overlapping: float, expected: bool) -> None:
    results = [
        *series("breaks-near", "informed", "improvement", lambda x: 60.0),
        *series("overlapping-near", "informed", "improvement", lambda x: overlapping),
    ]
    assert verdict(chapter_claims.CLAIMS, results, "informed keeps its saving") is expected

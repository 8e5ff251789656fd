"""The fit ranks every combination of the open parameters by the paper's pair, and by nothing else."""

import math

import pytest

from regraft.lab.fit import PAIR, Fit, candidates, fit_experiment, is_default, ranking, table_rows
from regraft.lab.icdcs03 import FITTED, ICDCS03
from regraft.lab.results import Result


def results(nearest: dict[str, str]) -> list[Result]:
    """Everything is twice too much, but for one candidate."""
    return [
        Result("icdcs03-fit", "pair", series.name, 200.0, "messages", mean, mean - 10, mean + 10, 10, None)
        for series in fit_experiment().figures[0].series
        for protocol in [series.points[0].group.protocol]
        for right in [series.name.endswith(f", {'-'.join(nearest.values())}")]
        for mean in [PAIR[protocol] * (1.0 if right else 2.0)]
    ]


def test_every_combination_is_a_candidate_once() -> None:
    names = [tuple(candidate.items()) for candidate in candidates()]
    assert len(names) == len(set(names)) == 2 * 2 * 3 * 2


def test_a_candidate_differs_from_the_experiment_in_the_free_parameters_alone() -> None:
    experiment = fit_experiment()
    for group in experiment.groups():
        scenario = experiment.scenario(group)
        declared = next(
            other
            for other in ICDCS03.groups()
            if other.protocol == group.protocol
            and other.cell.name.startswith("sparse-n200-rho0.03-pub0.001")
            and other.cell.name.endswith(("-t0.15", "-pub0.001"))
        )
        here = {key: value for key, value in group.cell.settings.items() if key not in FITTED}
        assert here == dict(declared.cell.settings)
        assert scenario.tree.brokers == 200


@pytest.mark.parametrize("nearest", [candidates()[0], candidates()[-1]])
def test_the_nearest_comes_first(nearest: dict[str, str]) -> None:
    ranked = ranking(results(nearest))
    assert ranked[0].settings == nearest
    assert ranked[0].distance == 0
    assert ranked[1].distance == pytest.approx(math.log(2) * math.sqrt(2))
    assert len(ranked) == len(candidates())


def test_the_experiment_runs_with_one_of_the_candidates() -> None:
    ranked: list[Fit] = ranking(results(candidates()[0]))
    assert [fit.settings for fit in ranked if is_default(fit)] == [FITTED]


def test_the_papers_pair_heads_the_table() -> None:
    first, second, *_ = table_rows(ranking(results(candidates()[3])))
    assert first[-4:-1] == ("63,162", "34,458", "45.4 %")
    assert second[-4:] == ("63,162 ± 10", "34,458 ± 10", "45.4 %", "0.000")

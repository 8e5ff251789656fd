"""An experiment's runs follow from its figures: each once, named for what it is, and not to be bent out of shape."""

import pytest

from regraft.errors import UsageError
from regraft.lab import EXPERIMENTS, Experiment, fit_experiment
from regraft.lab.experiment import seed_numbers
from regraft.lab.icdcs03 import ICDCS03

ALL = [*EXPERIMENTS.values(), fit_experiment()]


@pytest.mark.parametrize("experiment", ALL, ids=lambda experiment: experiment.name)
def test_every_cell_is_a_scenario_and_no_run_is_made_twice(experiment: Experiment) -> None:
    names = [task.run for task in experiment.tasks(seed_numbers(2))]
    assert len(names) == len(set(names)) == 2 * len(experiment.groups())


@pytest.mark.parametrize("experiment", ALL, ids=lambda experiment: experiment.name)
def test_a_series_name_contains_its_protocol(experiment: Experiment) -> None:
    for figure in experiment.figures:
        for series in figure.series:
            assert all(point.group.protocol in series.name for point in series.points)


def test_one_strawman_run_serves_every_timeout() -> None:
    names = [task.run for task in ICDCS03.restricted(["6c"]).tasks([17])]
    at_200 = [name for name in names if "-n200-" in name]
    assert at_200 == [
        "icdcs03/sparse-n200-rho0.03-pub0.001-t0.11/deferred/17",
        "icdcs03/sparse-n200-rho0.03-pub0.001/strawman/17",
        "icdcs03/sparse-n200-rho0.03-pub0.001-t0.15/deferred/17",
        "icdcs03/sparse-n200-rho0.03-pub0.001-t0.3/deferred/17",
    ]


def test_figures_share_their_runs() -> None:
    apart = sum(len(ICDCS03.restricted([figure.name]).groups()) for figure in ICDCS03.figures)
    assert len(ICDCS03.groups()) < apart


def test_both_protocols_meet_the_same_scenario() -> None:
    """But for the protocol and what only that protocol looks at."""
    for figure in ICDCS03.figures:
        for point in (point for series in figure.series for point in series.points):
            if point.baseline is not None:
                one, other = dict(point.group.cell.settings), dict(point.baseline.cell.settings)
                one.pop("broker.withdraw_after_ns")
                assert one == other


def test_figures_are_chosen_by_name_or_by_what_their_names_begin_with() -> None:
    assert [figure.name for figure in ICDCS03.restricted(["6b"]).figures] == ["6b"]
    assert [figure.name for figure in ICDCS03.restricted(["5", "6f"]).figures] == ["5-top", "5-bottom", "6f"]
    with pytest.raises(UsageError, match="no figure '7'"):
        ICDCS03.restricted(["6b", "7"])


def test_a_free_parameter_reaches_every_run() -> None:
    changed = ICDCS03.overlay({"tree": "balanced", "changes.endpoints": "reattach"})
    for task in changed.tasks([1]):
        assert task.scenario.tree.shape == "balanced"
        assert task.scenario.changes is not None
        assert task.scenario.changes.endpoints == "reattach"


@pytest.mark.parametrize("key", ["brokers", "tree.brokers", "protocol", "broker.withdraw_after_ns", "changes.every_s"])
def test_what_the_experiment_varies_cannot_be_set(key: str) -> None:
    with pytest.raises(UsageError, match="varies this itself"):
        ICDCS03.overlay({key: "7"})


@pytest.mark.parametrize(("key", "value"), [("tree", "oak"), ("tree.height", "3"), ("link.loss", "2")])
def test_what_is_no_setting_is_refused_before_anything_is_run(key: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"--set {key}={value}: "):
        ICDCS03.overlay({"link.latency_us": "5", key: value})


@pytest.mark.parametrize("count", [0, -1, 10_001])
def test_a_number_of_seeds_out_of_bounds_is_refused(count: int) -> None:
    with pytest.raises(UsageError, match="--seeds"):
        seed_numbers(count)

"""A sweep is refused before it begins where it makes no sense, and its tasks are spread by cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.errors import UsageError
from regraft.pipeline.sweep import SweepTask, check_tasks, place
from regraft.sim import Scenario


def tasks(costs: list[float]) -> list[SweepTask]:
    return [SweepTask(f"r/{number}", Scenario(), number, cost=cost) for number, cost in enumerate(costs)]


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=30), st.integers(1, 10))
def test_groups_hold_every_task_once_and_differ_by_one_task_at_most(costs: list[float], groups_max: int) -> None:
    groups = place(tasks(costs), groups_max)
    assert sorted(task.seed for group in groups for task in group) == list(range(len(costs)))
    totals = [sum(task.cost for task in group) for group in groups]
    assert totals == sorted(totals, reverse=True)
    assert all(groups)
    assert totals[0] - totals[-1] <= max(costs)


def test_where_there_is_room_each_run_has_a_task_of_its_own_and_the_longest_begins() -> None:
    assert [[task.cost for task in group] for group in place(tasks([1, 5, 3]), 10)] == [[5], [3], [1]]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ([], "a sweep of no runs"),
        (tasks([1]) * 2, "run 'r/0' is in the sweep twice"),
        ([SweepTask("r", Scenario(), 1, "everything")], "run 'r': a trace is one of full, counted, summed"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(sweep: list[SweepTask], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_tasks(sweep)

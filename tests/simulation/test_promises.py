"""Whatever breaks, overlaps, crashes or changes its mind: what every protocol promises holds in the end."""

import pytest

from regraft.sim import Outcome, simulate
from regraft.sim.scenario import scenario_from
from simulation.random_scenarios import random_scenario

SMOKE_SEEDS = range(1, 25)


def outcome_of(run) -> Outcome:
    for _ in run.batches():
        pass
    assert run.outcome is not None
    return run.outcome


@pytest.mark.parametrize("seed", SMOKE_SEEDS)
def test_tables_are_exact_and_in_force_is_true(seed: int) -> None:
    outcome = outcome_of(simulate(random_scenario(seed), seed, name=f"smoke/{seed}", trace="counted"))
    assert outcome.violations == []
    assert outcome.wrong_entries == 0
    assert outcome.changes > 0
    assert outcome.deliveries > 0


@pytest.mark.parametrize("forwarding", ["subscription", "hierarchical", "message"])
@pytest.mark.parametrize("covering", [False, True])
def test_nothing_is_lost_duplicated_or_reordered_while_the_tree_stands_still(forwarding: str, covering: bool) -> None:
    scenario = scenario_from(
        {
            "duration_s": 3.0,
            "tree": {"brokers": 20},
            "subscriptions": {"kind": "quotes", "acknowledged": True, "subscribers": 0.8, "core": 0.5, "churn_hz": 2.0},
            "publications": {"rate_hz": 10.0, "until_s": 2.5},
            "broker": {"forwarding": forwarding, "covering": covering},
            "checks": ["tables", "connected", "quiet", "in_force", "delivered", "in_order"],
        },
        "still",
    )
    outcome = outcome_of(simulate(scenario, 3, name="still", trace="counted"))
    assert outcome.violations == []
    assert outcome.numbers is not None
    assert outcome.numbers.owed > 1_000


def test_loss_on_links_is_counted_as_lost() -> None:
    scenario = scenario_from(
        {
            "duration_s": 3.0,
            "tree": {"brokers": 10},
            "link": {"loss": 0.1},
            "subscriptions": {"acknowledged": True, "subscribers": 0.8},
            "publications": {"rate_hz": 10.0, "from_s": 1.0, "until_s": 2.5},
        },
        "lossy",
    )
    outcome = outcome_of(simulate(scenario, 1, name="lossy", trace="counted"))
    assert outcome.violations == []
    assert outcome.numbers is not None
    assert 0 < outcome.numbers.lost < outcome.numbers.owed


def test_delivery_returns_to_all_after_the_last_change() -> None:
    """icdcs03 Fig. 5: what is published after the last reconfiguration has been digested reaches everybody."""
    scenario = scenario_from(
        {
            "duration_s": 4.0,
            "tree": {"brokers": 30},
            "subscriptions": {"acknowledged": True, "subscribers": 0.5},
            "publications": {"rate_hz": 20.0, "from_s": 3.0, "until_s": 3.9},
            "changes": {"from_s": 1.0, "until_s": 2.5, "every_s": 0.03},
            "checks": ["tables", "connected", "quiet", "in_force", "delivered", "in_order"],
        },
        "after",
    )
    assert outcome_of(simulate(scenario, 5, name="after", trace="counted")).violations == []

"""Whatever breaks, overlaps, crashes or changes its mind: what every protocol promises holds in the end."""

import pytest

from effort import quick_first
from regraft.broker.inputs import Input
from regraft.sim import Outcome, simulate
from regraft.sim.drawn import promised
from regraft.sim.network import Node
from regraft.sim.scenario import PROTOCOLS, scenario_from
from regraft.sim.world import World
from simulation.random_scenarios import random_scenario

SMOKE_SEEDS = quick_first(range(1, 11), 3)


def outcome_of(run) -> Outcome:
    for _ in run.batches():
        pass
    assert run.outcome is not None
    return run.outcome


@pytest.fixture
def looked_at_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every broker's invariants after every input but events."""
    give = World.give

    def give_and_check(self: World, node: Node, given: Input) -> None:
        give(self, node, given)
        if node.alive:
            node.core.check()

    monkeypatch.setattr(World, "give", give_and_check)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", SMOKE_SEEDS)
def test_a_protocol_keeps_its_promises(protocol: str, seed: int, looked_at_closely: None) -> None:
    scenario = random_scenario(seed, protocol)
    outcome = outcome_of(simulate(scenario, seed, name=f"smoke/{seed}", trace="counted"))
    assert outcome.violations == []
    assert outcome.wrong_entries == 0
    assert outcome.changes > 0
    assert outcome.deliveries > 0


def test_planned_exchanges_are_promised_to_lose_nothing() -> None:
    assert "delivered" in promised("coordinated-none", "planned")
    assert {"delivered", "in_order"} <= {*promised("coordinated-fifo", "exchange")}
    assert {"delivered", "in_order", "causal"} <= {*promised("coordinated-causal", "exchange")}
    assert "delivered" not in promised("coordinated-causal", "any")
    assert "delivered" not in promised("deferred", "exchange")


@pytest.mark.parametrize("forwarding", ["subscription", "hierarchical", "message"])
@pytest.mark.parametrize("covering", [False, True])
def test_nothing_is_lost_duplicated_or_reordered_while_the_tree_stands_still(forwarding: str, covering: bool) -> None:
    scenario = scenario_from(
        {
            "duration_s": 3.0,
            "tree": {"brokers": 12},
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
    assert outcome.numbers.owed > 500


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

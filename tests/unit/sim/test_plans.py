"""A plan is carried out under load, nothing is lost on the way, and what comes between does not stop it."""

from pathlib import Path
from random import Random

import pytest

from effort import quick_first
from regraft.errors import ScenarioError
from regraft.sim import Outcome, parse_scenario, read_scenario, simulate
from trees import tree_of

SCENARIO = Path(__file__).parents[3] / "scenarios" / "plan.toml"

SIXTEEN = """
duration_s = 5.0
checks = ["tables", "connected", "quiet", "in_force"]
link = { latency_us = 5000.0 }
subscriptions = { acknowledged = true, subscribers = 0.8, core = 0.5, churn_hz = 1.0 }
publications = { rate_hz = 30.0, until_s = 4.5 }
"""


def run(scenario, seed: int) -> Outcome:
    run = simulate(scenario, seed, name="plan", trace="counted")
    for _ in run.batches():
        pass
    assert run.outcome is not None
    return run.outcome


@pytest.mark.parametrize("seed", range(3))
def test_a_network_is_led_to_another_tree_and_nothing_is_lost(seed: int) -> None:
    outcome = run(read_scenario(SCENARIO), seed)
    assert outcome.violations == []
    assert [account.outcome for account in outcome.reconfigurations] == ["done", "done"]
    assert outcome.changes == 4
    assert outcome.numbers is not None
    assert outcome.numbers.owed > 1_000


def text_of(seed: int, more: str, protocol: str) -> str:
    dice = Random(seed)
    brokers = [f"b{number:02}" for number in range(16)]
    current, wanted = tree_of(brokers[:13], dice), tree_of(brokers[3:], dice)
    links = [[f"{a}-{b}" for a, b in tree] for tree in (current, wanted)]
    plan = f'protocol = "{protocol}"\n{SIXTEEN}\ntree = {{ shape = "explicit", links = {links[0]} }}\n'
    return f"{plan}{more}\n[plan]\nat_s = 1.0\nwanted = {links[1]}\n"


@pytest.mark.parametrize("protocol", ["strawman", "deferred", "coordinated-fifo", "coordinated-causal"])
@pytest.mark.parametrize("seed", quick_first(range(4), 1))
def test_any_protocol_gets_there_and_coordinated_without_loss(seed: int, protocol: str) -> None:
    outcome = run(parse_scenario(text_of(seed, "", protocol), {}, "scenario.toml"), seed)
    assert outcome.violations == []
    assert outcome.numbers is not None
    if protocol.startswith("coordinated"):
        assert (outcome.numbers.lost, outcome.numbers.duplicated, outcome.numbers.out_of_order) == (0, 0, 0)


@pytest.mark.parametrize("protocol", ["deferred", "coordinated-fifo"])
@pytest.mark.parametrize("seed", quick_first(range(4), 1))
def test_what_interrupts_a_plan_makes_it_anew(seed: int, protocol: str) -> None:
    breaks = "changes = { from_s = 1.02, until_s = 1.6, every_s = 0.1, replace_after_s = 0.05 }"
    outcome = run(parse_scenario(text_of(seed, breaks, protocol), {}, "scenario.toml"), seed)
    assert outcome.violations == []
    assert any(account.outcome == "replaced" for account in outcome.reconfigurations)


def test_a_plan_that_does_not_arrive_is_a_violation() -> None:
    outcome = run(read_scenario(SCENARIO, {"plan.at_s": "3.99"}), 1)
    assert any("the plan has not arrived" in violation for violation in outcome.violations)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ('["a-b", "b-c", "c-a"]', "plan.wanted: link c-a closes a loop"),
        ('["a-b", "c-d"]', "plan.wanted: c is not connected with a"),
        ('["a"]', "plan.wanted: 'a' is no link"),
        ("[]", "plan.wanted: there are no links"),
    ],
)
def test_a_wanted_tree_that_is_none_is_refused_before_anything_happens(wanted: str, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        read_scenario(SCENARIO, {"plan.wanted": wanted})

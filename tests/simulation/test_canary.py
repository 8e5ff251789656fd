"""A bug planted on purpose must be caught: checkers that find nothing here find nothing anywhere."""

import pytest

from regraft.broker.core import Broker
from regraft.broker.effects import Effect
from regraft.broker.reconfiguration.deferred import Deferred
from regraft.broker.routing.confirmation import Confirmation, Probe
from regraft.broker.routing.settlement import Settlement
from regraft.sim import Scenario, scenario_from, simulate
from simulation.random_scenarios import random_scenario

SEEDS = range(1, 25)


def violations_of(scenario: Scenario, seed: int) -> list[str]:
    run = simulate(scenario, seed, name=f"canary/{seed}", trace="counted")
    try:
        for _ in run.batches():
            pass
    except AssertionError as error:  # the broker's own invariants speak first
        return [str(error)]
    assert run.outcome is not None
    return run.outcome.violations


def violations() -> list[str]:
    return [violation for seed in SEEDS for violation in violations_of(random_scenario(seed), seed)]


def test_a_withdrawal_that_is_never_sent_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deferred, "expire", lambda self, timer: 0)
    assert any("wrong entries" in violation or "no longer wants" in violation for violation in violations())


def test_a_new_link_that_is_told_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Settlement.settle

    def say_nothing(self: Settlement, changed: int, cause: str) -> None:
        if not cause:
            settle(self, changed, cause)

    monkeypatch.setattr(Settlement, "settle", say_nothing)
    assert any("wrong entries" in violation or "owes" in violation for violation in violations())


def test_a_confirmation_after_one_round_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that do not watch for changes, and an origin that does not ask again, tell some client too early."""
    monkeypatch.setattr(Broker, "_is_laid", lambda self, neighbour, filters: True)
    monkeypatch.setattr(Confirmation, "_spoil", lambda self, now_ns, origin: [])
    conclude = Confirmation._conclude

    def conclude_at_once(self: Confirmation, now_ns: int, probe: Probe) -> list[Effect]:
        probe.round = 2
        return conclude(self, now_ns, probe)

    monkeypatch.setattr(Confirmation, "_conclude", conclude_at_once)
    scenario = scenario_from(
        {
            "protocol": "strawman",
            "duration_s": 3.0,
            "tree": {"brokers": 25},
            "link": {"latency_us": 20_000.0},
            "subscriptions": {"kind": "quotes", "acknowledged": True, "core": 0.0, "churn_hz": 3.0, "subscribers": 0.8},
            "publications": {"rate_hz": 1.0, "until_s": 2.5},
            "changes": {"from_s": 0.1, "until_s": 2.0, "every_s": 0.3, "replace_after_s": 0.0},
        },
        "canary",
    )
    found: list[str] = []
    for seed in range(1, 5):
        found += violations_of(scenario, seed)
    assert any("has no route to it" in violation for violation in found)

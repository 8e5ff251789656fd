"""A bug planted on purpose must be caught: checkers that find nothing here find nothing anywhere."""

import pytest

from regraft.broker.core import Broker
from regraft.broker.effects import Effect
from regraft.broker.exchanging import Exchanging
from regraft.broker.reconfiguration import Coordinated
from regraft.broker.reconfiguration.deferred import Deferred
from regraft.broker.reconfiguration.informed import Informed
from regraft.broker.reconfiguration.path import Path
from regraft.broker.routing.confirmation import Confirmation, Probe
from regraft.broker.routing.settlement import Settlement
from regraft.sim import Scenario, scenario_from, simulate
from simulation.random_scenarios import random_scenario

SEEDS = range(1, 60)


def violations_of(scenario: Scenario, seed: int) -> list[str]:
    run = simulate(scenario, seed, name=f"canary/{seed}", trace="counted")
    try:
        for _ in run.batches():
            pass
    except AssertionError as error:  # the broker's own invariants speak first
        return [str(error)]
    assert run.outcome is not None
    return run.outcome.violations


def is_caught(protocol: str, *words: str) -> bool:
    """Whether some run of these seeds says so."""
    for seed in SEEDS:
        found = violations_of(random_scenario(seed, protocol), seed)
        if any(word in violation for violation in found for word in words):
            return True
    return False


def test_a_withdrawal_that_is_never_sent_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deferred, "expire", lambda self, timer: 0)
    assert is_caught("deferred", "wrong entries", "no longer wants")


def test_a_new_link_that_is_told_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Settlement.settle

    def say_nothing(self: Settlement, changed: int, cause: str, apart: str = "") -> int:
        return 0 if cause else settle(self, changed, cause, apart)

    monkeypatch.setattr(Settlement, "settle", say_nothing)
    assert is_caught("deferred", "wrong entries", "owes")


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
    found = (violation for seed in range(1, 5) for violation in violations_of(scenario, seed))
    assert any("has no route to it" in violation for violation in found)


def test_a_broker_that_listens_while_its_recmsg_is_under_way_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """sem02 §4.5: without the ignore table, an unsubscription that crosses RECMSG takes away what it has added."""
    monkeypatch.setattr(Path, "ignored", lambda self, neighbour: 0)
    scenario = scenario_from(
        {
            "protocol": "path",
            "duration_s": 3.0,
            "tree": {"brokers": 12, "degree_max": 3},
            "link": {"latency_us": 50_000.0},
            "subscriptions": {"core": 0.0, "churn_hz": 50.0, "subscribers": 0.8, "filters": 30},
            "publications": {"rate_hz": 1.0, "until_s": 2.5},
            "changes": {"from_s": 0.1, "until_s": 2.0, "every_s": 0.5, "replace_after_s": 0.0},
        },
        "canary",
    )
    found = (violation for seed in range(3, 6) for violation in violations_of(scenario, seed))
    assert any("wrong entries" in violation for violation in found)


# --- planned exchanges


def planned(protocol: str) -> Scenario:
    """Events overtake each other easily: links are slow, and much is published."""
    return scenario_from(
        {
            "protocol": protocol,
            "duration_s": 4.0,
            "tree": {"brokers": 12},
            "link": {"latency_us": 20_000.0},
            "subscriptions": {"acknowledged": True, "subscribers": 0.8},
            "publications": {"rate_hz": 30.0, "from_s": 1.0, "until_s": 3.0},
            "changes": {"kind": "exchange", "from_s": 1.2, "until_s": 2.6, "every_s": 0.4, "replace_after_s": 0.0},
            "checks": ["tables", "connected", "quiet", "in_force", "delivered", "in_order", "causal"],
        },
        "planned",
    )


def is_caught_in_exchanges(protocol: str, *words: str) -> bool:
    found = (violation for seed in range(1, 9) for violation in violations_of(planned(protocol), seed))
    return any(word in violation for violation in found for word in words)


@pytest.mark.parametrize(
    ("protocol", "words"), [("coordinated-fifo", "out of order"), ("coordinated-causal", "against causal order")]
)
def test_gray_events_that_do_not_wait_are_caught(protocol: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coordinated, "held_back", lambda self, event, came_from: False)
    assert is_caught_in_exchanges(protocol, words)


def test_a_causal_exchange_that_waits_for_one_separator_only_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    release = Coordinated._release

    def release_early(self, part) -> None:
        part.returned = part.other
        release(self, part)

    monkeypatch.setattr(Coordinated, "_release", release_early)
    assert is_caught_in_exchanges("coordinated-causal", "against causal order")


def test_events_without_colours_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coordinated, "is_gray", lambda self, came_from, exchange: self.part.gray)
    assert is_caught_in_exchanges("coordinated-none", "lost", "duplicated")


def test_a_subscription_that_is_told_for_one_tree_only_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exchanging, "join", lambda self, neighbour: self._settlement.after.open(neighbour))
    assert is_caught_in_exchanges("coordinated-none", "lost", "owes")


def test_a_broker_that_tells_nobody_of_an_interrupted_exchange_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exchanging, "tell_all", lambda self, neighbour, first: None)
    scenario = scenario_from(
        {
            "protocol": "coordinated-none",
            "duration_s": 4.0,
            "tree": {"brokers": 12},
            "link": {"latency_us": 20_000.0},
            "publications": {"rate_hz": 1.0, "until_s": 2.5},
            "changes": {"kind": "any", "from_s": 0.5, "until_s": 2.0, "every_s": 0.1},
        },
        "canary",
    )
    found = (violation for seed in range(1, 4) for violation in violations_of(scenario, seed))
    assert any("locked for an exchange at the end" in violation for violation in found)


def test_an_old_end_that_never_takes_back_what_did_not_come_back_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Informed, "timer_fired", lambda self, name: None)
    scenario = scenario_from(
        {
            "protocol": "informed",
            "duration_s": 3.0,
            "tree": {"brokers": 12},
            "subscriptions": {"core": 0.0, "churn_hz": 3.0, "subscribers": 0.8},
            "publications": {"rate_hz": 1.0, "until_s": 2.5},
            "changes": {"from_s": 0.1, "until_s": 2.0, "every_s": 0.3, "replace_after_s": 0.1},
        },
        "canary",
    )
    found = violations_of(scenario, 1)
    assert any("wrong entries" in violation for violation in found)

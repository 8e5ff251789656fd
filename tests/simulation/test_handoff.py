"""Clients that move while links are exchanged get everything, once, in order; and bugs planted in that are caught.

What is lost where a broker is gone for good lies within what its client is told.
"""

from random import Random

import msgspec
import pytest

from effort import quick_first
from regraft.broker.effects import Forward, HandedOff
from regraft.broker.mobility.handoff import Away, Handoff
from regraft.broker.mobility.merging import merged
from regraft.model.events import Event
from regraft.sim import Outcome, Scenario, scenario_from, simulate
from regraft.sim.drawn import draw_moves
from regraft.sim.moves import Mobility
from regraft.sim.scenario import Moves
from simulation.random_scenarios import random_scenario

PLANNED = [seed for seed in range(1, 60) if random_scenario(seed, "coordinated-fifo").changes.kind != "any"]


def with_moves(seed: int, protocol: str) -> Scenario:
    moves = msgspec.convert(draw_moves(Random(f"moves {seed}")), Moves)
    return msgspec.structs.replace(random_scenario(seed, protocol), moves=moves)


def outcome_of(scenario: Scenario, seed: int) -> Outcome:
    run = simulate(scenario, seed, name=f"handoff/{seed}", trace="counted")
    for _ in run.batches():
        pass
    assert run.outcome is not None
    return run.outcome


@pytest.fixture
def arrivals(monkeypatch: pytest.MonkeyPatch) -> list[HandedOff]:
    told: list[HandedOff] = []
    handed_off = Mobility.handed_off

    def listen(self: Mobility, effect: HandedOff) -> None:
        told.append(effect)
        handed_off(self, effect)

    monkeypatch.setattr(Mobility, "handed_off", listen)
    return told


@pytest.mark.parametrize("protocol", ["coordinated-fifo", "graft-causal"])
@pytest.mark.parametrize("seed", quick_first(PLANNED[:12], 4))
def test_who_moves_while_links_are_exchanged_gets_everything_once_in_order(
    protocol: str, seed: int, arrivals: list[HandedOff]
) -> None:
    outcome = outcome_of(with_moves(seed, protocol), seed)
    assert outcome.violations == []
    assert outcome.numbers is not None
    assert outcome.numbers.lost == outcome.numbers.duplicated == outcome.numbers.out_of_order == 0
    assert arrivals
    assert {told.outcome for told in arrivals} == {"whole"}


def still(forwarding: str, direct_ms: tuple[float, float], every_s: float, rate_hz: float) -> Scenario:
    return scenario_from(
        {
            "duration_s": 4.0,
            "tree": {"brokers": 15},
            "link": {"latency_us": 20_000.0},
            "subscriptions": {"acknowledged": True, "subscribers": 0.8, "core": 0.5, "churn_hz": 1.0},
            "publications": {"rate_hz": rate_hz, "until_s": 3.5},
            "moves": {"every_s": every_s, "direct_ms": direct_ms},
            "broker": {"forwarding": forwarding},
            "checks": ["tables", "connected", "quiet", "in_force", "delivered", "in_order"],
        },
        "moves",
    )


@pytest.mark.parametrize("forwarding", ["subscription", "hierarchical", "message"])
def test_under_any_forwarding(forwarding: str, arrivals: list[HandedOff]) -> None:
    outcome = outcome_of(still(forwarding, (0.0, 100.0), 0.03, 10.0), 1)
    assert outcome.violations == []
    assert outcome.numbers is not None
    assert outcome.numbers.owed > 50
    assert len(arrivals) > 10


def test_what_is_lost_with_a_broker_lies_within_what_its_client_is_told(
    arrivals: list[HandedOff], monkeypatch: pytest.MonkeyPatch
) -> None:
    """b crashes while its client is away. `c.d` publishes every 10 ms; the client is told from when on it has all."""
    publications = [{"at_s": 0.5 + 0.01 * number, "at": "d", "publish": {"price": number}} for number in range(300)]
    scenario = scenario_from(
        {
            "duration_s": 8.0,
            "tree": {"shape": "explicit", "links": ["a-b", "a-c", "a-d"]},
            "subscriptions": {"kind": "none"},
            "publications": {"rate_hz": 0.0},
            "step": [
                {"at_s": 0.1, "at": "b", "subscribe": "price >= 0"},
                *publications,
                {"at_s": 1.0, "at": "b", "away": True},
                {"at_s": 1.5, "crash": "b"},
                {"at_s": 2.0, "at": "b", "arrive": "c"},
            ],
        },
        "gone",
    )
    got: list[int] = []
    monkeypatch.setattr(
        "regraft.sim.world.World.deliver", lambda self, node, clients, parcel: got.append(parcel.event.sequence)
    )
    outcome_of(scenario, 1)
    (told,) = arrivals
    assert told.outcome == "unanswered"
    whole_from = (told.whole_from_ns - 500_000_000) // 10_000_000 + 2  # the number of what is published after that
    assert got == sorted(set(got))
    missing = {*range(1, 301)} - {*got}
    assert missing
    assert 50 < min(missing) <= max(missing) < whole_from


def test_merging_takes_each_event_once_and_each_publisher_in_order() -> None:
    def events(text: str) -> list[Event]:
        return [Event(name[0], int(name[1:]), {}) for name in text.split()]

    names = [event.name for event in merged(events("p1 q4 p3"), events("p2 q4 q3 r1"))]
    assert names == ["p/1", "q/3", "p/2", "p/3", "q/4", "r/1"]


# --- bugs planted on purpose


def is_caught(*words: str) -> bool:
    for seed in PLANNED:
        found = outcome_of(with_moves(seed, "coordinated-fifo"), seed).violations
        if any(word in violation for violation in found for word in words):
            return True
    return False


def test_a_new_broker_that_ignores_the_questions_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handoff, "questioned", lambda self, broker, flush: None)
    assert is_caught("duplicated")


def test_an_old_broker_that_hands_over_all_it_has_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The share must not hold what comes in the second round."""

    def hand_all(self: Handoff, client: str) -> None:
        away: Away = self._away[client]
        away.share = len(away.log)
        self._hand(client, away, 0)

    monkeypatch.setattr(Handoff, "flushed", hand_all)
    found = [outcome_of(still("subscription", (0.0, 0.0), 0.2, 50.0), seed).violations for seed in range(1, 5)]
    assert any("duplicated" in violation for violations in found for violation in violations)


def test_an_old_broker_that_does_not_wait_for_what_is_under_way_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    flush = Handoff.claimed

    def hand_at_once(self: Handoff, broker: str, message) -> None:
        flush(self, broker, message)
        self.flushed(message.client)

    monkeypatch.setattr(Handoff, "claimed", hand_at_once)
    assert is_caught("lost", "duplicated")


def test_a_new_broker_that_holds_nothing_back_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = Handoff.keep

    def let_go(self: Handoff, client: str, event: Event) -> None:
        if client in self._arriving:
            self._host.emit(Forward(event, (), ()))
        else:
            keep(self, client, event)

    monkeypatch.setattr(Handoff, "keep", let_go)
    assert is_caught("lost")

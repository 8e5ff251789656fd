"""Scenarios drawn from a number: everything that a scenario can vary, each with the checks that its protocol promises.

Tests, and whoever soaks the protocols in random runs (`lab/soak.py`), draw from here. A drawn scenario and the number
as its seed are one run, for ever: what changes here changes every run that was ever reported, so a regression is kept
as its scenario and not as its number.
"""

from random import Random
from typing import Any

from regraft.sim.scenario import PROTOCOLS, Check, Protocol, Scenario, scenario_from

ALWAYS: tuple[Check, ...] = ("tables", "connected", "quiet", "in_force")

# Kinds of changes after which nothing may be missing: all is planned.
PLANNED = ("exchange", "planned")

CHURN_HZ_MAX = 30.0  # of all clients together: a confirmation goes through the whole tree
PUBLICATIONS_HZ_MAX = 100.0


def promised(protocol: Protocol, kind: str) -> tuple[Check, ...]:
    """What must hold in every run of this protocol with changes of this kind."""
    order = PROTOCOLS[protocol][1]
    if order is None or kind not in PLANNED:
        return ALWAYS
    in_order: dict[str, tuple[Check, ...]] = {"none": (), "fifo": ("in_order",), "causal": ("in_order", "causal")}
    return (*ALWAYS, "delivered", *in_order[order])


def draw_moves(dice: Random) -> dict[str, Any]:
    """Clients that move, seldom or often, at once or after a while, among quick brokers or slow ones."""
    return {
        "from_s": 1.0,
        "until_s": 3.0,
        "every_s": dice.choice([0.02, 0.1]),
        "away_s": dice.choice([[0.0, 0.0], [0.0, 0.1], [0.0, 0.5]]),
        "direct_ms": dice.choice([[0.0, 1.0], [0.0, 30.0], [50.0, 300.0]]),
    }


def draw_scenario(number: int, *, brokers: tuple[int, int] = (10, 200), protocol: str = "") -> Scenario:
    """With a number of brokers in this range; of this protocol, or of any."""
    dice = Random(number)
    name = protocol or dice.choice(list(PROTOCOLS))
    order = PROTOCOLS[name][1]  # type: ignore[index]
    count = round(brokers[0] * (brokers[1] / brokers[0]) ** dice.random())  # small ones as often as large ones
    kinds = ["break", "crash", "any"] if order is None else ["exchange", "exchange", "planned", "planned", "any"]
    kind = dice.choice([*kinds, "exchange", "planned"])
    strategies = ["subscription", "subscription", "subscription", "message"]
    forwarding = dice.choice([*strategies, "hierarchical"] if order is None else strategies)
    latency_us = dice.choice([50.0, 1_000.0, 20_000.0])
    every_s = dice.choice([0.05, 0.1, 0.5])
    drawn: dict[str, Any] = {
        "name": f"drawn-{number}",
        "protocol": name,
        "duration_s": 4.0,
        "tree": {
            "brokers": count,
            "shape": dice.choice(["attachment", "balanced"]),
            "degree_max": dice.choice([3, 4]),
        },
        "link": {
            "latency_us": latency_us,
            "bandwidth_mbit": dice.choice([10.0, 0.1]) if count <= 40 else 10.0,
            "detect_ms": dice.choice([[0.0, 0.0], [0.0, 30.0]]),
        },
        "subscriptions": {
            "kind": dice.choice(["characters", "quotes"]),
            "acknowledged": True,
            "core": dice.choice([0.0, 0.5]),
            "churn_hz": dice.choice([0.0, min(3.0, CHURN_HZ_MAX / count)]),
            "filters": dice.choice([1, 5]),
            "subscribers": dice.choice([0.3, 0.8]),
        },
        "publications": {"rate_hz": min(5.0, PUBLICATIONS_HZ_MAX / count), "until_s": 3.5},
        "broker": {"forwarding": forwarding, "covering": dice.random() < 0.4, "batch": dice.random() < 0.5},
        "changes": {
            "kind": kind,
            "from_s": dice.choice([0.1, 1.0]),  # before the first subscriptions are in force, or when most are
            "until_s": 2.5,
            "every_s": every_s,
            "replace_after_s": dice.choice([0.0, 0.1, 0.3]),
            "endpoints": dice.choice(["uniform", "reattach", "move"]),
        },
        "checks": promised(name, kind),  # type: ignore[arg-type]
    }
    if order is not None and kind in PLANNED and dice.random() < 0.5:
        drawn["moves"] = draw_moves(dice)
    return scenario_from(drawn, f"drawn scenario {number}")

"""Scenarios drawn from a seed: everything that a scenario can vary, small enough to run many."""

from random import Random

from regraft.sim import Scenario, scenario_from


def random_scenario(seed: int) -> Scenario:
    dice = Random(seed)
    forwarding = dice.choice(["subscription", "subscription", "subscription", "hierarchical", "message"])
    return scenario_from(
        {
            "protocol": dice.choice(["strawman", "deferred"]),
            "duration_s": 4.0,
            "tree": {
                "brokers": dice.randint(3, 25),
                "shape": dice.choice(["attachment", "balanced"]),
                "degree_max": dice.choice([3, 4]),
            },
            "link": {
                "latency_us": dice.choice([50.0, 1_000.0, 20_000.0]),
                "bandwidth_mbit": dice.choice([10.0, 0.1]),
                "detect_ms": dice.choice([[0.0, 0.0], [0.0, 30.0]]),
            },
            "subscriptions": {
                "kind": dice.choice(["characters", "quotes"]),
                "acknowledged": True,
                "core": dice.choice([0.0, 0.5]),
                "churn_hz": dice.choice([0.0, 3.0]),
                "filters": dice.choice([1, 5]),
                "subscribers": dice.choice([0.3, 0.8]),
            },
            "publications": {"rate_hz": 2.0, "until_s": 3.0},
            "broker": {"forwarding": forwarding, "covering": dice.random() < 0.4, "batch": dice.random() < 0.5},
            "changes": {
                "kind": dice.choice(["break", "break", "crash"]),
                "from_s": 0.1,
                "until_s": 2.0,
                "every_s": dice.choice([0.03, 0.1, 0.5]),
                "replace_after_s": dice.choice([0.0, 0.1, 0.3]),
                "endpoints": dice.choice(["uniform", "reattach"]),
            },
        },
        f"random scenario {seed}",
    )

"""Scenarios drawn from a seed, small enough to run many."""

from regraft.sim import Scenario
from regraft.sim.drawn import draw_scenario

ANNOUNCED = ("path", "informed", "auto")  # the protocols that are told of a replacement


def random_scenario(seed: int, protocol: str = "") -> Scenario:
    return draw_scenario(seed, brokers=(3, 25), protocol=protocol)

"""The virtual world: the brain driven in virtual time, deterministic in scenario and seed."""

from regraft.sim.run import Outcome, Run, simulate
from regraft.sim.scenario import Scenario, parse_scenario, read_scenario, scenario_from

__all__ = ["Outcome", "Run", "Scenario", "parse_scenario", "read_scenario", "scenario_from", "simulate"]

"""The virtual world: the brain driven in virtual time, deterministic in scenario and seed."""

from regraft.sim.run import Outcome, Run, simulate
from regraft.sim.scenario import Scenario, parse_scenario, read_scenario, scenario_from
from regraft.sim.world import Recorder

__all__ = ["Outcome", "Recorder", "Run", "Scenario", "parse_scenario", "read_scenario", "scenario_from", "simulate"]

"""One random run of a soak: a task in, a result out, and nothing else touched; so Spark may make it, twice if it likes.

A run that raises has found something too: an invariant of a broker's (`Broker.check`), or a bug of ours that shows as
an exception. It counts as violated, in the exception's words.
"""

from dataclasses import dataclass

from regraft.sim.drawn import draw_scenario
from regraft.sim.run import simulate
from regraft.sim.scenario import Scenario
from regraft.trace import LEVEL_COUNTED


@dataclass(frozen=True, slots=True)
class SoakTask:
    """`number` is what the scenario is drawn from, and its seed; an empty `protocol` leaves that to the dice."""

    number: int
    protocol: str
    brokers_min: int
    brokers_max: int

    def scenario(self) -> Scenario:
        return draw_scenario(self.number, brokers=(self.brokers_min, self.brokers_max), protocol=self.protocol)


@dataclass(frozen=True, slots=True)
class SoakResult:
    """`promised` says whether the protocol promises to lose nothing in a run like this; a run that raised counts 0."""

    number: int
    protocol: str
    promised: bool
    changes: int
    hops: int
    owed: int
    lost: int
    duplicated: int
    out_of_order: int
    violations: tuple[str, ...]


def soak_run(task: SoakTask) -> SoakResult:
    scenario = task.scenario()
    promised = "delivered" in scenario.checks
    run = simulate(scenario, task.number, name=f"soak/{task.number}", trace=LEVEL_COUNTED)
    try:
        for _ in run.batches():
            pass
    except Exception as error:
        return SoakResult(task.number, scenario.protocol, promised, 0, 0, 0, 0, 0, 0, (in_words(error),))
    outcome = run.outcome
    assert outcome is not None
    assert outcome.numbers is not None
    numbers = outcome.numbers
    return SoakResult(
        number=task.number,
        protocol=scenario.protocol,
        promised=promised,
        changes=outcome.changes,
        hops=outcome.event_hops + outcome.control_hops,
        owed=numbers.owed,
        lost=numbers.lost,
        duplicated=numbers.duplicated,
        out_of_order=numbers.out_of_order,
        violations=tuple(outcome.violations),
    )


def violations_of(scenario: Scenario, seed: int) -> tuple[str, ...]:
    """What is wrong with this run, in words."""
    run = simulate(scenario, seed, name=f"soak/{seed}", trace=LEVEL_COUNTED)
    try:
        for _ in run.batches():
            pass
    except Exception as error:
        return (in_words(error),)
    assert run.outcome is not None
    return tuple(run.outcome.violations)


def in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

"""Message hops a second on one core, beside the least that a simulator must do: push an entry on a heap and pop one.

Two runs of the papers' workload (icdcs03 §6), traces `counted`. The one for events has no reconfigurations, and many
events; a hop of it includes routing at the broker, the link, the account of what is owed, and its share of the
deliveries. The one for control messages has 200 brokers, a reconfiguration every 30 ms, `strawman`, and no events at
all. The heap holds 100 entries, which is short: a longer one would be slower, and the ratio better. Runs and heap
take turns, and the best of each counts, as noise only ever adds.
"""

import heapq
from random import Random
from time import perf_counter

from regraft.sim import Outcome, Scenario, scenario_from, simulate

HEAP_LENGTH = 100
SEED = 1


def run(quick: bool = False) -> dict[str, float | int | str]:
    """Figures by name, units last; `quick` makes the runs short."""
    turns = 1 if quick else 3
    events = _events_scenario(1.0 if quick else 3.0)
    control = _control_scenario(1.0 if quick else 4.0)
    heap_rate = event_rate = control_rate = 0.0
    for _ in range(turns):
        heap_rate = max(heap_rate, _heap_rate(100_000 if quick else 1_000_000))
        outcome, seconds = _timed(events)
        event_rate = max(event_rate, outcome.event_hops / seconds)
        outcome, seconds = _timed(control)
        control_rate = max(control_rate, outcome.control_hops / seconds)
    return {
        "simulator_heap_per_s": heap_rate,
        "simulator_event_hops_per_s": event_rate,
        "simulator_event_to_heap_ratio": event_rate / heap_rate,
        "simulator_control_hops_per_s": control_rate,
        "simulator_control_to_heap_ratio": control_rate / heap_rate,
    }


def _heap_rate(count: int) -> float:
    dice = Random(SEED)
    steps_ns = [dice.randrange(1, 1_000_000) for _ in range(1_024)]
    heap = [(steps_ns[number], number, None, None, 0) for number in range(HEAP_LENGTH)]
    heapq.heapify(heap)
    pop, push = heapq.heappop, heapq.heappush
    begin = perf_counter()
    for number in range(count):
        entry = pop(heap)
        push(heap, (entry[0] + steps_ns[number & 1_023], number, None, None, 0))
    return count / (perf_counter() - begin)


def _timed(scenario: Scenario) -> tuple[Outcome, float]:
    run = simulate(scenario, SEED, name="bench", trace="counted")
    begin = perf_counter()
    for _ in run.batches():
        pass
    seconds = perf_counter() - begin
    assert run.outcome is not None
    assert run.outcome.violations == []
    return run.outcome, seconds


def _events_scenario(publish_s: float) -> Scenario:
    return scenario_from(
        {
            "duration_s": 1.0 + publish_s,
            "tree": {"brokers": 100},
            "publications": {"rate_hz": 50.0, "from_s": 0.5, "until_s": 0.5 + publish_s},
        },
        "bench simulator, events",
    )


def _control_scenario(changes_s: float) -> Scenario:
    return scenario_from(
        {
            "protocol": "strawman",
            "duration_s": 2.0 + changes_s,
            "tree": {"brokers": 200},
            "publications": {"rate_hz": 0.0},
            "changes": {"from_s": 1.0, "until_s": 1.0 + changes_s, "every_s": 0.03},
        },
        "bench simulator, control",
    )

"""A run that breaks a promise, made small: fewer brokers, fewer changes, fewer subscribers, shorter, simpler settings.

Greedy and deterministic: of the simpler scenarios next to the present one, the first that still violates something,
under the same seed or one of a few others, takes its place, until none does. A smaller scenario draws other things
from its seed, so it is a different run; what it violates may be worded otherwise, and is as much a bug.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from regraft.errors import UsageError
from regraft.sim.scenario import Scenario, scenario_from

OTHER_SEEDS = (1, 2, 3)
RUNS_MAX = 300


@dataclass(frozen=True, slots=True)
class Shrunk:
    scenario: Scenario
    seed: int
    violations: tuple[str, ...]
    runs: int  # that it took to find


def shrink(
    scenario: Scenario, seed: int, violations_of: Callable[[Scenario, int], tuple[str, ...]], runs_max: int = RUNS_MAX
) -> Shrunk:
    """The smallest found in so many runs. What violates nothing here, though it did elsewhere, comes back as it is."""
    found = Shrunk(scenario, seed, violations_of(scenario, seed), 1)
    runs = 1
    simpler_there_may_be = bool(found.violations)
    while simpler_there_may_be:
        simpler_there_may_be = False
        for simpler, other in _tries(found):
            if runs == runs_max:
                return found
            runs += 1
            violations = violations_of(simpler, other)
            if violations:
                found = Shrunk(simpler, other, violations, runs)
                simpler_there_may_be = True
                break
    return found


def _tries(found: Shrunk) -> Iterator[tuple[Scenario, int]]:
    seeds = dict.fromkeys((found.seed, *OTHER_SEEDS))
    for simpler in _simpler(found.scenario):
        for seed in seeds:
            yield simpler, seed


def _simpler(scenario: Scenario) -> Iterator[Scenario]:
    """One step simpler each, the boldest first."""
    data = msgspec.to_builtins(scenario)
    for key, values in _steps(data):
        *tables, last = key.split(".")
        for value in values:
            changed = msgspec.to_builtins(scenario)
            table = changed
            for name in tables:
                table = table[name]
            if table[last] == value:
                continue
            table[last] = value
            if key == "tree.brokers":  # as many events as before, or there would be less to go wrong
                publications = changed["publications"]
                publications["rate_hz"] = round(publications["rate_hz"] * data["tree"]["brokers"] / value, 1)
            try:
                yield scenario_from(changed, "shrunk")
            except UsageError:
                continue  # no scenario: the steps do not know each other


def _steps(data: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """For each key what is simpler than its value, the simplest first."""
    tree, changes = data["tree"], data["changes"]
    if tree["shape"] != "explicit":
        yield "tree.brokers", _fewer(tree["brokers"], 3)
    if changes is not None:
        happen = int((changes["until_s"] - changes["from_s"]) / changes["every_s"]) + 1
        yield "changes.count_max", _fewer(min(changes["count_max"], happen), 1)
        if changes["kind"] in ("planned", "any"):
            yield "changes.kind", ["exchange", "leaf", "break", "crash"][: 2 if changes["kind"] == "planned" else 4]
    yield "subscriptions.churn_hz", _if_other(data["subscriptions"]["churn_hz"], 0.0)
    yield "subscriptions.filters", _fewer(data["subscriptions"]["filters"], 1)
    yield "subscriptions.subscribers", _if_more(data["subscriptions"]["subscribers"], [0.1, 0.3, 0.5])
    yield "publications.rate_hz", _if_more(data["publications"]["rate_hz"], [0.0, 0.5, 1.0, 2.0])
    yield "publications.until_s", _if_more(data["publications"]["until_s"], [1.0, 2.0, 3.0])
    yield "duration_s", _if_more(data["duration_s"], [1.5, 2.5, 3.5])
    yield "broker.forwarding", _if_other(data["broker"]["forwarding"], "subscription")
    yield "broker.covering", _if_other(data["broker"]["covering"], False)
    yield "broker.batch", _if_other(data["broker"]["batch"], False)
    yield "link.detect_ms", _if_other(data["link"]["detect_ms"], [0.0, 0.0])
    yield "link.bandwidth_mbit", _if_other(data["link"]["bandwidth_mbit"], 10.0)
    yield "link.latency_us", _if_other(data["link"]["latency_us"], 1_000.0)
    yield "subscriptions.kind", _if_other(data["subscriptions"]["kind"], "characters")
    yield "subscriptions.core", _if_other(data["subscriptions"]["core"], 1.0)


def _fewer(count: int, least: int) -> list[int]:
    return [fewer for fewer in dict.fromkeys((least, count // 4, count // 2, count - 1)) if least <= fewer < count]


def _if_more(value: float, values: list[float]) -> list[float]:
    return [lower for lower in values if lower < value]


def _if_other(value: object, wanted: object) -> list[object]:
    return [] if value == wanted else [wanted]

"""How fast the index answers, beside a plain scan, and what churn and memory cost.

The workload: an event has 10 attributes, 5 with one of 100 equally likely values and 5 uniform in [0, 1). A filter
tests 3 of them, drawn without replacement: the former with =, the latter with < or >, equally likely. One core.

The scan is the fastest that we know how to write in plain Python: for each filter a lambda of its own, compiled from
source, that compares what it must and stops at the first that fails, called from a list comprehension over all. It
may presume what the index may not: that every attribute is there, and of the right type. The speed-up over asking each
`Filter.matches` is given too. Scan and index run in turns on the same events, and must agree on each.

Filters are made from their normal form, which is what parsing ends in; a sample is parsed to show that.
"""

import gc
import math
import random
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns

from regraft.matching import FilterIndex, slots
from regraft.model.events import INT64_MAX, INT64_MIN, Value
from regraft.model.filters import Constraint, Filter

EQUAL_ATTRIBUTES = tuple(f"key{number}" for number in range(5))
RANGE_ATTRIBUTES = tuple(f"level{number}" for number in range(5))
VALUES = 100
TESTS = 3
SEED = 20030519

Test = tuple[str, str, int | float]


def run(quick: bool = False) -> dict[str, float | int | str]:
    """The figures, with their unit in the key; `quick` leaves the large sizes out."""
    figures: dict[str, float | int | str] = {
        "matching_scan": "one compiled lambda a filter, short-circuiting",
        "matching_workload": "3 tests over 10 attributes: 5 of 100 values with =, 5 uniform in [0,1) with < or >",
    }
    rng = random.Random(SEED)
    figures |= _small(rng)
    figures |= _compare(10_000, "10k", rng, events=100)
    if quick:
        return figures
    figures |= _compare(100_000, "100k", rng, events=20)
    figures |= _million(rng)
    return figures


# ------------------------------------------------------------------------------------------------------------ workload


def draw_tests(rng: random.Random) -> list[Test]:
    """The three tests of a filter, in the order of their attributes, as a conjunction has them."""
    tests: list[Test] = []
    for attribute in sorted(rng.sample((*EQUAL_ATTRIBUTES, *RANGE_ATTRIBUTES), TESTS)):
        if attribute in EQUAL_ATTRIBUTES:
            tests.append((attribute, "=", rng.randrange(VALUES)))
        else:
            tests.append((attribute, rng.choice("<>"), rng.random()))
    return tests


def draw_event(rng: random.Random) -> dict[str, Value]:
    event: dict[str, Value] = {attribute: rng.randrange(VALUES) for attribute in EQUAL_ATTRIBUTES}
    return event | {attribute: rng.random() for attribute in RANGE_ATTRIBUTES}


def make_filter(tests: Sequence[Test]) -> Filter:
    """The filter that parsing these tests would give."""
    return Filter(filter_text(tests), (tuple((attribute, _constraint(sign, at)) for attribute, sign, at in tests),))


def filter_text(tests: Sequence[Test]) -> str:
    return " AND ".join(f"{attribute} {sign} {at if sign == '=' else f'{at!r}D'}" for attribute, sign, at in tests)


def _constraint(sign: str, at: int | float) -> Constraint:
    if sign == "=":
        return Constraint(integers=((int(at), int(at)),), floats=((float(at), float(at)),))
    if sign == "<":
        return Constraint(
            integers=((INT64_MIN, math.ceil(at) - 1),), floats=((-math.inf, math.nextafter(at, -math.inf) + 0.0),)
        )
    return Constraint(
        integers=((math.floor(at) + 1, INT64_MAX),), floats=((math.nextafter(at, math.inf), math.inf),), nan=True
    )


def _lambdas(all_tests: Sequence[Sequence[Test]]) -> list[Callable[[Mapping[str, Value]], bool]]:
    """Each filter as Python source, compiled. The texts are ours, so that evaluating them is safe."""
    made: list[Callable[[Mapping[str, Value]], bool]] = []
    for start in range(0, len(all_tests), 500):
        sources = (
            "lambda event: "
            + " and ".join(f"event[{name!r}] {'==' if sign == '=' else sign} {at!r}" for name, sign, at in tests)
            for tests in all_tests[start : start + 500]
        )
        made += eval(f"[{', '.join(sources)}]")
    return made


# ------------------------------------------------------------------------------------------------------------- figures


def _compare(count: int, label: str, rng: random.Random, events: int) -> dict[str, float | int | str]:
    """Index against scans at one size, and for the large one churn and memory."""
    all_tests = [draw_tests(rng) for _ in range(count)]
    filters = [make_filter(tests) for tests in all_tests]
    for tests, made in zip(all_tests[:20], filters, strict=False):
        parsed = Filter.parse(filter_text(tests))
        if parsed.conjunctions != made.conjunctions:
            raise AssertionError(f"the bench makes another filter than parsing does: {parsed}")
    index, memory_bytes = _measured_index(filters)
    lambdas = _lambdas(all_tests)
    scan_ns, ask_ns, match_ns = [], [], []
    for event in [draw_event(rng) for _ in range(events)]:
        began_ns = perf_counter_ns()
        scanned = [number for number, test in enumerate(lambdas) if test(event)]
        scanned_ns = perf_counter_ns()
        asked = [number for number, filter in enumerate(filters) if filter.matches(event)]
        asked_ns = perf_counter_ns()
        bitmap = index.match(event)
        first_ns = perf_counter_ns()
        scan_ns.append(scanned_ns - began_ns)
        ask_ns.append(asked_ns - scanned_ns)
        match_ns.append(first_ns - asked_ns)
        expected = sorted(slot for number in scanned if (slot := index.slot(filters[number])) is not None)
        if not scanned == asked or list(slots(bitmap)) != expected:
            raise AssertionError("index and scan disagree")
    match_us = _match_us(index, rng, events=2_000)
    figures: dict[str, float | int | str] = {
        f"matching_speedup_{label}_ratio": round(_mean(scan_ns) / 1_000 / match_us, 1),
        f"matching_speedup_over_filter_matches_{label}_ratio": round(_mean(ask_ns) / 1_000 / match_us, 1),
        f"matching_scan_{label}_us_per_event": round(_mean(scan_ns) / 1_000, 1),
        f"matching_{label}_us_per_event": round(match_us, 2),
        f"matching_{label}_bytes_per_filter": round(memory_bytes / count),
    }
    if label == "100k":
        figures |= _churn(index, filters, rng, rounds=2_000)
    return figures


def _match_us(index: FilterIndex, rng: random.Random, events: int) -> float:
    """The mean time of a match over fresh events, one after the other, as a broker would ask."""
    drawn = [draw_event(rng) for _ in range(events)]
    match = index.match
    began_ns = perf_counter_ns()
    for event in drawn:
        match(event)
    return (perf_counter_ns() - began_ns) / events / 1_000


def _churn(index: FilterIndex, filters: list[Filter], rng: random.Random, rounds: int) -> dict[str, float | int | str]:
    """One filter goes and one comes between any two events: what that costs, beyond the match of an index at rest."""
    leaving = rng.sample(filters, rounds)
    coming = [make_filter(draw_tests(rng)) for _ in range(rounds)]
    drawn = [draw_event(rng) for _ in range(rounds)]
    resting_ns, change_ns, match_ns = [], [], []
    for event in drawn:
        began_ns = perf_counter_ns()
        index.match(event)
        resting_ns.append(perf_counter_ns() - began_ns)
    for old, new, event in zip(leaving, coming, drawn, strict=True):
        began_ns = perf_counter_ns()
        index.remove(old)
        index.add(new)
        changed_ns = perf_counter_ns()
        index.match(event)
        match_ns.append(perf_counter_ns() - changed_ns)
        change_ns.append(changed_ns - began_ns)
    extra_ns = _mean(match_ns) - _mean(resting_ns)
    change_ns.sort()
    return {
        "matching_churn_100k_us": round((_mean(change_ns) + max(0.0, extra_ns)) / 1_000, 1),
        "matching_churn_100k_change_us": round(_mean(change_ns) / 1_000, 1),
        "matching_churn_100k_change_p99_us": round(change_ns[len(change_ns) * 99 // 100] / 1_000, 1),
        "matching_churn_100k_next_match_extra_us": round(extra_ns / 1_000, 1),
    }


def _million(rng: random.Random) -> dict[str, float | int | str]:
    """A million filters. Memory is not traced here, which would take minutes; it is at 100,000."""
    index = FilterIndex()
    adding_ns = 0
    gc.disable()  # a million objects that stay: the collector would go through them again and again
    for _ in range(100):
        batch = [make_filter(draw_tests(rng)) for _ in range(10_000)]
        began_ns = perf_counter_ns()
        for made in batch:
            index.add(made)
        adding_ns += perf_counter_ns() - began_ns
    gc.enable()
    gc.freeze()
    match_us = _match_us(index, rng, events=500)
    gc.unfreeze()
    return {
        "matching_1m_ms_per_event": round(match_us / 1_000, 3),
        "matching_1m_add_us_per_filter": round(adding_ns / len(index) / 1_000, 1),
    }


def _small(rng: random.Random) -> dict[str, float | int | str]:
    """The papers' own workload as one broker of the simulator sees it: 96 filters of one character, events of nine."""
    characters = [chr(code) for code in range(32, 128)]
    index = FilterIndex()
    for character in characters:
        quoted = character.replace("\\", "\\\\\\\\").replace("%", "\\\\%").replace("_", "\\\\_").replace("'", "\\'")
        index.add(Filter.parse(f"text LIKE '%{quoted}%'"))
    drawn = [{"text": "".join(rng.choices(characters, k=9))} for _ in range(20_000)]
    began_ns = perf_counter_ns()
    for event in drawn:
        index.match(event)
    match_us = (perf_counter_ns() - began_ns) / len(drawn) / 1_000
    return {"matching_96_characters_us_per_event": round(match_us, 2)}


def _measured_index(filters: list[Filter]) -> tuple[FilterIndex, int]:
    """An index of these filters, and its memory as tracemalloc sees it, the filters themselves apart."""
    gc.collect()
    tracemalloc.start()
    index = FilterIndex()
    for made in filters:
        index.add(made)
    memory_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return index, memory_bytes


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)

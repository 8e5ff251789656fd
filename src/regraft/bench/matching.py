"""How fast the index answers, beside a plain scan, and what churn and memory cost.

The workload: an event has 10 attributes, 5 with one of 100 equally likely values and 5 uniform in [0, 1). A filter
tests 3 of them, drawn without replacement: the former with =, the latter with < or >, equally likely. One core.

The scan asks each filter's `matches` in a list comprehension: compiled closures, stopping at the first test that fails.
That is what a broker without an index would do. Beside it stands the fastest scan that we know how to write in plain
Python, which may presume what neither the index nor a filter may: that every attribute is there and of the right type.
It calls one lambda a filter, compiled from source as `event["key1"] == 7 and event["level2"] < 0.3`.

Times are the processor's, of this process alone, so that a busy machine lengthens them but does not count as work.
Scans and index take turns on the same events and must agree on each. Filters are made from their normal form, which is
what parsing ends in; a sample is parsed to show that. Memory is what tracemalloc sees, the filters themselves apart.
"""

import gc
import math
import random
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from time import process_time_ns

from regraft.matching import FilterIndex, slots
from regraft.model.events import INT64_MAX, INT64_MIN, Value
from regraft.model.filters import Constraint, Filter

EQUAL_ATTRIBUTES = tuple(f"key{number}" for number in range(5))
RANGE_ATTRIBUTES = tuple(f"level{number}" for number in range(5))
VALUES = 100
TESTS = 3
SEED = 20030519

MATCHES_A_ROUND = 50

Test = tuple[str, str, int | float]


def run(quick: bool = False) -> dict[str, float | int | str]:
    """The figures, with their unit in the key; `quick` leaves the large sizes out."""
    figures: dict[str, float | int | str] = {
        "matching_scan": "Filter.matches (compiled closures, short-circuiting) over a list",
        "matching_workload": "3 tests over 10 attributes: 5 of 100 values with =, 5 uniform in [0,1) with < or >",
    }
    rng = random.Random(SEED)
    figures |= _small(rng)
    figures |= _compare(10_000, "10k", rng, rounds=60)
    if quick:
        return figures
    figures |= _compare(100_000, "100k", rng, rounds=8)
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


def _compare(count: int, label: str, rng: random.Random, rounds: int) -> dict[str, float | int | str]:
    """Index against scans at one size; at 100,000 churn and memory too."""
    all_tests = [draw_tests(rng) for _ in range(count)]
    filters = [make_filter(tests) for tests in all_tests]
    for tests, made in zip(all_tests[:20], filters, strict=False):
        parsed = Filter.parse(filter_text(tests))
        if parsed.conjunctions != made.conjunctions:
            raise AssertionError(f"the bench makes another filter than parsing does: {parsed}")
    index, memory_bytes = _measured_index(filters)
    for made in filters:
        made.matches(draw_event(rng))  # it is compiled when it is first asked: that is not the scan's to pay
    lambdas = _lambdas(all_tests)
    scan_ns = lambda_ns = match_ns = 0
    for _ in range(rounds):
        drawn = [draw_event(rng) for _ in range(MATCHES_A_ROUND)]
        began_ns = process_time_ns()
        asked = [number for number, filter in enumerate(filters) if filter.matches(drawn[0])]
        asked_ns = process_time_ns()
        called = [number for number, test in enumerate(lambdas) if test(drawn[0])]
        called_ns = process_time_ns()
        bitmaps = [index.match(event) for event in drawn]
        match_ns += process_time_ns() - called_ns
        lambda_ns += called_ns - asked_ns
        scan_ns += asked_ns - began_ns
        expected = {index.slot(filters[number]) for number in asked}
        if asked != called or set(slots(bitmaps[0])) != expected:
            raise AssertionError("index and scan disagree")
    match_ns //= MATCHES_A_ROUND
    figures: dict[str, float | int | str] = {
        f"matching_speedup_{label}_ratio": round(scan_ns / match_ns, 1),
        f"matching_speedup_over_bare_lambdas_{label}_ratio": round(lambda_ns / match_ns, 1),
        f"matching_scan_{label}_us_per_event": round(scan_ns / rounds / 1_000, 1),
        f"matching_bare_lambdas_{label}_us_per_event": round(lambda_ns / rounds / 1_000, 1),
        f"matching_{label}_us_per_event": round(match_ns / rounds / 1_000, 2),
    }
    if label == "100k":
        figures["matching_bytes_per_filter"] = round(memory_bytes / count)
        figures |= _churn(index, filters, rng, rounds=2_000)
    return figures


def _match_us(index: FilterIndex, rng: random.Random, events: int) -> float:
    """The mean time of a match over fresh events, one after the other, as a broker would ask."""
    drawn = [draw_event(rng) for _ in range(events)]
    match = index.match
    began_ns = process_time_ns()
    for event in drawn:
        match(event)
    return (process_time_ns() - began_ns) / events / 1_000


def _churn(index: FilterIndex, filters: list[Filter], rng: random.Random, rounds: int) -> dict[str, float | int | str]:
    """One filter goes and one comes between any two events: what that costs, beyond the match of an index at rest."""
    leaving = rng.sample(filters, rounds)
    coming = [make_filter(draw_tests(rng)) for _ in range(rounds)]
    drawn = [draw_event(rng) for _ in range(rounds)]
    resting_ns, change_ns, match_ns = [], [], []
    for event in drawn:
        began_ns = process_time_ns()
        index.match(event)
        resting_ns.append(process_time_ns() - began_ns)
    for old, new, event in zip(leaving, coming, drawn, strict=True):
        began_ns = process_time_ns()
        index.remove(old)
        index.add(new)
        changed_ns = process_time_ns()
        index.match(event)
        match_ns.append(process_time_ns() - changed_ns)
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
        began_ns = process_time_ns()
        for made in batch:
            index.add(made)
        adding_ns += process_time_ns() - began_ns
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
    began_ns = process_time_ns()
    for event in drawn:
        index.match(event)
    match_us = (process_time_ns() - began_ns) / len(drawn) / 1_000
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

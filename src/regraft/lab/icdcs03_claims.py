"""The claims of icdcs03 §6, as its text makes them."""

import math

from regraft.lab.claims import Claim, Finding, Results, differences, points
from regraft.lab.document import number
from regraft.lab.icdcs03 import (
    BROKERS,
    PAPER_DEFERRED_MESSAGES,
    PAPER_EVENT_HOPS_PER_S,
    PAPER_STRAWMAN_MESSAGES,
    RHO_FAST_S,
    RHO_SLOW_S,
)

LARGEST = float(BROKERS[-1])
NUMBER_MARGIN = 0.1  # of the paper's number
BREAKS_FROM_S, BREAKS_UNTIL_S, REPLACED_AFTER_S = 3.0, 7.0, 0.1
SETTLED_AFTER_S = 0.5


def _breaks(rho_s: float) -> list[float]:
    count = math.ceil((BREAKS_UNTIL_S - BREAKS_FROM_S) / rho_s - 1e-9)
    return [BREAKS_FROM_S + k * rho_s for k in range(count)]


def _between_reconfigurations(protocol: str) -> Claim:
    def look(results: Results) -> Finding | None:
        windows = points(results, "5-top", protocol, "delivered_percent")
        if not windows:
            return None
        breaks = _breaks(RHO_SLOW_S)
        whole = 0
        for begin_s in breaks:
            replaced_s, next_s = begin_s + REPLACED_AFTER_S, begin_s + RHO_SLOW_S
            whole += any(y == 100.0 for x, y in windows.items() if replaced_s < x + 1e-9 and x < next_s - 1e-9)
        lowest = number(min(windows.values()))
        ours = f"exactly 100 % in every run after {whole} of {len(breaks)}; lowest mean {lowest} %"
        return Finding(ours, whole == len(breaks))

    return Claim("5-top", f"{protocol}: delivery returns to exactly 100 % after each reconfiguration", look)


def _after_the_last(figure: str, protocol: str, rho_s: float) -> Claim:
    def look(results: Results) -> Finding | None:
        windows = points(results, figure, protocol, "delivered_percent")
        if not windows:
            return None
        last_short = max((x for x, y in windows.items() if y != 100.0), default=0.0)
        later = [x for x in windows if x > last_short]
        if not later:
            return Finding("not within the time measured", False)
        settled_s, last_s = min(later), _breaks(rho_s)[-1] + REPLACED_AFTER_S
        ours = f"in every run from {settled_s:.2f} s on; the last link is replaced at {last_s:.2f} s"
        return Finding(ours, settled_s <= last_s + SETTLED_AFTER_S)

    sentence = f"{protocol}: exactly 100 % soon (here: within {SETTLED_AFTER_S} s) after the last reconfiguration"
    return Claim(figure, sentence, look)


def _dense_at_least_20(results: Results) -> Finding | None:
    dense = points(results, "6a", "deferred, dense")
    if not dense:
        return None
    x = min(dense, key=lambda x: dense[x])
    return Finding(f"lowest {number(dense[x])} %, at {x:.0f} brokers", dense[x] >= 20)


def _sparse_up_to_50(results: Results) -> Finding | None:
    sparse = points(results, "6a", "deferred, sparse")
    if not sparse:
        return None
    x = max(sparse, key=lambda x: sparse[x])
    return Finding(f"highest {number(sparse[x])} %, at {x:.0f} brokers", 40 <= sparse[x] <= 60)


def _sparse_above_dense(results: Results) -> Finding | None:
    above = differences(points(results, "6a", "deferred, sparse"), points(results, "6a", "deferred, dense"))
    if not above:
        return None
    higher = [x for x in above if above[x] > 0]
    lowest, highest = number(min(above.values())), number(max(above.values()))
    return Finding(
        f"at {len(higher)} of {len(above)} sizes; by {lowest} to {highest} points", len(higher) == len(above)
    )


def _messages(figure: str, series: str, paper: float, sentence: str, metric: str = "messages") -> Claim:
    def look(results: Results) -> Finding | None:
        mean = points(results, figure, series, metric).get(LARGEST)
        if mean is None:
            return None
        return Finding(f"{number(mean)} ({100 * (mean / paper - 1):+.0f} %)", abs(mean / paper - 1) <= NUMBER_MARGIN)

    return Claim(figure, sentence, look)


def _improvement_of_the_pair(results: Results) -> Finding | None:
    mean = points(results, "6b", f"deferred, rho {RHO_FAST_S} s, f_pub 0.001").get(LARGEST)
    if mean is None:
        return None
    paper = 100 * (1 - PAPER_DEFERRED_MESSAGES / PAPER_STRAWMAN_MESSAGES)
    return Finding(f"{number(mean)} %", abs(mean - paper) <= 5)


def _rho_gap(results: Results) -> dict[float, float]:
    """Overlapping less non-overlapping, in points."""
    fast = points(results, "6b", f"deferred, rho {RHO_FAST_S} s, f_pub 0.001")
    return differences(fast, points(results, "6b", f"deferred, rho {RHO_SLOW_S} s, f_pub 0.001"))


def _independent_of_rho(results: Results) -> Finding | None:
    gap = {x: y for x, y in _rho_gap(results).items() if x >= 70}
    if not gap:
        return None
    return Finding(_range(gap) + " points from rho 0.3 s to 0.03 s", all(abs(y) <= 10 for y in gap.values()))


def _worse_when_small(results: Results) -> Finding | None:
    gap = {x: y for x, y in _rho_gap(results).items() if x < 70}
    if not gap:
        return None
    return Finding(_range(gap) + " points from rho 0.3 s to 0.03 s", all(y < 0 for y in gap.values()))


def _worse_under_load(results: Results) -> Finding | None:
    gap: dict[float, float] = {}
    for rho_s in (RHO_SLOW_S, RHO_FAST_S):
        loaded = points(results, "6b", f"deferred, rho {rho_s} s, f_pub 0.05")
        quiet = points(results, "6b", f"deferred, rho {rho_s} s, f_pub 0.001")
        gap |= {x + rho_s: y for x, y in differences(loaded, quiet).items()}
    if not gap:
        return None
    return Finding(_range(gap) + " points from f_pub 0.001 to 0.05", all(y < 0 for y in gap.values()))


def _timeout_helps(results: Results) -> Finding | None:
    gap = differences(points(results, "6c", "deferred, T 0.3 s"), points(results, "6c", "deferred, T 0.11 s"))
    if LARGEST not in gap:
        return None
    ours = f"{number(gap[LARGEST])} points at {LARGEST:.0f} brokers; {_range(gap)} over all sizes"
    return Finding(ours, 5 <= gap[LARGEST] <= 15)


def _load_takes_the_gain(results: Results) -> Finding | None:
    gap = differences(
        points(results, "6d", "deferred, (un)subscriptions alone"), points(results, "6d", "deferred, overall")
    )
    if not gap:
        return None
    return Finding(f"the overall improvement is {_range(gap)} points lower", all(y > 0 for y in gap.values()))


def _misrouted_are_many(results: Results) -> Finding | None:
    misrouted = points(results, "6e", "deferred, misrouted events", "misrouted")
    control = points(results, "6e", "deferred, (un)subscriptions", "messages")
    ratio = {x: misrouted[x] / control[x] for x in misrouted if control.get(x)}
    if LARGEST not in ratio:
        return None
    ours = (
        f"{number(ratio[LARGEST])} misrouted events a message at {LARGEST:.0f} brokers; {_range(ratio)} over all sizes"
    )
    return Finding(ours, 0.5 <= ratio[LARGEST] <= 2)


def _short_timeouts_win(results: Results) -> Finding | None:
    by_timeout = [points(results, "6f", f"deferred, T {t} s") for t in (0.11, 0.15, 0.3)]
    sizes = [x for x in by_timeout[0] if all(x in series for series in by_timeout)]
    if not sizes:
        return None
    ordered = [x for x in sizes if by_timeout[0][x] > by_timeout[1][x] > by_timeout[2][x]]
    at_most = ", ".join(number(series.get(LARGEST)) for series in by_timeout)
    ours = f"in this order at {len(ordered)} of {len(sizes)} sizes; at {LARGEST:.0f} brokers {at_most} %"
    return Finding(ours, len(ordered) == len(sizes))


def _range(values: dict[float, float]) -> str:
    return f"{number(min(values.values()))} to {number(max(values.values()))}"


_PAIR = f"rho {RHO_FAST_S} s, f_pub 0.001"
_LOAD = f"rho {RHO_SLOW_S} s, f_pub 0.05"
_LOADED = "200 brokers, f_pub 0.05"

CLAIMS = (
    _between_reconfigurations("strawman"),
    _between_reconfigurations("deferred"),
    _after_the_last("5-top", "strawman", RHO_SLOW_S),
    _after_the_last("5-top", "deferred", RHO_SLOW_S),
    _after_the_last("5-bottom", "strawman", RHO_FAST_S),
    _after_the_last("5-bottom", "deferred", RHO_FAST_S),
    Claim("6a", "dense: an improvement of at least 20 %", _dense_at_least_20),
    Claim("6a", "up to about 50 % (here: sparse, between 40 and 60)", _sparse_up_to_50),
    Claim("6a", "sparse above dense", _sparse_above_dense),
    _messages("6a", "strawman, sparse", 5_300, "sparse, 200 brokers: about 5,300 messages (here: strawman's)"),
    _messages("6a", "strawman, dense", 3_500, "dense, 200 brokers: about 3,500 messages (here: strawman's)"),
    Claim("6b", "rho 0.03 s: independent of rho (here: within 10 points) from 70 brokers on", _independent_of_rho),
    Claim("6b", "rho 0.03 s: worse below 70 brokers", _worse_when_small),
    _messages("6b", f"strawman, {_PAIR}", PAPER_STRAWMAN_MESSAGES, "fitted on: 63,162 messages (strawman)"),
    _messages("6b", f"deferred, {_PAIR}", PAPER_DEFERRED_MESSAGES, "fitted on: 34,458 messages (deferred)"),
    Claim("6b", "which is an improvement of 45.4 % (here: within 5 points)", _improvement_of_the_pair),
    Claim("6b", "a lower improvement under the higher load", _worse_under_load),
    _messages(
        "6b",
        f"strawman, {_LOAD}",
        PAPER_EVENT_HOPS_PER_S,
        f"{_LOADED}: 368,319 event hops a second",
        "event_hops_per_s",
    ),
    _messages("6b", f"strawman, {_LOAD}", 11_028, f"{_LOADED}: an overhead of 11,028 messages (strawman)"),
    Claim("6c", "about 10 points (here: 5 to 15, at 200 brokers) better from T 0.11 s to 0.3 s", _timeout_helps),
    Claim("6d", "the gain on (un)subscriptions is not reached overall", _load_takes_the_gain),
    Claim("6e", "misrouted events as many as (un)subscriptions (here: deferred, half to double)", _misrouted_are_many),
    Claim("6f", "best at T 0.11 s, worst at 0.3 s", _short_timeouts_win),
)

"""The claims of debs06 §3, as its text makes them."""

from statistics import fmean, linear_regression

from regraft.lab.claims import Claim, Finding, Results, points
from regraft.lab.debs06 import COORDINATED, STRAWMAN
from regraft.lab.document import number
from regraft.lab.results import of_series

LINEAR_FROM = 0.9  # of the variance between lengths, explained by a line


def _halves(values: dict[float, float]) -> tuple[list[float], list[float]]:
    """The values at the shorter and at the longer half of the lengths."""
    lengths = sorted(values)
    middle = len(lengths) // 2
    return [values[x] for x in lengths[:middle]], [values[x] for x in lengths[middle:]]


def _grows(figure: str, protocol: str) -> Claim:
    def look(results: Results) -> Finding | None:
        short, long = _halves(points(results, figure, protocol, "messages"))
        if not short:
            return None
        ours = f"{number(fmean(short))} messages on the shorter half of lengths, {number(fmean(long))} on the longer"
        return Finding(ours, fmean(long) > fmean(short))

    return Claim(figure, f"{protocol}: messages grow with the length of the cycle", look)


def _saved(results: Results, figure: str, protocol: str) -> dict[float, float]:
    """In percent of strawman's messages at that length, in the mean."""
    strawman, ours = (points(results, figure, name, "messages") for name in (STRAWMAN, protocol))
    return {x: 100 * (strawman[x] - ours[x]) / strawman[x] for x in ours if strawman.get(x)}


def _below(figure: str, protocol: str) -> Claim:
    def look(results: Results) -> Finding | None:
        saved = _saved(results, figure, protocol)
        if not saved:
            return None
        below = [x for x in saved if saved[x] > 0]
        worst = min(saved, key=lambda x: saved[x])
        ours = f"below at {len(below)} of {len(saved)} lengths; least at {worst:.0f} links, {number(saved[worst])} %"
        return Finding(ours, len(below) == len(saved))

    return Claim(figure, f"{protocol}: below strawman on every length, coordination messages included", look)


def _most_on_short(figure: str, protocol: str) -> Claim:
    def look(results: Results) -> Finding | None:
        short, long = _halves(_saved(results, figure, protocol))
        if not short:
            return None
        ours = f"{number(fmean(short))} % saved on the shorter half of lengths, {number(fmean(long))} % on the longer"
        return Finding(ours, fmean(short) > fmean(long))

    return Claim(figure, f"{protocol}: saves most on short cycles", look)


def _linear(protocol: str) -> Claim:
    def look(results: Results) -> Finding | None:
        # Rare lengths have few runs and count for as much as they have.
        seen = of_series(results, "5", protocol, "delay_ms")
        pairs = [(r.x, r.mean) for r in seen if r.x is not None and r.mean is not None for _ in range(r.runs)]
        if len({x for x, _ in pairs}) < 3:
            return None
        xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
        slope, intercept = linear_regression(xs, ys)
        mean = fmean(ys)
        left = sum((y - intercept - slope * x) ** 2 for x, y in pairs)
        share = 1 - left / sum((y - mean) ** 2 for y in ys)
        ours = f"{slope:.1f} ms a link; a line explains {100 * share:.0f} % of the variance between lengths"
        return Finding(ours, slope > 0 and share >= LINEAR_FROM)

    sentence = f"{protocol}: the delay grows linearly (here: a line explains {100 * LINEAR_FROM:.0f} % or more)"
    return Claim("5", sentence, look)


def _causal_above_fifo(results: Results) -> Finding | None:
    fifo, causal = (points(results, "5", protocol, "delay_ms") for protocol in COORDINATED)
    both = [x for x in causal if x in fifo]
    if not both:
        return None
    above = [x for x in both if causal[x] > fifo[x]]
    ratio = fmean(causal[x] / fifo[x] for x in both if fifo[x])
    return Finding(f"at {len(above)} of {len(both)} lengths; {ratio:.1f} times as long", len(above) == len(both))


def _none(protocol: str, metric: str) -> Claim:
    def look(results: Results) -> Finding | None:
        found = of_series(results, "loss", protocol, metric)
        owed = of_series(results, "loss", protocol, "owed")
        if not found or not owed or found[0].mean is None or owed[0].mean is None:
            return None
        total = owed[0].mean * owed[0].runs
        ours = f"{number(found[0].mean * found[0].runs)} of {number(total)} deliveries owed, in {found[0].runs} runs"
        return Finding(ours, found[0].mean == 0)

    return Claim("loss", f"{protocol}: no notification is {metric}", look)


CLAIMS = (
    *(_grows("4", protocol) for protocol in (STRAWMAN, *COORDINATED)),
    *(_below("4", protocol) for protocol in COORDINATED),
    *(_most_on_short("4", protocol) for protocol in COORDINATED),
    *(_below("4-common", protocol) for protocol in COORDINATED),
    *(_linear(protocol) for protocol in COORDINATED),
    Claim("5", "causal order waits longer than publishers' order", _causal_above_fifo),
    *(_none(protocol, metric) for protocol in COORDINATED for metric in ("lost", "duplicated")),
)

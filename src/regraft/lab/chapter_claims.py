"""The claims of the chapter's §5.2, as its text makes them.

"Up to" is about the best that was seen; here: within 10 points of it, or better.
"""

from regraft.lab.chapter import PLACES
from regraft.lab.claims import Claim, Finding, Results, points
from regraft.lab.document import number

MARGIN = 10.0  # points
HOLDS = 10.0  # points that may be lost under overlap


def _best(results: Results, ways: tuple[str, ...], protocol: str) -> tuple[float, str] | None:
    """The highest mean saving, and where."""
    seen = [
        (saving, f"{way}-{place}, {brokers:.0f} brokers")
        for way in ways
        for place in PLACES
        for brokers, saving in points(results, f"{way}-{place}", protocol).items()
    ]
    return max(seen, default=None)


def _up_to(protocol: str, percent: float, ways: tuple[str, ...], sentence: str) -> Claim:
    def look(results: Results) -> Finding | None:
        best = _best(results, ways, protocol)
        if best is None:
            return None
        return Finding(f"up to {number(best[0])} % ({best[1]})", best[0] >= percent - MARGIN)

    return Claim(ways[0], sentence, look)


def _between(results: Results) -> Finding | None:
    """At every size and place, where reconfigurations do not overlap."""
    inside, seen = 0, 0
    for place in PLACES:
        of = {name: points(results, f"breaks-{place}", name) for name in ("path", "informed", "deferred")}
        for x in of["informed"]:
            if x in of["path"] and x in of["deferred"]:
                seen += 1
                inside += of["deferred"][x] <= of["informed"][x] <= of["path"][x]
    return Finding(f"at {inside} of {seen} sizes and places", inside == seen) if seen else None


def _under_overlap(protocol: str, *, holds: bool) -> Claim:
    def look(results: Results) -> Finding | None:
        lost = [
            (apart[x] - overlapping[x], f"{place}, {x:.0f} brokers")
            for place in PLACES
            for apart in [points(results, f"breaks-{place}", protocol)]
            for overlapping in [points(results, f"overlapping-{place}", protocol)]
            for x in apart
            if x in overlapping
        ]
        if not lost:
            return None
        most, where = max(lost)
        return Finding(f"loses up to {number(most)} points ({where})", (most <= HOLDS) == holds)

    what = f"keeps its saving (here: loses at most {HOLDS:.0f} points)" if holds else "does not keep its saving"
    return Claim("overlapping", f"{protocol} {what} under overlapping reconfigurations", look)


CLAIMS = (
    _up_to("path", 78, ("breaks", "planned"), "path saves up to 78 % where reconfigurations do not overlap"),
    _up_to("deferred", 50, ("breaks", "overlapping"), "deferred saves up to 50 %"),
    Claim("breaks", "informed saves more than deferred and less than path", _between),
    _under_overlap("informed", holds=True),
    _under_overlap("path", holds=False),
)

"""Sets of values of one ordered type, as sorted lists of half-open intervals.

A *span* is `(low, high)`: every value v with low <= v < high, where `high` None means that nothing bounds it above. A
*set* is a tuple of spans that are sorted, disjoint and not adjacent, so that equal sets are equal tuples.

Half-open intervals need no successor function, which strings do not have: the complement of `[low, high)` is again made
of half-open intervals with the same bounds. Integers and floats do have one, and `normal.py` keeps these as closed
intervals because that is what an index wants to see; `opened` and `closed` translate.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", int, float, str)


def intersect(
    left: tuple[tuple[T, T | None], ...], right: tuple[tuple[T, T | None], ...]
) -> tuple[tuple[T, T | None], ...]:
    """The values that are in both."""
    out: list[tuple[T, T | None]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low = max(left[i][0], right[j][0])
        left_high, right_high = left[i][1], right[j][1]
        left_ends_first = _earlier(left_high, right_high)
        high = left_high if left_ends_first else right_high
        if high is None or low < high:
            out.append((low, high))
        if left_ends_first:
            i += 1
        else:
            j += 1
    return tuple(out)


def unite(
    left: tuple[tuple[T, T | None], ...], right: tuple[tuple[T, T | None], ...]
) -> tuple[tuple[T, T | None], ...]:
    """The values that are in either."""
    if not left or not right:
        return left or right
    spans = sorted(left + right, key=_low)
    out: list[tuple[T, T | None]] = []
    start, end = spans[0]
    for low, high in spans:
        if end is None or low <= end:
            end = high if _earlier(end, high) else end
        else:
            out.append((start, end))
            start, end = low, high
    out.append((start, end))
    return tuple(out)


def complement(spans: tuple[tuple[T, T | None], ...], first: T) -> tuple[tuple[T, T | None], ...]:
    """The values from `first`, the least of the type, on that are not in `spans`."""
    out: list[tuple[T, T | None]] = []
    low: T | None = first
    for span_low, span_high in spans:
        if low is not None and low < span_low:
            out.append((low, span_low))
        low = span_high
    if low is not None:
        out.append((low, None))
    return tuple(out)


def contains(outer: tuple[tuple[T, T | None], ...], inner: tuple[tuple[T, T | None], ...]) -> bool:
    """Whether all of `inner` is in `outer`; as no two intervals of a set touch, each must lie in a single one.

    Both sets may be of closed intervals instead.
    """
    for low, high in inner:
        place = bisect_right(outer, low, key=_low) - 1
        if place < 0:
            return False
        _, end = outer[place]
        if end is not None and (low > end or high is None or high > end):
            return False
    return True


def opened(spans: tuple[tuple[T, T], ...], last: T, after: Callable[[T], T]) -> tuple[tuple[T, T | None], ...]:
    """Closed intervals as half-open ones; `last` is the greatest value of the type, `after` gives the next one."""
    return tuple((low, None if high == last else after(high)) for low, high in spans)


def closed(spans: tuple[tuple[T, T | None], ...], last: T, before: Callable[[T], T]) -> tuple[tuple[T, T], ...]:
    """Half-open intervals as closed ones; `before` gives the value just below."""
    return tuple((low, last if high is None else before(high)) for low, high in spans)


def _low(span: tuple[T, T | None]) -> T:
    return span[0]


def _earlier(left: T | None, right: T | None) -> bool:
    """Whether an interval that ends at `left` ends before, or with, one that ends at `right`."""
    return right is None or (left is not None and left <= right)

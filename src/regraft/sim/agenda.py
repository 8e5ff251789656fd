"""What is still to happen, in order of time and, at one time, in the order in which it was put down.

Nearly everything that a network puts down is an arrival a constant while from now, so its times come nearly sorted.
Two lanes use that: an entry that is not earlier than the last of the *lane* goes to its end at the cost of an append;
the rest goes to a heap. The next entry is the lesser of the two fronts. The order is that of one heap.
"""

import heapq
from collections import deque
from typing import Any

Entry = tuple[int, int, Any, Any]  # time in ns, serial number, and two fields of the world's


class Agenda:
    """The innermost loop (`traffic.py`) reads and writes these itself; here is what they mean."""

    def __init__(self) -> None:
        self.lane: deque[Entry] = deque()
        self.lane_end_ns = 0  # the time of what was put on the lane last; nothing earlier may follow
        self.heap: list[Entry] = []
        self.serial = 0

    def put(self, time_ns: int, what: Any, argument: Any = None) -> None:
        """Something far off or out of order."""
        self.serial += 1
        heapq.heappush(self.heap, (time_ns, self.serial, what, argument))

    def append(self, time_ns: int, what: Any, argument: Any) -> None:
        """An arrival, which is in order as a rule."""
        if time_ns < self.lane_end_ns:
            self.put(time_ns, what, argument)
            return
        self.serial += 1
        self.lane_end_ns = time_ns
        self.lane.append((time_ns, self.serial, what, argument))

    def pop(self) -> Entry:
        if self.lane and (not self.heap or self.lane[0] < self.heap[0]):
            return self.lane.popleft()
        return heapq.heappop(self.heap)

    def next_ns(self) -> int | None:
        """The time of what comes next; None if nothing does."""
        if self.lane and (not self.heap or self.lane[0] < self.heap[0]):
            return self.lane[0][0]
        return self.heap[0][0] if self.heap else None

    def __len__(self) -> int:
        return len(self.lane) + len(self.heap)

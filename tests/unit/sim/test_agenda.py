"""Two lanes give the order of one heap."""

import heapq

from hypothesis import given
from hypothesis import strategies as st

from regraft.sim.agenda import Agenda


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.booleans())))
def test_entries_come_in_order_of_time_and_then_of_arrival(script: list[tuple[int, bool, bool]]) -> None:
    agenda, heap = Agenda(), []
    for serial, (after, by_lane, pop) in enumerate(script, start=1):
        if by_lane and (not agenda.lane or agenda.lane[-1][0] <= after):
            agenda.serial += 1
            agenda.lane.append((after, agenda.serial, None, None, 0))
        else:
            agenda.put(after, None)
        heapq.heappush(heap, (after, serial))
        if pop:
            assert agenda.pop()[:2] == heapq.heappop(heap)
    while heap:
        assert agenda.pop()[:2] == heapq.heappop(heap)
    assert len(agenda) == 0

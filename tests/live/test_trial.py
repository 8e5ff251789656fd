"""The account of exchanges under load: what the demo shows."""

from random import Random

import pytest

from effort import quick_first
from live.conftest import Live, overlay
from regraft.broker.config import Reconfiguration
from regraft.model.trees import adjacency_of, check_tree
from regraft.net.trial import draw_exchange, trial


@pytest.mark.parametrize("reconfiguration", quick_first(["informed", "path", "strawman"], 1))
def test_coordinated_loses_nothing_and_the_others_end_with_whole_tables(
    live: Live, reconfiguration: Reconfiguration
) -> None:
    async def test() -> None:
        async with overlay("a-b b-c b-d", reconfiguration=reconfiguration) as brokers:
            planned = await trial(brokers, "coordinated", "fifo", exchanges=3, rate_hz=100.0, seed=1)
            assert (planned.lost, planned.duplicated, planned.out_of_order) == (0, 0, 0)
            assert planned.deliveries_owed > planned.events_published > 0
            mended = await trial(brokers, reconfiguration, "fifo", exchanges=3, rate_hz=100.0, seed=2)
            assert mended.control_messages > 0
            # What was lost was lost while links changed: the tables that came of it lose nothing.
            after = await trial(brokers, "after", "fifo", exchanges=0, rate_hz=100.0, seed=3)
            assert (after.lost, after.duplicated, after.out_of_order) == (0, 0, 0)

    live(test())


def test_an_exchange_that_is_drawn_makes_a_tree_again() -> None:
    tree = adjacency_of([("a", "b"), ("b", "c"), ("b", "d"), ("d", "e")], "test")
    dice = Random(1)
    for _ in range(100):
        removed, added = draw_exchange(tree, dice)
        del tree[removed[0]][removed[1]], tree[removed[1]][removed[0]]
        tree[added[0]][added[1]] = tree[added[1]][added[0]] = 0
        check_tree(tree, [(a, b) for a in tree for b in tree[a] if a < b], "test")

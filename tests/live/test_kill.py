"""`kill -9` in the middle of exchanges and publishing, at points drawn from a seed: the tables end exact."""

import asyncio
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import regraft
from effort import quick_first
from live.conftest import Live, overlay
from regraft.errors import RegraftError
from regraft.model.trees import component
from regraft.net.operating import exchange, join_link, look_at, until_whole
from regraft.net.remembering import FILE, Remembered, recall, remember
from regraft.net.trial import draw_exchange, trial

KILLS = 2


@pytest.mark.parametrize("seed", quick_first([1, 2, 3], 1))
def test_tables_end_exact_whoever_is_killed_in_an_exchange(live: Live, seed: int) -> None:
    async def test() -> None:
        dice = Random(seed)
        async with overlay("a-b b-c b-d") as brokers, regraft.connect(brokers.url("a"), "p") as publisher:
            stop = asyncio.Event()

            async def publish() -> None:
                while not stop.is_set():
                    await publisher.publish({"symbol": "IBM", "price": 100.0})
                    await asyncio.sleep(0.001)

            publishing = asyncio.create_task(publish())
            for _ in range(KILLS):
                removed, added = draw_exchange((await look_at(brokers.addresses)).tree(), dice)
                changing = asyncio.create_task(
                    exchange(brokers.addresses, removed, added, dice.choice(["coordinated", "graft"]), "fifo", 5.0)
                )
                await asyncio.sleep(dice.uniform(0.0, 0.06))
                victim = dice.choice(["b", "c", "d"])
                await brokers.kill(victim)
                changing.cancel()
                with suppress(RegraftError, asyncio.CancelledError):
                    await changing
                await brokers.start(victim)
                tree = (await until_whole(brokers.addresses, 20.0)).tree()
                while len(part := component(tree, "a")) < len(tree):  # the exchange was too far gone to be undone
                    other = next(name for name in tree if name not in part)
                    await join_link(brokers.addresses, ("a", other), 20.0)
                    tree = (await look_at(brokers.addresses)).tree()
                assert sum(map(len, tree.values())) == 2 * (len(tree) - 1), "a tree, and not a loop"
            stop.set()
            await publishing
            after = await trial(brokers, "after", "fifo", exchanges=0, rate_hz=100.0, seed=seed)
            assert (after.lost, after.duplicated, after.out_of_order) == (0, 0, 0)

    live(test())


def test_a_broker_that_was_killed_opens_the_links_that_an_exchange_has_made(live: Live) -> None:
    async def test() -> None:
        async with overlay("b-a c-b") as brokers:
            await exchange(brokers.addresses, ("b", "c"), ("a", "c"), "coordinated", "fifo", 20.0)
            for victim in "abc":
                await brokers.kill(victim)
                await brokers.start(victim)
                tree = (await brokers.whole(30.0)).tree()
                assert {name: sorted(others) for name, others in tree.items()} == {
                    "a": ["b", "c"],
                    "b": ["a"],
                    "c": ["a"],
                }

    live(test())


def test_what_is_damaged_or_another_brokers_is_refused(tmp_path: Path) -> None:
    assert recall(tmp_path / "new", "a") is None
    what = Remembered("a", {"b": "127.0.0.1:1"}, {"b": 3})
    remember(tmp_path, what)
    assert recall(tmp_path, "a") == what
    with pytest.raises(RegraftError, match="belongs to broker a"):
        recall(tmp_path, "b")
    (tmp_path / FILE).write_text('{"broker": "a"')
    with pytest.raises(RegraftError, match="damaged"):
        recall(tmp_path, "a")

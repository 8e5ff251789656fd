"""A disk that is slow or full: batches grow, readers wait, nothing is taken for written that is not."""

import asyncio
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from regraft.errors import RegraftError
from regraft.net import keeping
from regraft.net.keeping import Keeper
from regraft.net.settling import Settling
from regraft.store import Batch, StoreError


class Disk:
    """A journal in memory that can be full."""

    file = "sessions.db"

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.is_full = False
        self.attempts = 0

    def apply(self, batch: Batch) -> None:
        self.attempts += 1
        if self.is_full:
            raise StoreError("sessions.db: cannot be written: database or disk is full")
        self.batches.append([number for _, number, _ in batch.events])

    def close(self) -> None:
        self.batches.append([])


def host_of(loop: asyncio.AbstractEventLoop, said: list[str], choked: list[bool]) -> Any:
    return SimpleNamespace(
        loop=loop,
        now_ns=time.monotonic_ns,
        counters=Counter(),
        complain=lambda what, text: said.append(text),
        settling=Settling(loop),
        settings=SimpleNamespace(limits=SimpleNamespace(queue_bytes_max=100)),
        traffic=SimpleNamespace(choke=lambda keeper, is_choked: choked.append(is_choked)),
    )


def test_changes_of_one_turn_are_one_batch_and_who_waits_is_told_in_order() -> None:
    async def test() -> None:
        disk: Any = Disk()
        keeper = Keeper(host_of(asyncio.get_running_loop(), [], []), disk)
        told: list[str] = []
        keeper.when_written(lambda: told.append("nothing to wait for"))
        for number in range(3):
            keeper.change().keep(1, number, b"x")
        keeper.when_written(lambda: told.append("first"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        keeper.change().keep(1, 3, b"x")
        keeper.when_written(lambda: told.append("second"))
        assert told == ["nothing to wait for"]
        await keeper.close()
        assert disk.batches == [[0, 1, 2], [3], []]
        assert told == ["nothing to wait for", "first", "second"]

    asyncio.run(test())


def test_what_a_full_disk_does_not_take_is_tried_again_and_readers_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "AGAIN_AFTER_S", 0.02)

    async def test() -> None:
        disk: Any = Disk()
        said: list[str] = []
        choked: list[bool] = []
        keeper = Keeper(host_of(asyncio.get_running_loop(), said, choked), disk)
        disk.is_full = True
        keeper.change().keep(1, 1, b"x")
        told: list[int] = []
        keeper.when_written(lambda: told.append(1))
        await asyncio.sleep(0.1)
        assert disk.attempts > 1
        assert said[0] == "sessions.db: cannot be written: database or disk is full; trying again"
        for number in range(2, 5):
            keeper.change().keep(1, number, bytes(60))
        assert choked == [True]
        with pytest.raises(RegraftError, match="the broker stops"):
            keeper.abort("has not taken anything for 30 s")
        assert told == []
        disk.is_full = False
        async with asyncio.timeout(5.0):
            while len(disk.batches) < 2:
                await asyncio.sleep(0.01)
        await keeper.close()
        assert disk.batches[:2] == [[1], [2, 3, 4]]
        assert told == [1]
        assert choked == [True, False]

    asyncio.run(test())


def test_a_broker_that_stops_does_not_wait_for_a_full_disk() -> None:
    async def test() -> None:
        disk: Any = Disk()
        disk.is_full = True
        keeper = Keeper(host_of(asyncio.get_running_loop(), [], []), disk)
        keeper.change().keep(1, 1, b"x")
        await asyncio.wait_for(keeper.close(), 5.0)
        assert disk.batches == [[]]

    asyncio.run(test())

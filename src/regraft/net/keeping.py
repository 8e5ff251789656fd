"""The event loop's side of the journal: changes collect while the last batch is being written, in a thread of its own.

So a slow disk makes batches larger, not the loop slower; there is one batch under way and one that is being filled.
Batches are numbered; `written` is the last that is on the disk, and whoever must wait for one asks `when_written`.

**Bounds.** When the batch that is being filled has more than `queue_bytes_max`, the broker stops reading from everybody
until the one under way is written. A batch that cannot be written (a full disk) is tried again every second; nothing
that depends on it is acknowledged meanwhile. A broker that cannot write for `stalled_after_s` while others wait for it
stops, with the reason: what was stored before stays as it is, and what was not acknowledged is with its senders.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from regraft.errors import RegraftError
from regraft.model.events import Event
from regraft.net.settling import Way
from regraft.store import Batch, Journal, StoreError

if TYPE_CHECKING:
    from regraft.net.host import Host

AGAIN_AFTER_S = 1.0

Answer = TypeVar("Answer")

log = logging.getLogger("regraft")


class Keeper:
    """`number` is that of the batch that is being filled. While it is `choked` it stands among the connections that
    cannot be written."""

    def __init__(self, host: "Host", journal: Journal) -> None:
        self.number = 1
        self.written = 0
        self.way = Way()
        self.choked_ns = 0
        self.patience = 1
        self._host = host
        self._journal = journal
        self._batch = Batch()
        self._writing: asyncio.Future[None] | None = None
        self._scheduled = False
        self._is_failing = False
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._thread = ThreadPoolExecutor(1, "regraft journal")

    def change(self) -> Batch:
        """What is changed in it now is written with this batch."""
        if not self._scheduled and self._writing is None:
            self._scheduled = True
            self._host.loop.call_soon(self._hand_over)
        if self._batch.size_bytes > self._host.settings.limits.queue_bytes_max and not self.choked_ns:
            self.choked_ns = self._host.now_ns()
            self._host.traffic.choke(self, True)
        return self._batch

    def when_written(self, done: Callable[[], None]) -> None:
        """Call it when all that has been changed so far is written; now, if it is."""
        last = self._last()
        if last <= self.written:
            done()
        else:
            self._waiting.append((last, done))

    def settles(self, event: Event) -> None:
        """This event, which is to be acknowledged, goes to the journal, or has gone there before."""
        self.way.sent = self._last()
        self._host.settling.went(self.way, event)

    def _last(self) -> int:
        return self.number if not self._batch.is_empty() else self.number - 1

    def ask(self, question: Callable[[Journal], Answer], answered: Callable[[Answer], None]) -> None:
        """Something to be read, between two batches."""

        def done(future: "asyncio.Future[Answer]") -> None:
            if not future.cancelled():
                answered(future.result())

        self._host.loop.run_in_executor(self._thread, question, self._journal).add_done_callback(done)

    def sync(self) -> None:
        def done(future: "asyncio.Future[None]") -> None:
            if not future.cancelled() and (error := future.exception()) is not None:
                self._failed(error)

        self._host.loop.run_in_executor(self._thread, self._journal.sync).add_done_callback(done)

    def _hand_over(self) -> None:
        self._scheduled = False
        if self._writing is None and not self._batch.is_empty():
            batch, self._batch = self._batch, Batch()
            number = self.number
            self.number += 1
            self._write(batch, number)

    def _write(self, batch: Batch, number: int) -> None:
        self._writing = self._host.loop.run_in_executor(self._thread, self._journal.apply, batch)
        self._writing.add_done_callback(partial(self._written, batch, number))

    def _written(self, batch: Batch, number: int, future: "asyncio.Future[None]") -> None:
        if future.cancelled():
            return
        error = future.exception()
        self._is_failing = error is not None
        if error is not None:
            self._failed(error)
            self._host.loop.call_later(AGAIN_AFTER_S, self._write, batch, number)
            return
        self._writing = None
        self.written = number
        self._hand_over()
        if self.choked_ns:
            self.choked_ns = 0
            self._host.traffic.choke(self, False)
        self.way.settle(number)
        waiting = self._waiting
        while waiting and waiting[0][0] <= number:
            waiting.popleft()[1]()

    def _failed(self, error: BaseException) -> None:
        if not isinstance(error, StoreError):
            raise error
        self._host.counters["sessions_not_written"] += 1
        self._host.complain("sessions", f"{error}; trying again")

    def abort(self, reason: str) -> None:
        """Others have waited for the disk for too long."""
        raise RegraftError(f"{self._journal.file}: cannot be written for so long that the broker stops")

    async def close(self) -> None:
        """All that has been changed is written, unless the disk does not take it."""
        while not self._is_failing and (self._writing is not None or not self._batch.is_empty()):
            self._hand_over()
            await asyncio.sleep(0.001)
        if self._is_failing:
            log.error("what came last for sessions is not written; it was not acknowledged")
        self._thread.shutdown()
        self._journal.close()

"""What a subscriber holds: events in the order in which they came, and a bound on how many wait."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Protocol, Self

from regraft.model.events import Event
from regraft.model.filters import Filter


class Source(Protocol):
    """The bus, as a subscription sees it."""

    async def confirm(self, subscription: "Subscription") -> None: ...

    def cease(self, subscription: "Subscription") -> None: ...

    def read(self, on: bool) -> None: ...


class Subscription:
    """Iterate over it, as often as you like, by one reader; or hand in a callback, which must not block.

    As a context manager it waits until it is in force, and ends with the block.
    """

    def __init__(
        self, source: Source, filter: Filter, callback: Callable[[Event], None] | None, queue_length_max: int
    ) -> None:
        self.filter = filter
        self.confirmed: asyncio.Future[None] | None = None
        self.take: Callable[[Event], None] = callback or self._keep
        self.is_full = False
        self._source = source
        self._queue: deque[Event] = deque()
        self._length_max = queue_length_max
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: Exception | None = None

    async def in_force(self) -> Self:
        """Wait until every broker that the tree connects holds the routes for it."""
        await self._source.confirm(self)
        return self

    async def close(self) -> None:
        """Take it back; what has come can still be read."""
        self._source.cease(self)
        self.end(None)

    def end(self, error: Exception | None) -> None:
        """Nothing more will come; whoever reads on gets the error, if there is one."""
        self._ended = True
        self._error = error
        self._wake()

    async def __aenter__(self) -> Self:
        return await self.in_force()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        queue = self._queue
        while not queue:
            if self._ended:
                raise self._error or StopAsyncIteration
            await self._wait()
        event = queue.popleft()
        if self.is_full and len(queue) <= self._length_max // 2:
            self._make_room()
        return event

    async def batch(self) -> list[Event]:
        """All that has come, at least one; empty when nothing more will come."""
        while not self._queue and not self._ended:
            await self._wait()
        if not self._queue and self._error:
            raise self._error
        events = list(self._queue)
        self._queue.clear()
        if self.is_full:
            self._make_room()
        return events

    def _keep(self, event: Event) -> None:
        queue = self._queue
        queue.append(event)
        if self._waiter is not None:
            self._wake()
        if len(queue) >= self._length_max and not self.is_full:
            self.is_full = True
            self._source.read(False)

    def _make_room(self) -> None:
        self.is_full = False
        self._source.read(True)

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None

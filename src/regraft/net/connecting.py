"""`regraft.connect`: one word for both faces of the client library."""

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType

from regraft.errors import UsageError
from regraft.net.blocking import BlockingBus
from regraft.net.bus import Bus
from regraft.net.durable import DurableBus


class Connector:
    """What `connect` returns: `async with` gives a `Bus` (a `DurableBus` if durable), `with` a `BlockingBus`."""

    def __init__(
        self,
        url: str,
        name: str,
        connect_within_s: float,
        durable: bool,
        came_from: Sequence[str],
        filters: Sequence[str],
    ) -> None:
        if not durable and (came_from or filters):
            raise UsageError("only a durable client comes from another broker; `durable` is missing")
        self._new: Callable[[], Bus] = partial(Bus, url, name, connect_within_s)
        if durable:
            self._new = partial(DurableBus, url, name, connect_within_s, came_from, filters)
        self._bus: Bus | None = None
        self._blocking: BlockingBus | None = None

    async def __aenter__(self) -> Bus:
        self._bus = self._new()
        return await self._bus.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._bus is not None
        await self._bus.__aexit__(kind, error, traceback)

    def __enter__(self) -> BlockingBus:
        self._blocking = BlockingBus(self._new())
        return self._blocking

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._blocking is not None
        self._blocking.__exit__(kind, error, traceback)

"""The plain synchronous face of the client library, for scripts: the same bus, on a loop in a thread of its own.

with regraft.connect("regraft://127.0.0.1:4270") as bus:
    bus.publish({"symbol": "IBM", "price": 120.5})
    for event in bus.subscribe("price > 100"):
        print(event.attributes)
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from regraft.model.events import Event, Value
from regraft.net.bus import Bus
from regraft.net.loops import new_loop
from regraft.net.subscription import Subscription

Result = TypeVar("Result")


class BlockingBus:
    """Its methods wait; they may be called from several threads."""

    def __init__(self, url: str, name: str, connect_within_s: float) -> None:
        self._bus = Bus(url, name, connect_within_s)
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="regraft bus", daemon=True)
        self._thread.start()
        try:
            self._wait(self._bus.__aenter__())
        except BaseException:
            self._stop()
            raise

    @property
    def name(self) -> str:
        return self._bus.name

    @property
    def lost(self) -> int:
        return self._bus.lost

    def publish(self, attributes: Mapping[str, Value], payload: bytes = b"", *, acknowledged: bool = False) -> None:
        async def publish() -> None:
            await self._bus.publish(attributes, payload, acknowledged=acknowledged)

        self._wait(publish())

    def flush(self) -> None:
        """Wait until the broker has all that was published so far."""
        self._wait(self._bus.flush())

    def subscribe(
        self, filter: str, *, in_force: bool = True, queue_length_max: int = 10_000
    ) -> "BlockingSubscription":
        """Returns when every broker knows of it, or, where `in_force` is false, at once."""

        async def subscribe() -> Subscription:
            subscription = self._bus.subscribe(filter, queue_length_max=queue_length_max)
            return await subscription.in_force() if in_force else subscription

        return BlockingSubscription(self, self._wait(subscribe()))

    def close(self) -> None:
        if self._thread.is_alive():
            self._wait(self._bus.close())
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def wait(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run it on the bus's loop."""
        return self._wait(coroutine)

    def _wait(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class BlockingSubscription:
    """Iterate over it; the iteration ends when the subscription or the bus is closed."""

    def __init__(self, bus: BlockingBus, subscription: Subscription) -> None:
        self._bus = bus
        self._subscription = subscription

    def __iter__(self) -> Iterator[Event]:
        while events := self._bus.wait(self._subscription.batch()):
            yield from events

    def close(self) -> None:
        self._bus.wait(self._subscription.close())

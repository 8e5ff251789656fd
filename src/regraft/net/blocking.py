"""The plain synchronous face of the client library, for scripts: the same bus, on a loop in a thread of its own.

with regraft.connect("regraft://127.0.0.1:4270") as bus:
    bus.publish({"symbol": "IBM", "price": 120.5})
    for event in bus.subscribe("price > 100"):
        print(event.attributes)
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from regraft.errors import UsageError
from regraft.model.events import Event, Value
from regraft.net.bus import Bus
from regraft.net.durable import DurableBus, DurableSubscription
from regraft.net.loops import new_loop
from regraft.net.subscription import Subscription
from regraft.net.talk import Arrived

Result = TypeVar("Result")


class BlockingBus:
    """Its methods wait; they may be called from several threads."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
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

    def forget(self) -> None:
        """End a durable client's session for good, and with it this bus."""
        self._wait(self._durable().forget())
        self._stop()

    def move(self, url: str) -> Arrived:
        """Go on at another broker, which takes over what is kept for this durable client."""
        return self._wait(self._durable().move(url))

    def _durable(self) -> DurableBus:
        if not isinstance(self._bus, DurableBus):
            raise UsageError("only a durable client has a session")
        return self._bus

    def close(self) -> None:
        self.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            self._wait(self._bus.__aexit__(kind, error, traceback))
            self._stop()

    def wait(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run it on the bus's loop."""
        return self._wait(coroutine)

    def tell(self, say: Callable[..., None], *arguments: Any) -> None:
        """Call it on the bus's loop, some time soon."""
        self._loop.call_soon_threadsafe(say, *arguments)

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
        subscription = self._subscription
        if not isinstance(subscription, DurableSubscription):
            while events := self._bus.wait(subscription.batch()):
                yield from events
            return
        while events := self._bus.wait(subscription.fetch()):
            for event in events:
                self._bus.tell(subscription.hand_out, event)
                yield event

    def close(self) -> None:
        self._bus.wait(self._subscription.close())

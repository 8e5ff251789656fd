"""A client's connection to its broker: opened, opened again when it breaks, written to once a turn of the loop.

Below `bus.py`, which says what is sent over it and what is done with what comes.
"""

import asyncio
import os
import time
from abc import ABC, abstractmethod
from random import Random
from typing import Any, cast

from regraft.errors import NetworkError, UsageError
from regraft.net.settings import split_address
from regraft.net.talk import ClientHello, ClientWelcome
from regraft.net.wire import FrameSplitter, WireError, control_frame

SCHEME = "regraft://"
PORT = 4270
AGAIN_AFTER_S = 0.05
AGAIN_AFTER_S_MAX = 2.0
FRAME_BYTES_MAX = 64 * 1_048_576
WRITE_BYTES = 65_536
WRITE_BUFFER_BYTES_MAX = 262_144


class Connected(asyncio.Protocol, ABC):
    """`writable` is None where there is room for more, else what to wait for. Who is refused at first tries again for
    `_patience_s`."""

    _patience_s = 0.0

    def __init__(self, url: str, name: str, connect_within_s: float) -> None:
        self.name = name or f"client-{os.urandom(6).hex()}"
        self.url = url
        self.broker = ""
        self._host, self._port = split_url(url)
        self._within_s = connect_within_s
        self._instance = int.from_bytes(os.urandom(7), "big")
        self._dice = Random(self._instance)
        self._out = bytearray()
        self._frame_bytes_max = 0
        self._refusal = ""
        self._closing = False
        self._deaf = False
        self._transport: asyncio.Transport | None = None

    # --- what whoever uses it does with it

    @abstractmethod
    def event(self, data: bytes, begin: int, end: int) -> None: ...

    @abstractmethod
    def control(self, body: bytes) -> None: ...

    @abstractmethod
    def _connected(self) -> None:
        """The broker has welcomed us, for the first time or again."""

    @abstractmethod
    def _disconnected(self, error: NetworkError) -> None:
        """The connection is gone; it will be opened again."""

    # --- opening

    async def _open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._writable: asyncio.Future[None] | None = self._loop.create_future()
        self._broken: asyncio.Future[str] = self._loop.create_future()
        self._welcome: asyncio.Future[str] = self._loop.create_future()
        reason = await self._first_attempts()
        if reason:
            raise NetworkError(f"{self.url}: {reason}")
        self._keeper = self._loop.create_task(self._stay_connected())

    async def _first_attempts(self) -> str:
        began = self._loop.time()
        wait_s = AGAIN_AFTER_S
        while True:
            reason = await self._attempt()
            within_s = self._patience_s if self._refusal else self._within_s
            if not reason or self._loop.time() + wait_s > began + within_s:
                return reason
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, AGAIN_AFTER_S_MAX)

    async def _stay_connected(self) -> None:
        while True:
            await self._broken
            wait_s = AGAIN_AFTER_S
            while True:
                await asyncio.sleep(wait_s * self._dice.uniform(0.5, 1.0))
                if not await self._attempt():
                    break
                wait_s = min(2 * wait_s, AGAIN_AFTER_S_MAX)

    async def _attempt(self) -> str:
        """Returns why there is no connection, or nothing where there is one."""
        self._welcome = self._loop.create_future()
        self._refusal = ""
        self._out = bytearray()
        self._splitter = FrameSplitter(self, FRAME_BYTES_MAX)
        try:
            async with asyncio.timeout(self._within_s):
                await self._loop.create_connection(lambda: self, self._host, self._port)
                reason = await self._welcome
        except TimeoutError:
            if self._transport is not None:
                self._transport.abort()
            return f"no answer within {self._within_s:g} s"
        except OSError as error:
            return f"no broker can be reached there ({error.strerror or error}); is one running?"
        if not reason:
            self._connected()
            self._let_write()
        return reason

    def _let_write(self) -> None:
        if self._may_publish():
            settle(self._writable)
            self._writable = None

    def _may_publish(self) -> bool:
        """Whether the broker takes events of us."""
        return True

    def _hello(self, clock_ns: int) -> ClientHello:
        return ClientHello(self.name, self._instance, clock_ns)

    def _welcomed(self, welcome: ClientWelcome) -> None:
        self.broker = welcome.broker
        self._frame_bytes_max = welcome.frame_bytes_max
        settle(self._welcome, "")

    async def _close(self) -> None:
        """What has been written leaves before the connection ends."""
        self._closing = True
        self._keeper.cancel()
        if self._transport is not None:
            self._flush()
            self._transport.close()
            await asyncio.wait([self._broken], timeout=self._within_s)

    # --- what the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's derives from nothing
        self._broken = self._loop.create_future()
        self._deaf = False
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES_MAX)
        transport.write(control_frame(self._hello(time.time_ns())))

    def data_received(self, data: bytes) -> None:
        try:
            self._splitter.feed(data)
        except WireError as error:
            self._refusal = f"the broker sent what no broker sends: {error}"
            if self._transport is not None:
                self._transport.abort()

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._welcome.done():
            self._let_write()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._writable is None:
            self._writable = self._loop.create_future()
        reason = self._refusal or (str(error) if error else "the broker closed the connection")
        self._disconnected(NetworkError(f"{self.url}: {reason}"))
        settle(self._welcome, reason)
        settle(self._broken, reason)

    # --- writing and reading

    def _write(self, frame: bytes) -> None:
        out = self._out
        if not out:
            self._loop.call_soon(self._flush)
        out += frame
        if len(out) >= WRITE_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._out and self._transport is not None:
            self._transport.write(self._out)
        self._out = bytearray()

    def _read(self, on: bool) -> None:
        if self._deaf == on and self._transport is not None:
            self._deaf = not on
            if on:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()


def split_url(url: str) -> tuple[str, int]:
    """The host and the port of `regraft://host:port`."""
    if not url.startswith(SCHEME):
        raise UsageError(f"{url!r} is no broker's address; write regraft://host:port")
    rest = url.removeprefix(SCHEME).rstrip("/")
    return split_address(rest if ":" in rest else f"{rest}:{PORT}")


def settle(future: "asyncio.Future[Any] | None", result: Any = None) -> None:
    if future is not None and not future.done():
        future.set_result(result)


def fail(future: "asyncio.Future[Any] | None", error: Exception) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
        future.exception()  # nobody need wait for it

"""Live overlays for tests: real processes on loopback, ports that nobody else has, and an end to every wait."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from regraft.net.loops import new_loop
from regraft.net.processes import Processes
from regraft.net.settings import BrokerSettings, Topology, on_free_ports

WITHIN_S = 60.0


def settings_of(links: str, **keys: Any) -> list[BrokerSettings]:
    """Of the brokers of a tree written `a-b b-c`, on free ports."""
    return on_free_ports(msgspec.convert({"links": links.split(), **keys}, Topology).settings())


class Running(Processes):
    def url(self, name: str) -> str:
        return f"regraft://{self.settings[name].listen}"


@asynccontextmanager
async def overlay(
    links: str, trace: Path | None = None, inputs: Path | None = None, **keys: Any
) -> AsyncIterator[Running]:
    """An overlay that runs, whole. What its brokers logged is shown with a test that fails."""
    async with Running(settings_of(links, **keys), lambda _, line: print(line), trace, inputs) as running:
        await running.whole(WITHIN_S)
        yield running


Live = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def live() -> Live:
    """Runs a test's coroutine to its end, which must come in time."""

    def run(test: Coroutine[Any, Any, None]) -> None:
        async def in_time() -> None:
            async with asyncio.timeout(2 * WITHIN_S):
                await test

        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(in_time())

    return run

"""Live overlays for tests: real processes on loopback, ports that nobody else has, and an end to every wait."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
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


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        yield runner


@pytest.fixture
def live(runner: asyncio.Runner) -> Live:
    """Runs a test's coroutine to its end, which must come in time."""

    def run(test: Coroutine[Any, Any, None]) -> None:
        async def in_time() -> None:
            async with asyncio.timeout(2 * WITHIN_S):
                await test

        runner.run(in_time())

    return run


@pytest.fixture(scope="session")
def standing(runner: asyncio.Runner) -> Iterator[Running]:
    """An overlay for all tests that leave it as it was and whose clients have names of their own.

    Such a test is marked with `ON_STANDING`, so that one worker runs them all: to start brokers costs more than most
    tests.
    """
    entered = overlay("a-b b-c b-d")
    yield runner.run(entered.__aenter__())
    runner.run(entered.__aexit__(None, None, None))


ON_STANDING = pytest.mark.xdist_group("standing")

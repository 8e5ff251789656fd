"""A whole overlay on this machine: a process for each broker, their logs joined, and all of them gone at the end.

Each broker gets its configuration as a file in a folder of ours and is started as a user would start it. Nothing of an
overlay outlives `Processes`: what does not end when it is told to is killed.
"""

import asyncio
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from regraft.errors import RegraftError, UsageError
from regraft.net.operating import Overlay, until_whole
from regraft.net.settings import BrokerSettings, write_settings

STOP_WITHIN_S = 5.0
LOG_LINE_BYTES_MAX = 65_536
RUN = "live"


class Processes:
    """`tell` gets each line of each broker's log. With `trace`, the brokers' traces become one run there at the end;
    with `inputs`, each broker's inputs are recorded in that folder, in a file of its name."""

    def __init__(
        self,
        settings: list[BrokerSettings],
        tell: Callable[[str, str], None],
        trace: Path | None = None,
        inputs: Path | None = None,
    ) -> None:
        if trace is not None and trace.exists():
            raise UsageError(f"{trace}: exists already; name a directory that does not")
        self.settings = {each.name: each for each in settings}
        self.ended: dict[str, int] = {}  # exit codes of those that ended though nobody asked them to
        self._tell = tell
        self._trace = trace
        self._inputs = inputs
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._readers: dict[str, asyncio.Task[None]] = {}
        self._stopping: dict[str, None] = {}
        self._starts: dict[str, int] = {}

    @property
    def addresses(self) -> list[str]:
        return [each.listen for each in self.settings.values()]

    async def __aenter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="regraft-")
        try:
            for name, settings in self.settings.items():
                state = settings.state or str(Path(self._folder.name) / f"{name}.state")
                remembering = msgspec.structs.replace(settings, state=state)
                (Path(self._folder.name) / f"{name}.toml").write_text(write_settings(remembering))
            await asyncio.gather(*(self.start(name) for name in self.settings))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._end()

    async def start(self, name: str) -> None:
        folder = Path(self._folder.name)
        arguments = ["--config", str(folder / f"{name}.toml")]
        if self._trace is not None:
            self._starts[name] = self._starts.get(name, 0) + 1
            arguments += ["--trace", str(folder / f"{name}.{self._starts[name]}")]
        if self._inputs is not None:
            arguments += ["--inputs", str(self._inputs / f"{name}.inputs")]
        process = self._running[name] = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "regraft.cli", "broker", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=LOG_LINE_BYTES_MAX,
            start_new_session=True,  # Ctrl-C on a terminal reaches us alone; we stop them
        )
        self._stopping.pop(name, None)
        self._readers[name] = asyncio.create_task(self._read(name, process))

    async def whole(self, within_s: float) -> Overlay:
        """Wait until every broker runs and every link is up."""
        waiting = asyncio.create_task(until_whole(self.addresses, within_s))
        while not waiting.done():
            await asyncio.wait([waiting, *self._readers.values()], timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
            if self.ended:
                waiting.cancel()
                name, code = next(iter(self.ended.items()))
                raise RegraftError(f"broker {name} has ended with exit code {code}; its log says why")
        return waiting.result()

    async def kill(self, name: str) -> None:
        """As a machine that loses its power."""
        self._stopping[name] = None
        self._running[name].send_signal(signal.SIGKILL)
        await self._readers[name]

    async def _read(self, name: str, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while True:
            try:
                line = await process.stderr.readline()
            except ValueError:
                line = b"(a line that was too long)\n"
            if not line:
                break
            self._tell(name, line.decode(errors="replace").rstrip("\n"))
        code = await process.wait()
        if name not in self._stopping:
            self.ended[name] = code
            self._tell(name, f"{name} has ended with exit code {code}")

    async def _end(self) -> None:
        for name, process in self._running.items():
            self._stopping[name] = None
            if process.returncode is None:
                process.terminate()
        if self._readers:
            _, late = await asyncio.wait(self._readers.values(), timeout=STOP_WITHIN_S)
            for process in self._running.values():
                if process.returncode is None:
                    process.kill()
            if late:
                await asyncio.wait(late)
        try:
            if self._trace is not None and self._starts:
                from regraft.net.merging import merge_records

                folder = Path(self._folder.name)
                starts = [(name, number + 1) for name, count in self._starts.items() for number in range(count)]
                merge_records([(name, folder / f"{name}.{number}") for name, number in starts], self._trace, RUN)
        finally:
            self._folder.cleanup()

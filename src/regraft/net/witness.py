"""What a live broker writes down when it is asked to: the rows of the trace, and the inputs of its core.

The rows are those of the simulator (`trace/schema.py`), at the level `full`, with two differences that a broker cannot
help: `t_ns` is wall-clock time, from when this recorder began, and the cause of an event's hop is always `client`, as
no broker knows whether somebody beyond a link still wants it. Of a link, the end with the smaller name writes `link_up`
and `link_down`, so that the records of an overlay can be put together (`merging.py`).

What is recorded appears when the broker ends, whole or not at all. A broker that is killed leaves a hidden partial
file.
"""

import contextlib
import json
import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import pyarrow as pa

from regraft.broker import BrokerConfig, RecordedStep, frame
from regraft.broker.effects import Effect
from regraft.broker.inputs import Input
from regraft.broker.messages import Control
from regraft.errors import RegraftError
from regraft.model.events import Event
from regraft.rows import control_cells
from regraft.trace import RunSetWriter, TraceBuffer, encode_attributes, whole_file
from regraft.trace import schema as row

log = logging.getLogger("regraft")


class Witness:
    """Writes the trace of one broker into `directory`, as the run of its name."""

    def __init__(self, directory: Path, broker: str, began_ns: int, config: BrokerConfig) -> None:
        self._directory = directory
        self._broker = broker
        self._began_ns = began_ns
        self._config = config
        self._trace = TraceBuffer(broker)
        self._writer = RunSetWriter(directory)
        self._open = ExitStack()
        self._now_ns = began_ns
        self._failure: Exception | None = (
            None  # a disk that is full, say: the broker goes on, and its trace is given up
        )

    def __enter__(self) -> Self:
        self._open.enter_context(self._writer)
        self._write: Callable[[pa.RecordBatch], None] = self._open.enter_context(self._writer.open(self._broker))
        known = {
            "level": row.LEVEL_FULL,
            "world": "net",
            "broker": self._broker,
            "began_ns": self._began_ns,
            "reconfiguration": self._config.reconfiguration,
        }
        self._trace.append((0, row.KIND_RUN, *(None,) * 9, json.dumps(known)))
        self.topology(self._began_ns, row.KIND_BROKER_UP)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        if error is None and self._failure is not None:
            with contextlib.suppress(OSError, pa.ArrowException):  # closing the file fails as writing it did
                self._open.__exit__(type(self._failure), self._failure, None)
            raise RegraftError(f"{self._directory}: cannot be written: {self._failure}")
        if error is None:
            self.topology(self._now_ns, row.KIND_BROKER_DOWN)
            batch, _ = self._trace.finish(self._now_ns - self._began_ns, {"violations": []})
            self._write(batch)
        return self._open.__exit__(kind, error, traceback)

    def _append(self, now_ns: int, kind: str, peer: str | None, *cells: str | int | None) -> None:
        self._now_ns = max(self._now_ns, now_ns)
        if self._failure is not None:
            return
        self._trace.append((now_ns - self._began_ns, kind, self._broker, peer, *cells))  # type: ignore[arg-type]
        if self._trace.full:
            try:
                self._write(self._trace.flush())
            except (OSError, pa.ArrowException) as error:
                self._failure = error
                log.warning("the trace cannot be written any more: %s", error)

    def topology(self, now_ns: int, kind: str, peer: str | None = None) -> None:
        self._append(now_ns, kind, peer, *(None,) * 8)

    def link(self, now_ns: int, peer: str, *, up: bool) -> None:
        if self._broker < peer:
            self.topology(now_ns, row.KIND_LINK_UP if up else row.KIND_LINK_DOWN, peer)

    def subscription(self, now_ns: int, kind: str, client: str, filter: str) -> None:
        self._append(now_ns, kind, None, client, None, filter, None, None, None, None, None)

    def publication(self, now_ns: int, event: Event) -> None:
        attributes = encode_attributes(event.attributes)
        name = event.name
        self._append(now_ns, row.KIND_PUBLISH, None, event.publisher, name, None, None, None, None, None, attributes)

    def passed_on(
        self, now_ns: int, event: Event, size: int, neighbours: tuple[str, ...], clients: tuple[str, ...]
    ) -> None:
        name = event.name
        for peer in neighbours:
            what = (None, name, None, row.MESSAGE_EVENT, row.CAUSE_CLIENT, None, size, None)
            self._append(now_ns, row.KIND_HOP, peer, *what)
        for client in clients:
            self._append(now_ns, row.KIND_DELIVER, None, client, name, None, None, None, None, None, None)

    def control(self, now_ns: int, peer: str, message: Control, size: int) -> None:
        self._append(now_ns, row.KIND_HOP, peer, *control_cells(message, size))

    def exchange_ordered(self, now_ns: int, exchange: str, cycle: tuple[str, ...], near: int) -> None:
        known = json.dumps({"cycle": cycle, "near": near})
        self._reconfiguration(now_ns, row.KIND_RECONFIGURATION_BEGIN, exchange, known)

    def exchange_ended(self, now_ns: int, exchange: str, outcome: str) -> None:
        self._reconfiguration(now_ns, row.KIND_RECONFIGURATION_END, exchange, json.dumps({"outcome": outcome}))

    def _reconfiguration(self, now_ns: int, kind: str, exchange: str, known: str) -> None:
        self._append(now_ns, kind, None, None, None, None, None, None, exchange, None, known)


class InputRecord:
    """Writes the inputs of one broker's core and their effects, for `regraft replay`."""

    def __init__(self, file: Path, broker: str, config: BrokerConfig, began_ns: int) -> None:
        self._broker = broker
        self._first = frame(config) + frame(RecordedStep(broker, began_ns, None, ()))
        self._whole = whole_file(file)
        self._file = file
        self._failure: OSError | None = None

    def __enter__(self) -> Self:
        self._output: IO[bytes] = self._whole.__enter__()
        self._output.write(self._first)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        if error is None and self._failure is not None:
            with contextlib.suppress(OSError):
                self._whole.__exit__(type(self._failure), self._failure, None)
            raise RegraftError(f"{self._file}: cannot be written: {self._failure.strerror}")
        return self._whole.__exit__(kind, error, traceback)

    def __call__(self, now_ns: int, given: Input, effects: list[Effect]) -> None:
        if self._failure is not None:
            return
        try:
            self._output.write(frame(RecordedStep(self._broker, now_ns, given, tuple(effects))))
        except OSError as error:
            self._failure = error
            log.warning("inputs cannot be recorded any more: %s", error)

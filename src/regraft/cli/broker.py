"""`regraft broker`: one live broker, in this process."""

import json
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer


def broker(
    config: Annotated[Path, typer.Option(metavar="FILE", help="What the broker is configured with, as TOML.")],
    trace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the trace there; the folder must not exist.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record the inputs there, for `replay`; it must not exist.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Log lines are JSON objects.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log more.")] = False,
) -> None:
    """Run a live broker until it is told to stop (Ctrl-C, SIGTERM).

    What is to be recorded appears when the broker has ended.

    The keys of the file are described in docs/guide/live.md; `name` is the only one that has no default.

    \b
    Example:
        regraft broker --config broker.toml
    """
    from regraft.net.server import Recording, run
    from regraft.net.settings import read_broker

    settings = read_broker(config)
    handler = logging.StreamHandler(sys.stderr)
    words = f"%(asctime)s.%(msecs)03d {settings.name} %(levelname)s %(message)s"
    handler.setFormatter(_JsonLines(settings.name) if as_json else logging.Formatter(words, "%H:%M:%S"))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler])
    run(settings, Recording(trace, inputs))


class _JsonLines(logging.Formatter):
    def __init__(self, broker: str) -> None:
        super().__init__()
        self._broker = broker

    def format(self, record: logging.LogRecord) -> str:
        line = {"time_s": record.created, "broker": self._broker, "level": record.levelname}
        return json.dumps({**line, "message": record.getMessage()})

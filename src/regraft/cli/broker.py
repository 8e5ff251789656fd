"""`regraft broker`: one live broker, in this process."""

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
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if verbose else logging.INFO,
        format=f"%(asctime)s.%(msecs)03d {settings.name} %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
    )
    run(settings, Recording(trace, inputs))

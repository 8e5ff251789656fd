"""`regraft up`: a whole overlay on this machine, until Ctrl-C."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regraft.net.settings import BrokerSettings

COLOURS = (36, 33, 35, 32, 34, 31)
READY_WITHIN_S = 30.0


def up(
    topology: Annotated[Path, typer.Argument(metavar="TOPOLOGY", help="The overlay as a TOML file.")],
    trace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the trace of all brokers there; it must not exist.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Record each broker's inputs there, in a file of its name.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the addresses as one JSON object.")] = False,
) -> None:
    """Start every broker of an overlay on this machine, a process each, and stop them at Ctrl-C.

    Their logs are joined on the standard error. When every link is up, the brokers' addresses are printed. The keys of
    the file are described in docs/guide/live.md; `links` is the only one that has no default.

    \b
    Example:
        regraft up scenarios/live-seven.toml
    """
    from regraft.net.loops import new_loop
    from regraft.net.settings import read_topology

    settings = read_topology(topology).settings()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        code = runner.run(_until_a_signal(settings, trace, inputs, as_json))
    raise typer.Exit(code)


async def _until_a_signal(
    settings: "list[BrokerSettings]", trace: Path | None, inputs: Path | None, as_json: bool
) -> int:
    from regraft.net.processes import Processes

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    colours = {each.name: COLOURS[number % len(COLOURS)] for number, each in enumerate(settings)}
    coloured = sys.stderr.isatty()

    def tell(name: str, line: str) -> None:
        print(f"\033[{colours[name]}m{line}\033[0m" if coloured else line, file=sys.stderr, flush=True)

    async with Processes(settings, tell, trace, inputs) as processes:
        ready = asyncio.create_task(processes.whole(READY_WITHIN_S))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([ready, stopped], return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
            urls = {each.name: f"regraft://{each.listen}" for each in settings}
            words = "\n".join(f"{name}  {url}" for name, url in urls.items())
            print(json.dumps({"brokers": urls}) if as_json else words, flush=True)
            await stopped
        ready.cancel()
        return 1 if processes.ended else 0

"""`regraft replay`: a record of inputs, given to fresh brokers.

A broker is a function of what it is told: what `regraft sim --inputs` has recorded must come out again, in any process
and on any machine. Where it does not, the code is not the code that recorded it, or the broker has a bug.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

DIFFERENT = 1


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `regraft sim --inputs` has written.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False,
) -> None:
    """Give recorded inputs to fresh brokers and tell whether the recorded effects come out.

    The exit code is 1, and the first difference is printed, where they do not.

    \b
    Example:
        regraft replay out/seven.inputs
    """
    from regraft.broker import read_record, replay
    from regraft.errors import UsageError

    try:
        recorded = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
    config, steps = read_record(memoryview(recorded), str(file))
    count, difference = replay(config, steps)
    if as_json:
        print(json.dumps({"file": str(file), "steps": count, "difference": difference}))
    elif difference is None:
        print(f"{count} steps gave the recorded effects")
    else:
        print(f"{count} steps gave the recorded effects, the next did not:\n{difference}")
    if difference is not None:
        raise typer.Exit(DIFFERENT)

"""`regraft match`: a filter tried on events, without a network.

An event is one line: a JSON object whose members are the attributes. A member that is `null` is a missing attribute.
`NaN` and `Infinity` are taken as JSON's dialects write them, since a filter has a meaning for them. An object that
names an attribute twice is no event: JSON leaves open which of the two counts. A line that is printed is printed with
the bytes it came with, so that the output is as good an input as the original.
"""

import json
import sys
from collections.abc import Iterator
from typing import IO, Annotated, Any

import typer

from regraft.errors import UsageError


def match(
    filter_text: Annotated[str, typer.Argument(metavar="FILTER", help="A condition as in SQL's WHERE.")],
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the filter's normal form and read nothing.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help='Print {"line": number, "event": attributes} for each match.')
    ] = False,
) -> None:
    """Print the events that a filter matches, in order.

    Each line of the standard input is one event: a JSON object whose members are its attributes.

    \b
    Example:
        echo '{"symbol": "IBM", "price": 101}' | regraft match "symbol = 'IBM' AND price > 100"
    """
    from regraft.model.filters import Filter

    wanted = Filter.parse(filter_text)
    if explain:
        normal_form = wanted.explain()
        print(json.dumps({"filter": wanted.text, "normal_form": normal_form}) if as_json else normal_form)
        return
    if sys.stdin is None:
        raise UsageError("the standard input, where the events come from, is closed")
    output = sys.stdout.buffer
    for number, line, attributes in read_events(sys.stdin.buffer):
        if wanted.matches(attributes):
            output.write(json.dumps({"line": number, "event": attributes}).encode() + b"\n" if as_json else line)
    output.flush()


def read_events(lines: IO[bytes]) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Number (from 1), bytes and attributes of each line that is not blank; raises at the first that is no event."""
    from regraft.model.events import check_attributes

    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            members = json.loads(line.decode(), object_pairs_hook=_each_once)
        except UsageError as error:
            raise UsageError(f"line {number}: not an event: {error}") from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"line {number}: not a JSON object: {error}") from error
        except ValueError as error:  # more digits than Python turns into a number
            raise UsageError(f"line {number}: not an event: a number does not fit in 64 bits") from error
        except RecursionError as error:
            raise UsageError(f"line {number}: not an event: nested too deeply") from error
        if not isinstance(members, dict):
            raise UsageError(f"line {number}: not an event: a JSON object is expected")
        attributes = {name: value for name, value in members.items() if value is not None}
        if reason := check_attributes(attributes):
            raise UsageError(f"line {number}: not an event: {reason}")
        yield number, line if line.endswith(b"\n") else line + b"\n", attributes


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    attributes = dict(members)
    if len(attributes) < len(members):
        names = [name for name, _ in members]
        raise UsageError(f"attribute {next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return attributes

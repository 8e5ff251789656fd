"""`regraft pub`: publish what comes on the standard input, a line an event."""

import json
import sys
from typing import Annotated

import typer

from regraft.cli.match import read_events
from regraft.errors import UsageError

DEFAULT_URL = "regraft://127.0.0.1:4270"


def pub(
    broker: Annotated[str, typer.Option(metavar="URL", help="The broker.")] = DEFAULT_URL,
    name: Annotated[str, typer.Option(help="The publisher's name; by default one that is drawn.")] = "",
    payload: Annotated[str, typer.Option(help="A payload for every event, as text.")] = "",
    cloudevents: Annotated[bool, typer.Option("--cloudevents", help="Each line is a CloudEvent in JSON.")] = False,
    acknowledged: Annotated[
        bool,
        typer.Option("--acknowledged", help="Wait for each until nothing can lose it (docs/guide/sessions.md)."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help='At the end, print {"publisher": name, "events": count}.')
    ] = False,
) -> None:
    """Publish the events that come on the standard input.

    Each line is a JSON object whose members are an event's attributes. The command ends when the input has ended and
    the broker has all events.

    \b
    Example:
        echo '{"symbol": "IBM", "price": 120.5}' | regraft pub --broker regraft://127.0.0.1:4270
    """
    try:
        carried_by_each = payload.encode()
    except UnicodeEncodeError:
        raise UsageError("--payload: not Unicode text") from None
    import regraft
    from regraft.net.cloud import from_cloud_event

    count = 0
    with regraft.connect(broker, name) as bus:
        if not cloudevents:
            for _, _, attributes in read_events(sys.stdin.buffer):
                bus.publish(attributes, carried_by_each, acknowledged=acknowledged)
                count += 1
        else:
            for number, line in enumerate(sys.stdin.buffer, start=1):
                if not line.strip():
                    continue
                try:
                    attributes, carried = from_cloud_event(line)
                except UsageError as error:
                    raise UsageError(f"line {number}: {error}") from None
                bus.publish(attributes, carried or carried_by_each, acknowledged=acknowledged)
                count += 1
        bus.flush()
        if as_json:
            print(json.dumps({"publisher": bus.name, "events": count}))

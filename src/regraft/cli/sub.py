"""`regraft sub`: print the events that a filter matches, a line an event."""

import base64
import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from regraft.cli.pub import DEFAULT_URL
from regraft.errors import UsageError

if TYPE_CHECKING:
    from regraft.model.events import Event


def sub(
    filter_text: Annotated[str, typer.Argument(metavar="FILTER", help="A condition as in SQL's WHERE.")],
    broker: Annotated[str, typer.Option(metavar="URL", help="The broker.")] = DEFAULT_URL,
    name: Annotated[str, typer.Option(help="The client's name; by default one that is drawn.")] = "",
    count: Annotated[int, typer.Option(min=0, help="End after so many events; 0: go on.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help='Print {"event": identity, "attributes": …, "payload": base64}.')
    ] = False,
    cloudevents: Annotated[bool, typer.Option("--cloudevents", help="Print each as a CloudEvent in JSON.")] = False,
    durable: Annotated[
        bool, typer.Option("--durable", help="With a session of that name, which keeps what comes while we are away.")
    ] = False,
    came_from: Annotated[
        list[str] | None,
        typer.Option("--came-from", metavar="NAME@HOST:PORT", help="The broker that has the session; repeatable."),
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="End the session for good when the command ends.")] = False,
) -> None:
    """Subscribe, and print the events that come until Ctrl-C.

    Each line is a JSON object whose members are the event's attributes, as `regraft pub` and `regraft match` read it.
    When the subscription is in force, a line on the standard error says so.

    With --durable the broker keeps the subscription of that name, and on its disk what it is owed, also while the
    command does not run; the next one prints what was not printed yet (docs/guide/sessions.md). With --came-from it
    fetches the session from the broker where it was; of several the latest first.

    \b
    Example:
        regraft sub "price > 100 AND symbol IN ('IBM')" --broker regraft://127.0.0.1:4270
        regraft sub "price > 100" --durable --name desk-7
        regraft sub "price > 100" --durable --name desk-7 --came-from b2@127.0.0.1:4272
    """
    import regraft
    from regraft.model.filters import Filter
    from regraft.net.cloud import to_cloud_event

    if forget and not durable:
        raise UsageError("--forget ends a session; it needs --durable")
    Filter.parse(filter_text)  # what is no filter is refused before anybody is called
    output = sys.stdout.buffer
    left = count
    filters = [filter_text] if came_from else []
    with regraft.connect(broker, name, durable=durable, came_from=came_from or [], filters=filters) as bus:
        subscription = bus.subscribe(filter_text)
        print("in force", file=sys.stderr, flush=True)
        try:
            for event in subscription:
                line = to_cloud_event(event) if cloudevents else _line(event, as_json)
                output.write(line + b"\n")
                output.flush()
                left -= 1
                if left == 0:
                    return
        finally:
            if forget:
                bus.forget()


def _line(event: "Event", as_json: bool) -> bytes:
    if not as_json:
        return json.dumps(dict(event.attributes)).encode()
    payload = base64.b64encode(event.payload).decode()
    return json.dumps({"event": event.name, "attributes": dict(event.attributes), "payload": payload}).encode()

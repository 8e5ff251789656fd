"""CloudEvents in JSON, in and out (CloudEvents 1.0), by the package `cloudevents`.

| CloudEvent | event |
|---|---|
| `source`, `id`, and the extension `sequence` | the publisher, `publisher/sequence`, the sequence number |
| `type` | always `regraft.event` |
| `data`, an object | the attributes |
| the extension `payload`, in base64 | the payload, where there is one |

An event that is published gets its identity from the bus. What a CloudEvent that comes in says of its own, in
`source`, `id`, `type` and `time`, is not carried.
"""

import base64
import binascii
from typing import Any

from cloudevents.core.exceptions import BaseCloudEventException
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from regraft.errors import UsageError
from regraft.model.events import Event, check_attributes

TYPE = "regraft.event"


def to_cloud_event(event: Event) -> bytes:
    """One line of JSON, without its end."""
    attributes: dict[str, Any] = {
        "specversion": "1.0",
        "type": TYPE,
        "source": event.publisher,
        "id": event.name,
        "sequence": str(event.sequence),
        "datacontenttype": "application/json",
    }
    if event.payload:
        attributes["payload"] = base64.b64encode(event.payload).decode()
    return JSONFormat().write(CloudEvent(attributes, dict(event.attributes)))


def from_cloud_event(text: bytes) -> tuple[dict[str, Any], bytes]:
    """The attributes and the payload to publish; raises `UsageError`."""
    try:
        read = JSONFormat().read(None, text)
    except BaseCloudEventException as error:
        raise UsageError(f"not a CloudEvent: {error}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"not a CloudEvent in JSON: {error}") from None
    data = read.get_data()
    if not isinstance(data, dict):
        raise UsageError("not an event: `data` must be an object, whose members are the attributes")
    attributes = {name: value for name, value in data.items() if value is not None}
    if reason := check_attributes(attributes):
        raise UsageError(f"not an event: {reason}")
    try:
        return attributes, base64.b64decode(str(read.get_attributes().get("payload", "")), validate=True)
    except binascii.Error as error:
        raise UsageError(f"the extension `payload` is not base64: {error}") from None

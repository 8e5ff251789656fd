"""What brokers say to each other: one class a message, the same in memory, on the wire and in the trace.

`Event` itself is the data plane's only message. The control plane's messages name filters by their canonical text, so
that they mean the same to every broker. A message that a change of the topology caused names that change in
`reconfiguration`; it is empty where a client is the cause.
"""

import msgspec

from regraft.model.events import Event


class Subscribe(msgspec.Struct, frozen=True, tag="subscribe", gc=False):
    """The sender wants the events that satisfy any of these filters."""

    filters: tuple[str, ...]
    reconfiguration: str = ""


class Unsubscribe(msgspec.Struct, frozen=True, tag="unsubscribe", gc=False):
    """The sender no longer wants what only these filters asked for."""

    filters: tuple[str, ...]
    reconfiguration: str = ""


class Confirm(msgspec.Struct, frozen=True, tag="confirm", gc=False):
    """Tell me when every route towards me that `filter` needs is laid on your side of our link."""

    filter: str
    serial: int


class Confirmed(msgspec.Struct, frozen=True, tag="confirmed", gc=False):
    """The answer to the `Confirm` of that serial; `complete` is false where a link changed while the answer was gathered."""

    filter: str
    serial: int
    complete: bool


Control = Subscribe | Unsubscribe | Confirm | Confirmed
Message = Event | Control

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
    """Do you, and all beyond you, hold the routes towards me that these filters need? See `routing/confirmation.py`."""

    origin: str
    serial: int
    round: int
    filters: tuple[str, ...]


class Confirmed(msgspec.Struct, frozen=True, tag="confirmed", gc=False):
    """The answer; `complete` is false where a route is missing, or something changed since the first round."""

    origin: str
    serial: int
    round: int
    complete: bool


Control = Subscribe | Unsubscribe | Confirm | Confirmed
Message = Event | Control

"""Regraft: a content-based publish/subscribe network that is rewired while it runs, and loses nothing."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regraft.net.connecting import Connector

__version__ = "0.1.0"


def connect(
    url: str,
    name: str = "",
    *,
    durable: bool = False,
    came_from: "Sequence[str]" = (),
    filters: "Sequence[str]" = (),
    connect_within_s: float = 10.0,
) -> "Connector":
    """A connection to a live broker, such as `regraft://127.0.0.1:4270`; see `net/bus.py`.

    Use it with `async with` or, in a script, with `with`. The `name` tells this client from all others of the broker,
    and is the publisher's in the identity of its events; a client that gives none gets one that is drawn. One that is
    `durable` has a session of its name at the broker, which keeps what it is owed while it is away (`net/durable.py`).
    `came_from` and `filters` are for a durable client that was at another broker before, in another process.
    """
    from regraft.net.connecting import Connector

    return Connector(url, name, connect_within_s, durable, came_from, filters)

"""Where events may go that came from one neighbour: the table as the data plane reads it.

What an event satisfies is different for nearly every event, but where it goes is one of few: a set of neighbours and a
set of clients. So each such *route* is made once. A neighbour has a flag, and the sum of the flags of those that want
the event, beside what our own clients want of it, is the name of its route. An only client has a flag, too.

All this is worked out from the table as it is, and forgotten when the table may have changed; so it is no part of a
broker's state (`broker/snapshot.py`).
"""

from regraft.broker.effects import Route
from regraft.broker.routing.table import SubscriptionTable

ROUTES_MAX = 1_024
"""Brokers with many neighbours and filters have routes without number; the oldest are no better than the newest."""


class Ways:
    """`always` are the neighbours that get every event."""

    __slots__ = ("_always", "_client", "_flags", "_local", "_neighbours", "_routes", "_table")

    def __init__(self, table: SubscriptionTable, always: tuple[str, ...], came_from: str) -> None:
        self._table = table
        self._local = table.local
        self._neighbours = tuple(neighbour for neighbour in table.heard if neighbour != came_from)
        self._always = sum(1 << place for place, name in enumerate(self._neighbours) if name in always)
        self._flags = [
            (table.heard[name], 1 << place) for place, name in enumerate(self._neighbours) if name not in always
        ]
        self._client = 1 << len(self._neighbours) if len(table.clients) == 1 else 0  # the flag of an only client
        self._routes: dict[int | tuple[int, int], Route] = {}

    def route(self, matched: int) -> Route:
        """The route of an event that satisfies these filters."""
        goes_to = self._always
        for filters, flag in self._flags:
            if filters & matched:
                goes_to += flag
        wanted = self._local & matched
        name: int | tuple[int, int] = goes_to
        if wanted:
            name = goes_to + self._client if self._client else (goes_to, wanted)
        route = self._routes.get(name)
        if route is None:
            if len(self._routes) >= ROUTES_MAX:
                self._routes.clear()
            neighbours = tuple(name for place, name in enumerate(self._neighbours) if goes_to >> place & 1)
            clients = self._table.interested_clients(wanted)
            keeps = bool(self._table.kept) and any(client in self._table.kept for client in clients)
            route = self._routes[name] = Route(neighbours, clients, keeps)
        return route


class KnownWays(dict[str, Ways]):
    """What has been worked out since the table last changed, by where an event came from."""

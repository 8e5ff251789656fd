"""Three ways to spread subscriptions and events over a tree (mobile-chapter §2, Fig. 1).

| | a neighbour is told of | an event goes to |
|---|---|---|
| message | nothing | every neighbour |
| subscription | what we want for anyone but it | neighbours that asked for it |
| hierarchical | the same, if it is our parent | the parent, and children that asked for it |

Each is two answers: `wanted`, which filters each neighbour ought to be told, and `always`, the neighbours that get
every event. sem02 Fig. 8 as written sends an event once for each filter that it satisfies; here a neighbour gets
it once.

With *covering*, a neighbour is told only the filters that no other filter told to it covers, which depends on the
table alone and not on the order in which it came about. Of two filters that say the same, the one with the smaller
text stands for both.
"""

from typing import Protocol, assert_never

from regraft.broker.catalogue import FilterCatalogue
from regraft.broker.config import Forwarding
from regraft.broker.routing.table import SubscriptionTable


class ForwardingStrategy(Protocol):
    def wanted(self, table: SubscriptionTable, among: int) -> list[tuple[str, int]]:
        """For each neighbour, which filters of `among` it ought to be told now."""

    def always(self, table: SubscriptionTable) -> tuple[str, ...]:
        """The neighbours that get every event."""

    def carriers(self, table: SubscriptionTable, asker: str) -> list[str]:
        """The neighbours that must hold a route for a filter that came from `asker` (empty: from a client)."""

    def assign_parent(self, neighbour: str) -> None:
        """The overlay says which neighbour is nearer to the root."""


class MessageForwarding:
    """Subscriptions stay where they are, events go everywhere."""

    def wanted(self, table: SubscriptionTable, among: int) -> list[tuple[str, int]]:
        return [(neighbour, 0) for neighbour in table.heard]

    def always(self, table: SubscriptionTable) -> tuple[str, ...]:
        return tuple(table.heard)

    def carriers(self, table: SubscriptionTable, asker: str) -> list[str]:
        return []

    def assign_parent(self, neighbour: str) -> None:
        """Nothing depends on it."""


class SubscriptionForwarding:
    """A subscription goes everywhere, up to the brokers that already ask for the same; events follow it back."""

    def __init__(self, covering: FilterCatalogue | None = None) -> None:
        self._covering = covering

    def wanted(self, table: SubscriptionTable, among: int) -> list[tuple[str, int]]:
        once, twice = table.once_and_twice()
        if table.unasked:
            return self._wanted_now(table, among, once, twice)
        if self._covering is None:
            once &= among
            twice &= among
            return [(neighbour, (once & ~heard) | twice) for neighbour, heard in table.heard.items()]
        everything = [(neighbour, (once & ~heard) | twice) for neighbour, heard in table.heard.items()]
        return [(neighbour, self._covering.maximal(filters, among)) for neighbour, filters in everything]

    def _wanted_now(self, table: SubscriptionTable, among: int, once: int, twice: int) -> list[tuple[str, int]]:
        """As if nobody wanted, of each neighbour, what it must not be asked for yet."""
        wanted = []
        for neighbour, heard in table.heard.items():
            filters = ((once & ~heard) | twice) & ~table.unasked.get(neighbour, 0)
            now = filters & among if self._covering is None else self._covering.maximal(filters, among)
            wanted.append((neighbour, now))
        return wanted

    def always(self, table: SubscriptionTable) -> tuple[str, ...]:
        return ()

    def carriers(self, table: SubscriptionTable, asker: str) -> list[str]:
        return [neighbour for neighbour in table.heard if neighbour != asker]

    def assign_parent(self, neighbour: str) -> None:
        """Nothing depends on it."""


class HierarchicalForwarding(SubscriptionForwarding):
    """Subscriptions go up to the root; events go up to the root, and down where somebody asked."""

    def __init__(self, covering: FilterCatalogue | None = None) -> None:
        super().__init__(covering)
        self._parent = ""

    def wanted(self, table: SubscriptionTable, among: int) -> list[tuple[str, int]]:
        return [
            (neighbour, filters if neighbour == self._parent else 0)
            for neighbour, filters in super().wanted(table, among)
        ]

    def always(self, table: SubscriptionTable) -> tuple[str, ...]:
        return (self._parent,) if self._parent in table.heard else ()

    def carriers(self, table: SubscriptionTable, asker: str) -> list[str]:
        return [self._parent] if self._parent in table.heard and self._parent != asker else []

    def assign_parent(self, neighbour: str) -> None:
        self._parent = neighbour


def forwarding_strategy(name: Forwarding, catalogue: FilterCatalogue, *, covering: bool) -> ForwardingStrategy:
    match name:
        case "subscription":
            return SubscriptionForwarding(catalogue if covering else None)
        case "hierarchical":
            return HierarchicalForwarding(catalogue if covering else None)
        case "message":
            return MessageForwarding()
        case _:
            assert_never(name)

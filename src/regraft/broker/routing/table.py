"""The subscription table: what a broker has heard from each neighbour, and what it has told each.

A set of filters is an integer, bit for slot (see `matching/`). Everything that routing decides is arithmetic on four
kinds of such sets:

- `heard[n]`: the filters that neighbour `n` asked us for. An event that satisfies one goes to `n`.
- `local`: the filters of our own clients.
- `told[n]`: the filters that we asked `n` for. It equals `heard[us]` at `n`, once what is under way has arrived,
  because a link is FIFO and loses nothing while it lives; with the link, both vanish.
- `unasked[n]`: the filters that `n` must not be asked for yet; all of them (-1) while a new link to it waits to be
  activated. Few neighbours are in it, and none for long.

What a neighbour *ought* to be told follows from `heard` and `local` alone, so that subscribing, unsubscribing, a
broken link and a new one are one operation: change `heard` or `local`, then bring `told` to what it ought to be. The
protocols differ in *when* they let that happen, and for which filters.
"""

from regraft.matching import slots


class SubscriptionTable:
    """Plain data and the set arithmetic over it. It sends nothing."""

    def __init__(self) -> None:
        self.heard: dict[str, int] = {}
        self.told: dict[str, int] = {}
        self.unasked: dict[str, int] = {}
        self.local: int = 0
        self.subscribers: dict[int, dict[str, None]] = {}  # slot -> clients, in the order they came; no slot is empty
        self.clients: dict[str, int] = {}  # client -> its filters; none is 0
        self.kept: dict[str, None] = {}  # clients to which nothing is delivered now (broker/mobility/)

    def open(self, neighbour: str) -> None:
        self.heard[neighbour] = 0
        self.told[neighbour] = 0

    def fork(self) -> "SubscriptionTable":
        """Another table over the same clients; what it hears and tells is its own from now on."""
        other = SubscriptionTable()
        other.heard, other.told, other.unasked = dict(self.heard), dict(self.told), self.unasked
        other.local, other.subscribers, other.clients = self.local, self.subscribers, self.clients
        other.kept = self.kept
        return other

    def close(self, neighbour: str) -> int:
        """Forget the neighbour; returns what it had asked for."""
        del self.told[neighbour]
        self.unasked.pop(neighbour, None)
        return self.heard.pop(neighbour)

    def once_and_twice(self) -> tuple[int, int]:
        """The filters that come from anywhere, and those that come from two places or more.

        A broker is a *splitter* (icdcs03 §5.1) for the second set and for what its own clients want.
        """
        once = self.local
        twice = 0
        for filters in self.heard.values():
            twice |= once & filters
            once |= filters
        return once, twice

    def subscribe(self, client: str, slot: int) -> bool:
        """Returns whether this is new."""
        clients = self.subscribers.setdefault(slot, {})
        if client in clients:
            return False
        clients[client] = None
        self.clients[client] = self.clients.get(client, 0) | 1 << slot
        self.local |= 1 << slot
        return True

    def unsubscribe(self, client: str, slot: int) -> bool:
        """Returns whether the client had subscribed."""
        clients = self.subscribers.get(slot, {})
        if client not in clients:
            return False
        del clients[client]
        remaining = self.clients[client] & ~(1 << slot)
        if remaining:
            self.clients[client] = remaining
        else:
            del self.clients[client]
        if not clients:
            del self.subscribers[slot]
            self.local &= ~(1 << slot)
        return True

    def interested_clients(self, matched: int) -> tuple[str, ...]:
        """The clients that want an event which satisfies `matched`; each once, by name, whatever the slots' numbers."""
        wanted = self.local & matched
        if not wanted:
            return ()
        if wanted & (wanted - 1) == 0:
            found = self.subscribers[wanted.bit_length() - 1]
        else:
            found = {}
            for slot in slots(wanted):
                found.update(self.subscribers[slot])
        return tuple(sorted(found)) if len(found) > 1 else tuple(found)

    def in_use(self) -> int:
        """Every filter that any part of the table speaks of."""
        used = self.local
        for filters in self.heard.values():
            used |= filters
        for filters in self.told.values():
            used |= filters
        for filters in self.unasked.values():
            used |= max(filters, 0)
        return used

    def check(self) -> None:
        assert self.heard.keys() == self.told.keys()
        assert all(neighbour in self.heard for neighbour in self.unasked)
        local = 0
        for slot, clients in self.subscribers.items():
            assert clients
            local |= 1 << slot
            for client in clients:
                assert self.clients[client] >> slot & 1
        assert local == self.local
        assert sum(f.bit_count() for f in self.clients.values()) == sum(len(c) for c in self.subscribers.values())

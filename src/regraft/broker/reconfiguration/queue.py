"""What waits behind the new link of an exchange (debs06, Q_not and Q_sub), and for how long it has."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

Waiting = TypeVar("Waiting")


@dataclass(slots=True)
class Queue(Generic[Waiting]):
    """First in, first out, all at once. Its bound is its owner's: only that one knows what to do when it is full."""

    items: list[Waiting] = field(default_factory=list)
    since_ns: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.items)

    def put(self, now_ns: int, item: Waiting) -> None:
        self.items.append(item)
        self.since_ns.append(now_ns)

    def take_all(self, now_ns: int) -> tuple[list[Waiting], int]:
        """What has waited, in order, and how long all of it together."""
        items, waited_ns = self.items, now_ns * len(self.items) - sum(self.since_ns)
        self.items, self.since_ns = [], []
        return items, waited_ns

"""A broker's place on the cycle of an exchange, and how far it has come with its part in it.

A link that goes, R1-R2, and one that comes, A1-A2, form a cycle with the paths between their ends: R1 … A1, A2 … R2. It
is written from R1 on; `near` says how many of it are on R1's side. Of each side, *inward* is towards the new link and
*outward* towards the old one.
"""

from dataclasses import dataclass, field

from regraft.broker.messages import Control, Graft, Lock
from regraft.broker.reconfiguration.queue import Queue
from regraft.model.events import Event


@dataclass(slots=True)
class Place:
    cycle: tuple[str, ...]
    near: int
    position: int

    @property
    def previous(self) -> str:
        return self.cycle[self.position - 1]

    @property
    def following(self) -> str:
        return self.cycle[(self.position + 1) % len(self.cycle)]

    @property
    def inward(self) -> str:
        return self.following if self.position < self.near else self.previous

    @property
    def outward(self) -> str:
        return self.previous if self.position < self.near else self.following

    @property
    def is_first(self) -> bool:
        return self.position == 0

    @property
    def is_old_end(self) -> bool:
        return self.position in (0, len(self.cycle) - 1)

    @property
    def is_new_end(self) -> bool:
        return self.position in (self.near - 1, self.near)


def is_way(brokers: tuple[str, ...], near: int) -> bool:
    """Whether these can lead from the one end of a lost link to the other, by way of a new one."""
    return len(brokers) >= 2 and len(dict.fromkeys(brokers)) == len(brokers) and 1 <= near < len(brokers)


def is_cycle(cycle: tuple[str, ...], near: int) -> bool:
    """Whether these can be the brokers of an exchange; two links between the same two are none."""
    return len(cycle) >= 3 and is_way(cycle, near)


@dataclass(slots=True)
class Part(Place):
    """This broker's part in the exchange that it is locked for."""

    lock: Lock
    clean: bool = False  # our side's stale routes are withdrawn up to us; at a new end, the new link is in the new tree
    laid: bool = False  # a new end: the other has told us all, before we were clean
    gray: bool = False
    crossed: bool = False  # an old end: our side's separator has gone over the old link
    other: bool = False  # the other side's separator has come
    returned: bool = False  # a new end: our own has come back from the old link
    anew: bool = False  # a new end: what the other end asks for is not what we took it for; it says everything anew
    open: bool = False  # a new end: Q_not holds nothing back any more
    grafts: list[Graft] = field(default_factory=list)  # so far; the last is still to come
    controls: Queue[Control] = field(default_factory=Queue)  # Q_sub
    events: Queue[Event] = field(default_factory=Queue)  # Q_not

    @property
    def exchange(self) -> str:
        return self.lock.exchange

    @property
    def is_grafted(self) -> bool:
        return self.lock.routes == "grafted"

"""`informed`: the ends of the lost link tell the ends of the new one what must not cross it (mobile-chapter §5.2).

The lost link R1-R2, the new one A1-A2, R1 and A1 in one part of the tree, R2 and A2 in the other. After the break, as
under `deferred`, R1 withholds what R2 had asked for, so that what R1 had asked for it elsewhere still stands: at A1,
filters that led only to the lost link look like any others, and `deferred` offers them to A2, whose side then lays
routes to them that lead nowhere and are withdrawn again. Here the overlay manager tells R1 who A1 is, and:

- R1 sends A1 directly (`Informed`) what R2 had asked for, less what others of its neighbours or clients still want.
- Until that comes, A1 asks A2 for nothing; from then on, for all that it wants but these, each until it is withdrawn.
- What A2 asks for spreads by ordinary subscriptions, on the path and where somebody really did not know. When it
  reaches R1, R1 takes back what is now wanted elsewhere only: a filter that has come back need wait no longer.

The same for R2 and A2. No broker needs to know the path, and none but these four knows of the reconfiguration.

**Promise**: exact tables in the end, whatever breaks or overlaps. All that is kept back is kept back for a time: a new
link that hears nothing is silent for `announced_within_ns`; what A1 does not ask for, and what R1 withholds, waits
`withdraw_after_ns` more at the most. So what the overlay manager, or a direct message, gets wrong makes it `deferred`.

What the chapter leaves open (it has one paragraph): which message goes where, that only the difference is sent, and
when the old ends may withdraw.
"""

from typing import Protocol

from regraft.broker.effects import CancelTimer, Effect, PeerMisbehaved, SendDirect, SetTimer
from regraft.broker.messages import Informed as InformedMessage

TIMER_PREFIX = "informed:"


class Host(Protocol):
    """What the protocol asks of its broker. A set of filters is an integer."""

    def emit(self, effect: Effect) -> None: ...
    def texts(self, filters: int) -> tuple[str, ...]: ...
    def known(self, texts: tuple[str, ...]) -> int: ...
    def wanted_here(self) -> int: ...
    def announced(self, reconfiguration: str) -> str: ...
    def ask_for_all_but(self, neighbour: str, filters: int, reconfiguration: str) -> None: ...
    def take_over(self, reconfiguration: str) -> int: ...
    def settle(self, changed: int, reconfiguration: str, apart: str = "") -> int: ...


class Informed:
    """An old end's part; what a new end does not ask for is in the table."""

    def __init__(self, name: str, host: Host, *, wait_ns: int) -> None:
        self._name = name
        self._host = host
        self._wait_ns = wait_ns
        self._old_ends: dict[str, int] = {}  # reconfiguration -> what the lost link had asked for and is not back

    @property
    def withheld(self) -> int:
        union = 0
        for filters in self._old_ends.values():
            union |= filters
        return union

    def found(self, reconfiguration: str, new_end: str) -> None:
        host = self._host
        filters = host.take_over(reconfiguration)
        stale = filters & ~host.wanted_here()
        if filters:
            self._old_ends[reconfiguration] = filters
            host.emit(SetTimer(TIMER_PREFIX + reconfiguration, self._wait_ns))
        if new_end == self._name:
            self._informed(reconfiguration, stale)
        else:
            host.emit(SendDirect(new_end, InformedMessage(reconfiguration, host.texts(stale))))

    def told_by(self, broker: str, message: InformedMessage) -> None:
        if broker not in message.reconfiguration.partition("#")[0].split("-"):
            self._host.emit(PeerMisbehaved(broker, "it informs of a link that it was no end of"))
            return
        self._informed(message.reconfiguration, self._host.known(message.stale))

    def _informed(self, reconfiguration: str, stale: int) -> None:
        neighbour = self._host.announced(reconfiguration)
        if neighbour:  # else it comes too late
            self._host.ask_for_all_but(neighbour, stale, reconfiguration)

    def came_back(self, filters: int) -> int:
        """A neighbour asks for these; returns those that were withheld, and are no more."""
        back = 0
        for reconfiguration, waiting in list(self._old_ends.items()):
            if waiting & filters:
                back |= waiting & filters
                self._keep(reconfiguration, waiting & ~filters)
        return back

    def _keep(self, reconfiguration: str, filters: int) -> None:
        if filters:
            self._old_ends[reconfiguration] = filters
        else:
            del self._old_ends[reconfiguration]
            self._host.emit(CancelTimer(TIMER_PREFIX + reconfiguration))

    def timer_fired(self, name: str) -> None:
        reconfiguration = name.removeprefix(TIMER_PREFIX)
        self._host.settle(self._old_ends.pop(reconfiguration, 0), reconfiguration)

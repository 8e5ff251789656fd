"""`path`: a message along the reconfiguration path moves the routes of the lost link (sem02 §4.4-4.5, App. A).

The lost link R1-R2, the new one A1-A2 and the ways between their ends make a path R1 … A1, A2 … R2: *head*, new link,
*tail*. No other broker's table changes. Where the overlay manager knows the path, it tells R2 and then R1. Then:

- **Head.** R1 takes what R2 had asked for, P_add, as asked by the next broker on the path. What it therefore no longer
  wants from that broker is P_del. RECMSG (`Reroute`) carries both; the next broker does the same, until A1.
- **New link.** Until RECMSG comes, A1 and A2 tell each other nothing (`unasked`). A1 tells A2 all that it wants, as
  over any new link, and then RECMSG. P_add counts as told by A2, which says only what is not so any more.
- **Tail.** What A1 said spreads by ordinary subscriptions, along the tail alone where nothing else has changed. RECMSG
  follows them, empty. R2 then takes back what it had asked for R1's sake.

In terms of the table (`routing/table.py`): RECMSG edits `heard` at its sender and `told` at its receiver by the same
set, without a word from the one who is taken to have asked. Between the two edits the receiver may take back, not
knowing, what it is taken to ask for; the sender does not listen to that until the receiver has answered CTRLMSG
(`Rerouted`): the ignore table. P_del is `told` less what is wanted, as ever, said in the same message so that the
receiver moves a route and never lacks it. With covering nothing changes: `told` is what was told.

**Promise**: exact tables in the end, whatever breaks. Each RECMSG leaves both ends of its link agreed on what was
asked; each broker settles what it has; so wherever the message stops, the tables are right for the tree as soon as
nothing is withheld any more. Who cannot pass it on (the next link is gone, the broker is locked for an exchange, too
many are under way) withholds P_add as `deferred` does. A1 and A2, which wait for it, speak without it after
`announced_within_ns`; R2 waits `withdraw_after_ns` longer. So two paths that cross need no order: each step of either
is whole.

Where we depart from the paper: (1) every RECMSG is answered. On the tail the answer comes from its end, and until then
A2 does not ask A1 for what A1 asks for and P_add does not name: such filters led only to the old link, and the paper
subscribes them across A1's side to have them withdrawn again. (2) Until RECMSG reaches it, R2 withholds as `deferred`
does instead of keeping the entries. (3) What makes the message stop for ever in the paper makes it `deferred` here.
"""

from dataclasses import dataclass
from typing import Protocol

from regraft.broker.effects import CancelTimer, CloseLink, Effect, PeerMisbehaved, Send, SetTimer
from regraft.broker.messages import Reroute, Rerouted
from regraft.broker.reconfiguration.cycle import Place, is_way

TIMER_PREFIX = "path:"


class Host(Protocol):
    """What the protocol asks of its broker. A set of filters is an integer."""

    def emit(self, effect: Effect) -> None: ...
    def texts(self, filters: int) -> tuple[str, ...]: ...
    def hold(self, texts: tuple[str, ...], neighbour: str) -> int: ...
    def known(self, texts: tuple[str, ...]) -> int: ...
    def has_room_for(self, texts: tuple[str, ...]) -> bool: ...
    def can_pass_on(self, neighbour: str) -> bool: ...
    def take_as_asked(self, neighbour: str, filters: int) -> None: ...
    def take_as_told(self, neighbour: str, filters: int) -> None: ...
    def take_as_taken_back(self, neighbour: str, filters: int) -> int: ...
    def ask_for_all(self, neighbour: str) -> None: ...
    def ask_not_yet_beyond(self, neighbour: str, filters: int, reconfiguration: str) -> None: ...
    def take_over(self, reconfiguration: str) -> int: ...
    def withhold(self, reconfiguration: str, filters: int) -> None: ...
    def settle(self, changed: int, reconfiguration: str, apart: str = "") -> int: ...


@dataclass(frozen=True, slots=True)
class Behind:
    """On the tail: who is to be answered when all beyond us are done."""

    neighbour: str
    is_new_end: bool


ALL = -1


class Path:
    """All that is kept is kept for a RECMSG that was sent, or that is waited for."""

    def __init__(self, name: str, host: Host, *, wait_ns: int, sent_max: int) -> None:
        self._name = name
        self._host = host
        self._wait_ns = wait_ns
        self._sent_max = sent_max
        self._sent: dict[tuple[str, str], int] = {}  # (reconfiguration, to whom) -> P_add, until it is answered
        self._behind: dict[str, Behind] = {}  # reconfiguration -> ; there is a `_sent` for each
        self._old_ends: dict[str, int] = {}  # reconfiguration -> what R2, until RECMSG comes, does not take back

    @property
    def withheld(self) -> int:
        union = 0
        for filters in self._old_ends.values():
            union |= filters
        return union

    def ignored(self, neighbour: str) -> int:
        """The ignore table: what this neighbour cannot take back, as it may not know that it has asked for it."""
        union = 0
        for (_, receiver), filters in self._sent.items():
            if receiver == neighbour:
                union |= filters
        return union

    # --- the old ends

    def found(self, reconfiguration: str, way: tuple[str, ...], near: int) -> None:
        assert is_way(way, near), "the world announced a path that is none"
        filters = self._host.take_over(reconfiguration)
        if self._name == way[0]:
            self._pass_on(reconfiguration, Place(way, near, 0), filters, filters)
            return
        assert self._name == way[-1], "the world announced a path to a broker that is no end of it"
        self._old_ends[reconfiguration] = filters
        self._host.emit(SetTimer(TIMER_PREFIX + reconfiguration, self._wait_ns))

    def timer_fired(self, name: str) -> None:
        """R2 has waited long enough."""
        reconfiguration = name.removeprefix(TIMER_PREFIX)
        self._host.settle(self._old_ends.pop(reconfiguration, 0), reconfiguration)

    # --- RECMSG

    def rerouted_by(self, neighbour: str, message: Reroute) -> None:
        way, near, host = message.way, message.near, self._host
        position = way.index(self._name) if self._name in way else 0
        if not is_way(way, near) or position == 0 or way[position - 1] != neighbour:
            self._out_of_turn(neighbour, "a recmsg along a path that we are not the next on")
            return
        if not host.has_room_for(message.added):
            self._out_of_turn(neighbour, "a recmsg of too many filters")
            return
        place = Place(way, near, position)
        if any(reconfiguration == message.reconfiguration for reconfiguration, _ in self._sent):
            self._out_of_turn(neighbour, "a recmsg that came already")
            return
        added = host.hold(message.added, neighbour)
        host.take_as_told(neighbour, added)
        gone = host.take_as_taken_back(neighbour, host.known(message.removed) & ~self.ignored(neighbour))
        if position < near:
            host.emit(Send(neighbour, Rerouted(message.reconfiguration)))
            self._pass_on(message.reconfiguration, place, added, added | gone)
        else:
            self._pass_on_tail(message, place, added, added | gone)

    def _pass_on(self, reconfiguration: str, place: Place, added: int, changed: int) -> None:
        """On the head, A1 included."""
        host, neighbour = self._host, place.following
        if not host.can_pass_on(neighbour) or len(self._sent) >= self._sent_max:
            host.withhold(reconfiguration, added)
            host.settle(changed, reconfiguration)
            return
        host.take_as_asked(neighbour, added)
        self._sent[reconfiguration, neighbour] = added
        if place.position == place.near - 1:
            host.ask_for_all(neighbour)
            changed = ALL
        removed = host.texts(host.settle(changed, reconfiguration, apart=neighbour))
        host.emit(Send(neighbour, Reroute(reconfiguration, host.texts(added), removed, place.cycle, place.near)))

    def _pass_on_tail(self, message: Reroute, place: Place, added: int, changed: int) -> None:
        """On the tail, A2 and R2 included; what came before RECMSG has gone ahead."""
        host, previous, reconfiguration = self._host, place.previous, message.reconfiguration
        is_new_end, is_last = place.position == place.near, place.position == len(place.cycle) - 1
        goes_on = not is_last and host.can_pass_on(place.following) and len(self._sent) < self._sent_max
        if is_last and reconfiguration in self._old_ends:
            changed |= self._old_ends.pop(reconfiguration)
            host.emit(CancelTimer(TIMER_PREFIX + reconfiguration))
        if is_new_end:
            changed = ALL
            if goes_on:
                host.ask_not_yet_beyond(previous, added, reconfiguration)
            else:
                host.ask_for_all(previous)
        if is_new_end:  # first, as A1 does not listen to what we take back until then
            host.emit(Send(previous, Rerouted(reconfiguration)))
        host.settle(changed, reconfiguration)
        if not goes_on and not is_new_end:  # last, as it says that all is taken back
            host.emit(Send(previous, Rerouted(reconfiguration)))
        if goes_on:
            self._sent[reconfiguration, place.following] = 0
            self._behind[reconfiguration] = Behind(previous, is_new_end)
            host.emit(Send(place.following, Reroute(reconfiguration, (), (), place.cycle, place.near)))

    # --- CTRLMSG

    def answered(self, neighbour: str, message: Rerouted) -> None:
        if self._sent.pop((message.reconfiguration, neighbour), None) is None:
            self._out_of_turn(neighbour, "a ctrlmsg that answers nothing")
        else:
            self._done_beyond(message.reconfiguration)

    def _done_beyond(self, reconfiguration: str) -> None:
        """All of the tail beyond us has taken back what only the old link needed, or cannot be waited for."""
        behind = self._behind.pop(reconfiguration, None)
        if behind is None:
            return
        if behind.is_new_end:
            self._host.ask_for_all(behind.neighbour)
            self._host.settle(ALL, reconfiguration)
        else:
            self._host.emit(Send(behind.neighbour, Rerouted(reconfiguration)))

    def link_lost(self, neighbour: str) -> None:
        for key, behind in list(self._behind.items()):
            if behind.neighbour == neighbour:
                del self._behind[key]
        for reconfiguration, receiver in list(self._sent):
            if receiver == neighbour:
                del self._sent[reconfiguration, receiver]
                self._done_beyond(reconfiguration)

    def _out_of_turn(self, neighbour: str, reason: str) -> None:
        self._host.emit(PeerMisbehaved(neighbour, reason))
        self._host.emit(CloseLink(neighbour, reason))

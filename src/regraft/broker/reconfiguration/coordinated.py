"""`coordinated`: a link is exchanged for another while events flow; nothing is lost, repeated or reordered (debs06).

Promises, of a planned exchange that no failure interrupts: every event that is owed is delivered once; each publisher's
events in order (`fifo`), or all in causal order (`causal`); the tables are exact at the end; and a subscription or
unsubscription made meanwhile counts as at any other time. An exchange that a failure interrupts leaves no lock behind,
and tables that are exact once the tree is repaired.

On the cycle R1 … A1, A2 … R2 (`cycle.py`) the link R1-R2 goes and A1-A2 comes. The steps, as signals:

1. **lock** runs round the cycle; whoever is locked already answers `busy`, whom the tree does not fit `stale`, which
   runs back and frees; R1 tries again after a time that doubles and varies. A locked broker keeps a second table, for
   the tree to come, and settles both from now on (`routing/settlement.py`). R2, the last, answers `locked` to R1.
2. **Phase 1** (`first_phase.py`) makes the tables of the tree to come, from R1 and R2 inward, up to A1 and A2. What
   comes over the new link before its end has them waits in Q_sub.
3. **Phase 2.** A1, to whom A2's routes are laid, turns from black to gray and sends its side's `separator` outward;
   every broker turns gray as it passes. An event takes the colour of the first broker on the cycle that it comes to:
   black ones travel by the tree before, gray ones by the tree to come, each of them a tree. At R1 the separator
   crosses the old link, behind the last black event, and runs inward on the other side to A2. The same from A2.
   What is gray waits behind the new link in Q_not: for `fifo` until the other side's separator has come, for
   `causal` also until the own one has come back (`returned`) from the old link.
4. R1, across which both separators have gone, tells R2 (`drained`), and `unlock` runs inward on both sides: the tree
   to come is the tree. R2 closes the old link.

Where we depart from the paper (docs/protocols/coordinated.md): a table for each tree instead of one for both. So
(un)subscriptions need no colours, as each tree settles like any other; the withdrawals come first, where no event
travels yet; and A1 learns from A2 over the new link what R1 would send it.

A participant that loses a link of the cycle *aborts*: it forgets the tree to come, and tells its neighbours on the
cycle everything anew, after `abort`, which says: forget what I asked for. They do the same, and answer `anew`.

What comes out of turn, a step that cannot be the next, is reported, and the link that it came over is closed.
"""

from typing import Literal

from regraft.broker.effects import (
    CloseLink,
    ExchangeOutcome,
    OpenLink,
    PeerMisbehaved,
    Released,
    Send,
)
from regraft.broker.inputs import ExchangeOrdered
from regraft.broker.messages import (
    Compare,
    Control,
    Graft,
    Lock,
    Membership,
    Signal,
    SignalStep,
    Subscribe,
    Unsubscribe,
)
from regraft.broker.reconfiguration.cycle import Part, Place, is_cycle
from regraft.broker.reconfiguration.first_phase import FirstPhase
from regraft.broker.reconfiguration.host import Host
from regraft.broker.reconfiguration.orders import TIMER_PREFIX, Orders
from regraft.broker.reconfiguration.queue import Queue, Waiting
from regraft.model.events import Event


class Coordinated:
    """One exchange at a time; what is ordered meanwhile waits and tries again."""

    def __init__(self, name: str, host: Host, *, retry_after_ns: int, attempts_max: int, held_max: int) -> None:
        self.part: Part | None = None
        self._name = name
        self._host = host
        self._held_max = held_max
        self._tables = FirstPhase(self, host, held_max)
        self._orders = Orders(name, host, retry_after_ns=retry_after_ns, attempts_max=attempts_max)
        self.opened: dict[str, str] = {}  # neighbour -> exchange: links that are there but of no tree yet
        self.retired: dict[str, str] = {}  # neighbour -> exchange: links that are still there but of no tree any more
        self._asked: dict[tuple[str, str], None] = {}  # (neighbour, exchange): links that we wait for
        self.anew: dict[tuple[str, str], None] = {}  # (exchange, neighbour): we said `abort` and wait for theirs

    # --- lock

    def ordered(self, order: ExchangeOrdered) -> None:
        self._orders.add(order)
        self._try(order.exchange)

    def timer_fired(self, name: str) -> bool:
        """Whether it was one of ours."""
        exchange = name.removeprefix(TIMER_PREFIX)
        if self._orders.get(exchange) is not None:
            self._try(exchange)
        return name.startswith(TIMER_PREFIX)

    def _try(self, exchange: str) -> None:
        order = self._orders.get(exchange)
        assert order is not None
        lock = Lock(exchange, order.cycle, order.near, order.order, order.routes)
        if not is_cycle(lock.cycle, lock.near) or lock.cycle[0] != self._name or not self._fits(lock, 0):
            self._orders.ended(exchange, "stale")
        elif self.part is not None or not self._host.is_member():
            self._orders.try_later(exchange)
        else:
            self._take_part(lock, 0)

    def _fits(self, lock: Lock, position: int) -> bool:
        """Whether the tree as we know it is the one that the exchange was made for."""
        place = Place(lock.cycle, lock.near, position)
        has_previous = position == lock.near or self._host.has_link(place.previous)
        is_a1 = position == lock.near - 1
        return has_previous and self._host.has_link(place.following) != is_a1

    def _take_part(self, lock: Lock, position: int) -> None:
        part = self.part = Part(lock.cycle, lock.near, position, lock)
        part.open = lock.order == "none"
        shared = [neighbour for neighbour in (part.previous, part.following) if self._is_shared(part, neighbour)]
        self._host.fork(lock.exchange, tuple(shared))
        if position == len(lock.cycle) - 1:
            self.say(part.following, "locked")
            self._tables.leave(part)
        elif position == lock.near - 1:
            self._asked[part.following, lock.exchange] = None
            self._host.emit(OpenLink(part.following, lock.exchange))
        else:
            self._host.emit(Send(part.following, lock))

    def _is_shared(self, part: Part, neighbour: str) -> bool:
        """Whether the link to this neighbour on the cycle is of both trees."""
        new = part.is_new_end and neighbour == part.inward
        old = part.is_old_end and neighbour == part.outward
        return not new and not old

    def received(self, neighbour: str, message: Lock | Graft | Compare | Signal) -> None:
        match message:
            case Lock():
                self._lock(neighbour, message)
            case Graft():
                self._tables.graft(self.part, neighbour, message)
            case Compare():
                self._tables.compare(self.part, neighbour, message)
            case Signal():
                self._signal(neighbour, message)

    def _lock(self, neighbour: str, lock: Lock) -> None:
        cycle = lock.cycle
        position = cycle.index(self._name) if self._name in cycle else 0
        is_none = not is_cycle(cycle, lock.near) or position == 0 or cycle[position - 1] != neighbour
        # A2 is asked over the new link, everybody else over one of the tree.
        if is_none or (position == lock.near) != (self.opened.get(neighbour) == lock.exchange):
            self.out_of_turn(neighbour, "a lock for an exchange that is none")
        elif self.part is not None or not self._host.is_member():
            self._host.emit(Send(neighbour, Signal(lock.exchange, "busy")))
        elif not self._fits(lock, position):
            self._host.emit(Send(neighbour, Signal(lock.exchange, "stale")))
        else:
            self._take_part(lock, position)

    def link_up(self, neighbour: str, exchange: str) -> None:
        """The link that was opened for an exchange; for who asked and has given up since, it comes too late."""
        self.opened[neighbour] = exchange
        if (neighbour, exchange) not in self._asked:
            return
        del self._asked[neighbour, exchange]
        part = self.part
        if part is not None and part.exchange == exchange:
            self._host.emit(Send(neighbour, part.lock))
        else:
            self._close_new(neighbour, exchange)

    def link_refused(self, neighbour: str, exchange: str) -> None:
        self._asked.pop((neighbour, exchange), None)
        part = self.part
        if part is not None and part.exchange == exchange and part.following == neighbour:
            self._not_locked(part, "busy")

    def _not_locked(self, part: Part, step: ExchangeOutcome) -> None:
        """Somebody further on cannot take part: back to where the lock came from."""
        self.part = None
        self._host.drop()
        if part.position == part.lock.near - 1:
            self._close_new(part.inward, part.exchange)
        if not part.is_first:
            self._host.emit(Send(part.previous, Signal(part.exchange, "stale" if step == "stale" else "busy")))
        elif step == "stale":
            self._orders.ended(part.exchange, "stale")
        else:
            self._orders.try_later(part.exchange)
        self._host.unlock()

    def _close_new(self, neighbour: str, exchange: str) -> None:
        if self.opened.get(neighbour) == exchange:
            del self.opened[neighbour]
            self._host.emit(CloseLink(neighbour, f"exchange {exchange} did not come about"))

    # --- signals

    def _signal(self, neighbour: str, signal: Signal) -> None:
        if signal.step in ("abort", "anew"):
            self._told_to_begin_anew(neighbour, signal)
            return
        part = self.part
        if part is None or part.exchange != signal.exchange:
            return  # of an exchange that is over for us
        match signal.step:
            case "busy" | "stale" if neighbour == part.following and part.clean:
                self.abort(part, None)  # somebody said that all are locked, and they are not
            case ("busy" | "stale") as step if neighbour == part.following:
                self._not_locked(part, step)
            case "locked" if part.is_first and neighbour == part.outward and not part.clean:
                self._tables.leave(part)
            case "clean" | "laid" | "unlike" if signal.step == "unlike" or not part.gray:
                self._tables.signal(part, neighbour, signal)
            case "separator" if not part.is_new_end and neighbour == part.inward and not part.gray:
                self.turn_gray(part)
            case "separator" if neighbour == part.outward and not part.other:
                self._other_separator(part)
            case "returned" if not part.is_old_end and neighbour == part.outward and not part.returned:
                self._returned(part)
            case "drained" if part.crossed and part.other and neighbour == part.outward and not part.is_first:
                self._finish(part)
                self._host.emit(CloseLink(part.outward, "replaced", part.exchange))
            case "unlock" if not part.is_old_end and neighbour == part.outward and part.gray and part.other:
                self._finish(part)
            case _:
                self.out_of_turn(neighbour, f"{signal.step} out of turn")

    def say(self, neighbour: str, step: SignalStep) -> None:
        assert self.part is not None
        self._host.emit(Send(neighbour, Signal(self.part.exchange, step)))

    def new_link_is_open(self, part: Part) -> bool:
        return self.opened.get(part.inward) == part.exchange

    def holds(self, neighbour: str, message: Control) -> bool:
        """Q_sub: whether this is kept until our side is clean and the other end has said all; or until the exchange is
        over for us, too."""
        part = self.part
        if part is None or not part.is_new_end or neighbour != part.inward or neighbour not in self.opened:
            return False
        early = isinstance(message, Subscribe | Unsubscribe) and (part.anew or not part.clean)
        if not early and not isinstance(message, Membership):
            return False
        if len(part.controls) >= self._held_max:
            self.abort(part, None)
        else:
            part.controls.put(self._host.now_ns(), message)
        return True

    def turn_gray(self, part: Part) -> None:
        part.gray = True
        self.say(part.outward, "separator")
        if not part.is_old_end:
            return
        part.crossed = True
        self._returned(part)
        self._old_link_drained(part)

    def _returned(self, part: Part) -> None:
        part.returned = True
        if part.is_new_end:
            self._release(part)
        elif part.lock.order == "causal":
            self.say(part.inward, "returned")

    def _other_separator(self, part: Part) -> None:
        part.other = True
        if part.is_new_end:
            self._release(part)
        else:
            self.say(part.inward, "separator")
        if part.is_old_end:
            self._old_link_drained(part)

    def _old_link_drained(self, part: Part) -> None:
        if part.is_first and part.crossed and part.other:
            self.say(part.outward, "drained")
            self._finish(part)

    def _finish(self, part: Part) -> None:
        if not part.is_new_end:
            self.say(part.inward, "unlock")
        else:
            self.opened.pop(part.inward, None)
        if part.is_old_end:
            self.retired[part.outward] = part.exchange
        self.part = None
        self._host.adopt()
        for message in self.released(part, "control", part.controls):
            self._host.process(part.inward, message)

    # --- events

    def is_gray(self, came_from: str, exchange: str) -> bool:
        """The colour of an event that came from there, as `Gray` of that exchange or (empty) as it is."""
        part = self.part
        assert part is not None
        if exchange == part.exchange or (part.is_new_end and came_from == part.inward):
            return True
        return part.gray and came_from not in (part.inward, part.outward)

    def held_back(self, event: Event, came_from: str) -> bool:
        """Q_not: whether the event is kept. When the queue is full, order is given up rather than an event."""
        part = self.part
        if part is None or part.open or not part.is_new_end or came_from != part.inward:
            return False
        part.events.put(self._host.now_ns(), event)
        if len(part.events) >= self._held_max:
            self._let_go(part)
        return True

    def _release(self, part: Part) -> None:
        if not part.open and part.other and (part.returned or part.lock.order == "fifo"):
            self._let_go(part)

    def _let_go(self, part: Part) -> None:
        part.open = True
        for event in self.released(part, "event", part.events):
            self._host.route_gray(event, part.inward)

    def released(self, part: Part, name: Literal["event", "control"], queue: Queue[Waiting]) -> list[Waiting]:
        items, waited_ns = queue.take_all(self._host.now_ns())
        if items:
            self._host.emit(Released(part.inward, part.exchange, name, len(items), waited_ns))
        return items

    # --- what goes wrong

    def link_lost(self, neighbour: str, *, is_of_tree: bool) -> None:
        """The broker has forgotten what it heard from there, and has told nobody yet."""
        for key in [key for key in self.anew if key[1] == neighbour]:
            del self.anew[key]
        opened = self.opened.pop(neighbour, None)
        exchange = self.retired.pop(neighbour, None)
        part = self.part
        if exchange is not None:
            self._orders.ended(exchange, "done")
        elif (
            part is not None
            and neighbour in (part.previous, part.following)
            and (
                opened == part.exchange or is_of_tree  # else it is left of an earlier link
            )
        ):
            self.abort(part, neighbour)

    def abort(self, part: Part, lost: str | None) -> None:
        """Back to the tree before. The neighbours on the cycle may have got further: begin anew with them."""
        self._let_go(part)
        self.part = None
        self._host.drop()
        if part.is_new_end:
            self._close_new(part.inward, part.exchange)
        for neighbour in (part.previous, part.following):
            if neighbour != lost and self._host.has_link(neighbour):
                self.anew[part.exchange, neighbour] = None
                self._host.tell_all(neighbour, Signal(part.exchange, "abort"))
        self._host.unlock()
        self._orders.ended(part.exchange, "aborted")

    def _told_to_begin_anew(self, neighbour: str, signal: Signal) -> None:
        """`abort` asks for the same in return, which `anew` is."""
        exchange = signal.exchange
        if neighbour in self.opened:
            return  # of no tree; whoever opened it closes it
        if self.retired.get(neighbour) == exchange:
            del self.retired[neighbour]
            self._orders.ended(exchange, "aborted")
        elif not self._host.has_link(neighbour):
            self.out_of_turn(neighbour, f"{signal.step} over a link that is of no tree any more")
            return
        self._host.begin_anew(neighbour)
        if self.part is not None and self.part.exchange == exchange:
            self.abort(self.part, None)
        if (exchange, neighbour) in self.anew:
            del self.anew[exchange, neighbour]
        elif signal.step == "abort":
            self._host.tell_all(neighbour, Signal(exchange, "anew"))

    def out_of_turn(self, neighbour: str, reason: str) -> None:
        self._host.emit(PeerMisbehaved(neighbour, reason))
        self._host.emit(CloseLink(neighbour, reason))

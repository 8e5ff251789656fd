"""The first phase of an exchange: the tables of the tree to come, made along the cycle while no event travels by them.

On each side R … A of the cycle (`cycle.py`), from R inward. There are two ways; which one, is said by the lock.

**Laid**: everything is said as it always is. R and the brokers behind it withdraw what only the old link led to, and
`clean` follows inward. A opens the new link in the tree to come, tells the other A all that its side wants, and ends it
with `laid`; the routes spread from there.

**Grafted**: what R had been asked for over the old link is all that its side must learn, namely that it is asked for
from inward now. So R says just that (`Graft`), and so does each broker behind it. As a broker knows what it has told
each neighbour, and the neighbour knows it too, R divides this set in three: what moves inward, what is wanted from
inward as well, and what stays; and names but the two smaller parts. The As take for said, over the new link, what the
Rs had said to each other over the old one, and compare digests of it (`Compare`). They differ only where somebody
(un)subscribes at that time; then (`unlike`) all is said anew, and ended with `laid`.

What a broker on the cycle has said to its neighbour outward before the `Graft` reached it, was said of both trees. A
subscription does no harm; an unsubscription must not take out of the tree to come what has been grafted there. Hence a
broker that a graft has reached speaks of each tree apart (`routing/settlement.py`), and what is said of both before
that leaves the graft alone. It is the ignore table of sem02 §4.5 without its message.
"""

from typing import Literal, Protocol

from regraft.broker.messages import Compare, Control, Graft, Signal, SignalStep
from regraft.broker.reconfiguration.cycle import Part
from regraft.broker.reconfiguration.host import Host
from regraft.broker.reconfiguration.queue import Queue


class Exchange(Protocol):
    """What the first phase asks of the exchange that it is of."""

    def say(self, neighbour: str, step: SignalStep) -> None: ...
    def turn_gray(self, part: Part) -> None: ...
    def new_link_is_open(self, part: Part) -> bool: ...
    def released(self, part: Part, name: Literal["control"], queue: Queue[Control]) -> list[Control]: ...
    def abort(self, part: Part, lost: str | None) -> None: ...
    def out_of_turn(self, neighbour: str, reason: str) -> None: ...


class FirstPhase:
    def __init__(self, exchange: Exchange, host: Host, held_max: int) -> None:
        self._exchange = exchange
        self._host = host
        self._held_max = held_max

    def leave(self, part: Part) -> None:
        """An old end: the link that goes is not of the tree to come."""
        if part.is_grafted:
            part.clean = True
            if not part.is_new_end or self._can_join(part):
                self._host.grafting.begin(part)
                self._grafted(part)
        else:
            self._host.leave(part.outward)
            self._swept(part)

    def signal(self, part: Part, neighbour: str, signal: Signal) -> None:
        """`clean`, `laid` or `unlike`, before we turn gray."""
        of_new_link = part.is_new_end and neighbour == part.inward
        match signal.step:
            case "clean" if not (part.is_old_end or part.is_grafted or part.clean) and neighbour == part.outward:
                self._swept(part)
            case "laid" if of_new_link and part.anew:
                part.anew = False
                self._host.grafting.hear_anew(part, self._exchange.released(part, "control", part.controls))
                self._exchange.turn_gray(part)
            case "laid" if of_new_link and not part.is_grafted and part.clean:
                self._exchange.turn_gray(part)
            case "laid" if of_new_link and not part.is_grafted and not part.laid:
                part.laid = True
                part.controls.put(self._host.now_ns(), signal)
            case "unlike" if of_new_link and part.is_grafted and part.clean:
                self._host.grafting.tell_all(part)
                self._exchange.say(neighbour, "laid")
            case _:
                self._exchange.out_of_turn(neighbour, f"{signal.step} out of turn")

    def _swept(self, part: Part) -> None:
        """What led only to the old link is withdrawn, up to us."""
        part.clean = True
        if not part.is_new_end:
            self._exchange.say(part.inward, "clean")
        elif self._can_join(part):
            self._host.join(part.inward)
            self._exchange.say(part.inward, "laid")
            self._joined(part)

    def _can_join(self, part: Part) -> bool:
        if not self._exchange.new_link_is_open(part):
            self._exchange.abort(part, None)  # somebody said that all are locked, and they are not
            return False
        return True

    def graft(self, part: Part | None, neighbour: str, graft: Graft) -> None:
        if part is None or part.exchange != graft.exchange:
            return  # of an exchange that is over for us
        if not part.is_grafted or part.is_old_end or neighbour != part.outward or part.clean:
            self._exchange.out_of_turn(neighbour, "a graft out of turn")
            return
        part.grafts.append(graft)
        if len(part.grafts) > self._held_max:
            self._exchange.abort(part, None)
        elif graft.rest:
            part.clean = True
            if not part.is_new_end or self._can_join(part):
                grafts, part.grafts = part.grafts, []
                self._host.grafting.go_on(part, grafts)
                self._grafted(part)

    def _grafted(self, part: Part) -> None:
        if part.is_new_end:
            self._host.grafting.compare(part)
            self._joined(part)

    def compare(self, part: Part | None, neighbour: str, compare: Compare) -> None:
        if part is None or part.exchange != compare.exchange:
            return  # of an exchange that is over for us
        of_new_link = part.is_new_end and neighbour == part.inward
        if not part.is_grafted or not of_new_link or part.gray or part.anew:
            self._exchange.out_of_turn(neighbour, "a comparison out of turn")
        elif not part.clean and not part.laid:
            part.laid = True
            part.controls.put(self._host.now_ns(), compare)
        elif not part.clean:
            self._exchange.out_of_turn(neighbour, "a second comparison")
        elif self._host.grafting.believes(part, compare.digest):
            self._exchange.turn_gray(part)
        else:
            part.anew = True
            self._exchange.say(neighbour, "unlike")

    def _joined(self, part: Part) -> None:
        """A new end: the link that comes is of the tree to come."""
        for message in self._exchange.released(part, "control", part.controls):
            self._host.process(part.inward, message)

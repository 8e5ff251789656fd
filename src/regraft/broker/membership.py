"""A leaf joins a running network, and a leaf leaves it for good; nothing that is owed is lost (debs06 §2.3).

**Joining.** The new broker's neighbour tells it all that it wants, as over any new link. What a client published before
that would reach nobody. So the new broker asks (`join`), the neighbour answers behind its subscriptions (`welcome`),
and what was published meanwhile waits until then. Who is itself joining answers when all its other neighbours have
answered, so that several new ones may hang on each other.

**Leaving.** A broker that has clients with subscriptions, more than one link, or a part in an exchange refuses. Else it
takes nothing from clients any more and says `leave`, behind its last event. The neighbour closes the link: by then
neither owes the other anything.

The paper's neighbour of a leaving broker removes the entries that point to it. Here none are left, as the clients have
gone before.
"""

from collections.abc import Callable
from typing import Literal

from regraft.broker.effects import CloseLink, Effect, LeaveAnswered, PeerMisbehaved, Refuse, Send
from regraft.broker.messages import Membership as MembershipMessage
from regraft.model.events import Event

Standing = Literal["member", "joining", "leaving"]


class Membership:
    """`publish` takes a client's event as if it came now."""

    def __init__(self, held_max: int, emit: Callable[[Effect], None], publish: Callable[[Event], None]) -> None:
        self.standing: Standing = "member"
        self._held_max = held_max
        self._emit = emit
        self._publish = publish
        self._events: list[Event] = []  # published while we were joining
        self._links: dict[str, bool] = {}  # while we are joining: whether that neighbour has told us all
        self._askers: dict[str, None] = {}  # neighbours that are owed a welcome

    # --- the operator

    def join_ordered(self) -> None:
        self.standing = "joining"

    def leave_ordered(self, neighbours: tuple[str, ...], has_subscriptions: bool, is_locked: bool) -> None:
        if has_subscriptions:
            self._emit(LeaveAnswered("it has clients with subscriptions"))
        elif len(neighbours) > 1:
            self._emit(LeaveAnswered("it is no leaf"))
        elif is_locked or self.standing == "joining":
            self._emit(LeaveAnswered("it is joining" if self.standing == "joining" else "it takes part in an exchange"))
        elif neighbours:
            self.standing = "leaving"
            self._emit(Send(neighbours[0], MembershipMessage("leave")))
        else:
            self.standing = "leaving"
            self._emit(LeaveAnswered(""))

    # --- our clients

    def published(self, event: Event) -> None:
        """By a client of a broker that is not a member."""
        if self.standing == "leaving":
            self._emit(Refuse(event.publisher, "the broker leaves the network"))
        elif len(self._events) >= self._held_max:
            self._emit(Refuse(event.publisher, "the broker is still joining the network, and cannot keep more"))
        else:
            self._events.append(event)

    # --- our neighbours

    def link_up(self, neighbour: str) -> None:
        if self.standing == "joining":
            self._links[neighbour] = False
            self._emit(Send(neighbour, MembershipMessage("join")))
        elif self.standing == "leaving":
            self._emit(Send(neighbour, MembershipMessage("leave")))

    def link_lost(self, neighbour: str) -> None:
        self._askers.pop(neighbour, None)
        if self.standing == "leaving":
            self._emit(LeaveAnswered(""))
        elif self._links.pop(neighbour, None) is not None:
            self._go_on()

    def said(self, neighbour: str, message: MembershipMessage) -> None:
        match message.step:
            case "join":
                self._askers[neighbour] = None
                self._go_on()
            case "welcome" if self._links.get(neighbour) is False:
                self._links[neighbour] = True
                self._go_on()
            case "leave":
                self._emit(CloseLink(neighbour, "it leaves the network"))
            case _:
                self._emit(PeerMisbehaved(neighbour, f"{message.step} out of turn"))
                self._emit(CloseLink(neighbour, f"{message.step} out of turn"))

    def _go_on(self) -> None:
        for asker in list(self._askers):
            if all(told for neighbour, told in self._links.items() if neighbour != asker):
                del self._askers[asker]
                self._emit(Send(asker, MembershipMessage("welcome")))
        if self._links and all(self._links.values()):
            self.standing = "member"
            self._links.clear()
            events, self._events = self._events, []
            for event in events:
                self._publish(event)

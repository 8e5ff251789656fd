"""What a broker asks of its world, in the imperative; the order of the list binds.

`Forward` is the data plane's effect: one object for all the neighbours and clients that an event goes to, because an
object for each of them costs more than the decision itself. `Route` is what `Forward` says apart from the event; a
broker makes each of its routes once and answers with the same one again and again (`Broker.route`).
"""

from typing import Literal

import msgspec

from regraft.broker.messages import Control, DirectMessage
from regraft.model.events import Event

HandoffOutcome = Literal["whole", "unknown", "unanswered"]
ExchangeOutcome = Literal["done", "stale", "busy", "aborted"]


class Route(msgspec.Struct, frozen=True, gc=False):
    """Relay the event in hand to these neighbours and deliver it to these clients."""

    neighbours: tuple[str, ...]
    clients: tuple[str, ...]
    keeps: bool = False  # what some of these clients are owed is kept for them: the event has to be handled


class Forward(msgspec.Struct, frozen=True, tag="forward", gc=False, omit_defaults=True):
    """Relay the event to these neighbours and deliver it to these clients; the `gray` neighbours get it as `Gray`, in
    this exchange's name."""

    event: Event
    neighbours: tuple[str, ...]
    clients: tuple[str, ...]
    gray: tuple[str, ...] = ()
    exchange: str = ""


class Send(msgspec.Struct, frozen=True, tag="send", gc=False):
    """Send a control message to a neighbour."""

    neighbour: str
    message: Control


class SendDirect(msgspec.Struct, frozen=True, tag="send_direct", gc=False):
    """Send a message to a broker that need not be a neighbour, over a connection for it alone; it may be lost."""

    broker: str
    message: DirectMessage


class SetTimer(msgspec.Struct, frozen=True, tag="set_timer", gc=False):
    """Fire once after that time; a timer of the same name that has not fired is replaced and never fires."""

    name: str
    after_ns: int


class CancelTimer(msgspec.Struct, frozen=True, tag="cancel_timer", gc=False):
    """The timer of that name must not fire."""

    name: str


class OpenLink(msgspec.Struct, frozen=True, tag="open_link", gc=False):
    """Open a link to this broker for an exchange; `LinkUp` or `LinkRefused` answers."""

    neighbour: str
    exchange: str


class CloseLink(msgspec.Struct, frozen=True, tag="close_link", gc=False):
    """End the link to this neighbour; nothing arrives over it any more, and both ends are told when it has ended. Where
    it names an exchange, that exchange has replaced the link; else there is a reason to complain of."""

    neighbour: str
    reason: str
    exchange: str = ""


class ExchangeEnded(msgspec.Struct, frozen=True, tag="exchange_ended", gc=False):
    """Tell the operator what became of the exchange: done, or why not. If not, the tree is as it was."""

    exchange: str
    outcome: ExchangeOutcome


class Released(msgspec.Struct, frozen=True, tag="released", gc=False):
    """Note for the trace: what had waited behind an exchange's new link, whose other end is `neighbour`, goes on.

    So many messages of one kind, and how long they waited together."""

    neighbour: str
    exchange: str
    queue: Literal["event", "control"]
    count: int
    waited_ns: int


class LeaveAnswered(msgspec.Struct, frozen=True, tag="leave_answered", gc=False):
    """Tell the operator that this broker has left the network or, where there is a reason, that it stays."""

    reason: str


class TellInForce(msgspec.Struct, frozen=True, tag="tell_in_force", gc=False):
    """Tell the client that its subscription is in force: every route that it needs is laid."""

    client: str
    filter: str


class HandedOff(msgspec.Struct, frozen=True, tag="handed_off", gc=False):
    """Tell the client that it has arrived, before what it is owed is delivered. Which of its subscriptions are in force
    it has not been told since it left; where it still waits for that, it asks again (`ClientSubscribed`).

    What was published from `whole_from_ns` on is not missing. What was before is whole, too, but for so many events
    that were `dropped`; or else the broker that may have kept it does not know the client, or does not answer."""

    client: str
    move: int
    outcome: HandoffOutcome
    dropped: int
    whole_from_ns: int


class Dismiss(msgspec.Struct, frozen=True, tag="dismiss", gc=False):
    """End the connection of this client, which has arrived elsewhere; `ClientAway` answers if it stays here."""

    client: str


class Keep(msgspec.Struct, frozen=True, tag="keep", gc=False):
    """The client is away and is owed this event, which is kept for it here: a world that has a place which outlives the
    broker may keep it there, too. What is delivered to the client behind `HandedOff` may be what was kept so."""

    client: str
    event: Event


class Departed(msgspec.Struct, frozen=True, tag="departed", gc=False):
    """The client is no longer ours, and nothing is kept for it any more: it has everything elsewhere, it has gone
    before it arrived, or it was away for too long."""

    client: str


class Refuse(msgspec.Struct, frozen=True, tag="refuse", gc=False):
    """Tell the client that what it asked for cannot be, and why; nothing was changed."""

    client: str
    reason: str


class PeerMisbehaved(msgspec.Struct, frozen=True, tag="peer_misbehaved", gc=False):
    """A neighbour sent what no correct broker sends; the message was ignored."""

    neighbour: str
    reason: str


Effect = (
    Forward
    | Send
    | SendDirect
    | SetTimer
    | CancelTimer
    | OpenLink
    | CloseLink
    | ExchangeEnded
    | Released
    | LeaveAnswered
    | TellInForce
    | HandedOff
    | Dismiss
    | Keep
    | Departed
    | Refuse
    | PeerMisbehaved
)

"""What a broker is told, one at a time: facts, in the past tense.

A world promises: a link is FIFO; a message sent on an incarnation that has ended never arrives; both ends are told of
the end of a link, at times of their own, and before they are told that it is up again.
"""

import msgspec

from regraft.broker.messages import DirectMessage, Message, Order, Routes
from regraft.model.events import Event


class Received(msgspec.Struct, frozen=True, tag="received", gc=False):
    """A message arrived from a neighbour on the link's present incarnation."""

    neighbour: str
    message: Message


class ReceivedDirect(msgspec.Struct, frozen=True, tag="received_direct", gc=False):
    """A message arrived from a broker that need not be a neighbour."""

    broker: str
    message: DirectMessage


class LinkUp(msgspec.Struct, frozen=True, tag="link_up", gc=False):
    """A link to this neighbour works from now on. One that was opened for an exchange belongs to the tree when that
    exchange says so. One that replaces a lost link whose ends know of it is `announced` by the name of that loss: the
    ends will tell us."""

    neighbour: str
    incarnation: int
    exchange: str = ""
    announced: str = ""


class LinkDown(msgspec.Struct, frozen=True, tag="link_down", gc=False):
    """The link to this neighbour is gone."""

    neighbour: str


class PathFound(msgspec.Struct, frozen=True, tag="path_found", gc=False):
    """The link that we had to this neighbour, in that incarnation, is replaced. Both its ends are told, each after
    `LinkDown`, the last of `way` before the first; `way` and `near` as in `Reroute`."""

    neighbour: str
    incarnation: int
    way: tuple[str, ...]
    near: int


class EndFound(msgspec.Struct, frozen=True, tag="end_found", gc=False):
    """The link that we had to this neighbour, in that incarnation, is replaced; `new_end` is the end of the new link in
    our part of the tree. Told after `LinkDown`, and to the new end itself after `LinkUp`."""

    neighbour: str
    incarnation: int
    new_end: str


class TablesDiffer(msgspec.Struct, frozen=True, tag="tables_differ", gc=False):
    """The world has found that what this neighbour told us is not what we have heard from it: begin anew with it."""

    neighbour: str


class LinkRefused(msgspec.Struct, frozen=True, tag="link_refused", gc=False):
    """The link to this neighbour that was to be opened for an exchange cannot be."""

    neighbour: str
    exchange: str


class ExchangeOrdered(msgspec.Struct, frozen=True, tag="exchange_ordered", gc=False):
    """An operator wants a link replaced, nothing being lost. The broker that is told is the first of `cycle`: from the
    one end of the link that goes, by way of the link that comes, after the first `near`, to the other end."""

    exchange: str
    cycle: tuple[str, ...]
    near: int
    order: Order
    routes: Routes = "laid"


class JoinOrdered(msgspec.Struct, frozen=True, tag="join_ordered", gc=False):
    """This broker, which has no link yet, is to join a network that runs already."""


class LeaveOrdered(msgspec.Struct, frozen=True, tag="leave_ordered", gc=False):
    """This broker, a leaf, is to leave the network for good; `LeaveAnswered` answers."""


class ParentAssigned(msgspec.Struct, frozen=True, tag="parent_assigned", gc=False):
    """The overlay says which neighbour is nearer to the root (empty: none). Only hierarchical forwarding asks."""

    neighbour: str


class TimerFired(msgspec.Struct, frozen=True, tag="timer_fired", gc=False):
    """The time that `SetTimer(name, …)` asked for has passed."""

    name: str


class ClientSubscribed(msgspec.Struct, frozen=True, tag="client_subscribed", gc=False):
    """A local client asks for the events that satisfy `filter`, and, if `confirm`, to be told when that is in force."""

    client: str
    filter: str
    confirm: bool = False


class ClientUnsubscribed(msgspec.Struct, frozen=True, tag="client_unsubscribed", gc=False):
    """A local client takes a subscription back."""

    client: str
    filter: str


class ClientDetached(msgspec.Struct, frozen=True, tag="client_detached", gc=False):
    """A local client is gone, and with it all its subscriptions."""

    client: str


class ClientAway(msgspec.Struct, frozen=True, tag="client_away", gc=False, omit_defaults=True):
    """A local client has left and will be back, here or elsewhere: its subscriptions stand, and what it is owed is to
    be kept. `undelivered` are the events that were delivered to it and have not reached it."""

    client: str
    undelivered: tuple[Event, ...] = ()


class ClientArrived(msgspec.Struct, frozen=True, tag="client_arrived", gc=False, omit_defaults=True):
    """A client that was away is here, with the filters that it has subscribed to; `HandedOff` answers. `previous` are
    the brokers that may have kept what it is owed, the latest first: those at which it has arrived since it was last
    handed off, and the one where that was. `move` is higher at each arrival of this client."""

    client: str
    move: int
    previous: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()


class ClientPublished(msgspec.Struct, frozen=True, tag="client_published", gc=False):
    """A local client publishes."""

    event: Event


Input = (
    Received
    | ReceivedDirect
    | LinkUp
    | LinkDown
    | PathFound
    | EndFound
    | LinkRefused
    | TablesDiffer
    | ExchangeOrdered
    | JoinOrdered
    | LeaveOrdered
    | ParentAssigned
    | TimerFired
    | ClientSubscribed
    | ClientUnsubscribed
    | ClientDetached
    | ClientAway
    | ClientArrived
    | ClientPublished
)

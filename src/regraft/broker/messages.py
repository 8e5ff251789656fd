"""What brokers say to each other: one class a message, the same in memory, on the wire and in the trace.

`Event` itself is the data plane's only message. The control plane's messages name filters by their canonical text, so
that they mean the same to every broker. A message that a change of the topology caused names that change in
`reconfiguration`; it is empty where a client is the cause.
"""

from typing import Literal

import msgspec

from regraft.model.events import Event

Order = Literal["none", "fifo", "causal"]
Routes = Literal["laid", "grafted"]  # how an exchange makes the tables of the tree to come
GraftPart = Literal["moved", "kept", "staying"]
SignalStep = Literal[
    "busy",
    "stale",
    "locked",
    "clean",
    "laid",
    "unlike",
    "separator",
    "returned",
    "drained",
    "unlock",
    "abort",
    "anew",
]


def change_name(a: str, b: str, incarnation: int, *, comes: bool) -> str:
    """What a broker calls the end of a link, or its beginning, in `reconfiguration`: the same at both of its ends."""
    one, other = sorted((a, b))
    return f"{'+' if comes else ''}{one}-{other}#{incarnation}"


class Subscribe(msgspec.Struct, frozen=True, tag="subscribe", gc=False, omit_defaults=True):
    """The sender wants the events that satisfy any of these filters.

    While a link is exchanged there are two trees. Where `exchange` is empty, this is said of both; else of the tree
    that this exchange makes or, with `before`, of the one that it ends."""

    filters: tuple[str, ...]
    reconfiguration: str = ""
    exchange: str = ""
    before: bool = False


class Unsubscribe(msgspec.Struct, frozen=True, tag="unsubscribe", gc=False, omit_defaults=True):
    """The sender no longer wants what only these filters asked for; `exchange` and `before` as for `Subscribe`."""

    filters: tuple[str, ...]
    reconfiguration: str = ""
    exchange: str = ""
    before: bool = False


class Confirm(msgspec.Struct, frozen=True, tag="confirm", gc=False):
    """Do you, and all beyond you, hold the routes towards me that these filters need? See `routing/confirmation.py`."""

    origin: str
    serial: int
    round: int
    filters: tuple[str, ...]


class Confirmed(msgspec.Struct, frozen=True, tag="confirmed", gc=False):
    """The answer; `complete` is false where a route is missing, or something changed since the first round."""

    origin: str
    serial: int
    round: int
    complete: bool


class Gray(msgspec.Struct, frozen=True, tag="gray", gc=False):
    """An event that travels by the tree that the exchange makes; others on the cycle are black."""

    event: Event
    exchange: str


class Lock(msgspec.Struct, frozen=True, tag="lock", gc=False, omit_defaults=True):
    """Take part in this exchange and in no other. `cycle` are the brokers from the one end of the link that goes, by
    way of the link that comes, which follows the first `near` of them, to the other end."""

    exchange: str
    cycle: tuple[str, ...]
    near: int
    order: Order
    routes: Routes = "laid"


class Signal(msgspec.Struct, frozen=True, tag="signal", gc=False):
    """A step of an exchange; `reconfiguration/coordinated.py` says what each means."""

    exchange: str
    step: SignalStep


class Graft(msgspec.Struct, frozen=True, tag="graft", gc=False, omit_defaults=True):
    """What becomes, in the tree that this exchange makes, of all that the sender has asked the receiver for. What those
    beyond the link that goes want is wanted from inward: `moved` no longer by the sender, `kept` by the sender too.
    What is `staying` is wanted by the sender alone, as before. `rest` says which of the three all are that no list
    names; where it says nothing, another `Graft` follows."""

    exchange: str
    moved: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    staying: tuple[str, ...] = ()
    rest: GraftPart | Literal[""] = ""


class Compare(msgspec.Struct, frozen=True, tag="compare", gc=False):
    """All that the sender asks for over the link that comes, by its digest."""

    exchange: str
    digest: str


class Reroute(msgspec.Struct, frozen=True, tag="recmsg", gc=False):
    """RECMSG of sem02, from a broker on the reconfiguration path to the next one: count what is `added` as asked of me
    by you, and what is `removed` as taken back by me. `way` are the brokers from the one end of the lost link, by way
    of the new link, which follows the first `near` of them, to the other end."""

    reconfiguration: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    way: tuple[str, ...]
    near: int


class Rerouted(msgspec.Struct, frozen=True, tag="ctrlmsg", gc=False):
    """CTRLMSG of sem02, the answer to `Reroute`: it counts; on the tail, also all beyond me are done."""

    reconfiguration: str


class Informed(msgspec.Struct, frozen=True, tag="informed", gc=False):
    """From an end of a lost link to the end of the new one in its part of the tree, directly: these filters led to the
    lost link only."""

    reconfiguration: str
    stale: tuple[str, ...]


KeptState = Literal["wait", "part", "last", "unknown"]


class Claim(msgspec.Struct, frozen=True, tag="claim", gc=False):
    """Directly, from the broker at which a client has arrived to one that may have kept what it is owed: hand that
    over, from the event on that follows the first `have`. `move` is the number of the arrival."""

    client: str
    move: int
    have: int


class Kept(msgspec.Struct, frozen=True, tag="kept", gc=False, omit_defaults=True):
    """The answer to `Claim`: not yet; a part of the log, after so many that came `first`; the last part, how many
    events are missing from the whole, and the number of the questions by which it was known to be the last; or that
    there is no such client."""

    client: str
    move: int
    state: KeptState
    first: int = 0
    events: tuple[Event, ...] = ()
    dropped: int = 0
    flush: int = 0


class Settled(msgspec.Struct, frozen=True, tag="settled", gc=False):
    """The answer to the last part: the client has everything, and has no business with you any more."""

    client: str
    move: int


class Membership(msgspec.Struct, frozen=True, tag="membership", gc=False):
    """A leaf comes or goes; `broker/membership.py` says what each means."""

    step: Literal["join", "welcome", "leave"]


Control = (
    Subscribe | Unsubscribe | Confirm | Confirmed | Lock | Signal | Graft | Compare | Reroute | Rerouted | Membership
)
Message = Event | Gray | Control
HandoffMessage = Claim | Kept | Settled
DirectMessage = Informed | HandoffMessage  # what goes to a broker that need not be a neighbour


def filters_named(message: Control | DirectMessage) -> int:
    """How many filters a message carries, where they make it what it is; a question after routes carries none."""
    match message:
        case Subscribe() | Unsubscribe():
            return len(message.filters)
        case Graft():
            return len(message.moved) + len(message.kept) + len(message.staying)
        case Reroute():
            return len(message.added) + len(message.removed)
        case Informed():
            return len(message.stale)
        case _:
            return 0

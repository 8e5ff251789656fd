"""What is said on sockets beyond the brain's own messages: greetings, beacons, and the words of clients and operators.

The first frame of a connection is a greeting; it tells who the other side is and with that which messages may follow.
Each kind of peer has a decoder of its own, so that a client cannot say what only brokers say. Every request carries a
`serial` of its sender's choice, which the answer repeats.
"""

from typing import Annotated

import msgspec

from regraft.broker.effects import HandoffOutcome
from regraft.broker.messages import Control, DirectMessage, Order, Routes
from regraft.net.wire import Name

BrokerName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.]{1,64}$")]
Identity = Annotated[int, msgspec.Meta(ge=0)]
Places = Annotated[tuple[tuple[BrokerName, str], ...], msgspec.Meta(max_length=64)]  # brokers, with their addresses


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A field that no message has is refused."""


# --- greetings


class BrokerHello(_Words, frozen=True, tag="broker"):
    """`identity` is drawn anew by each process; `incarnation` is the last of this link that the sender knows; an
    `exchange` is named where the link is opened for it, and the loss that it replaces where that is `announced`.
    `again` is whether the sender opens a link that it is to keep, and nobody has just asked it to."""

    name: BrokerName
    identity: Identity
    address: str
    clock_ns: int
    incarnation: Identity
    exchange: str = ""
    announced: str = ""
    again: bool = False


class BrokerWelcome(_Words, frozen=True, tag="welcome"):
    """The link is up, with this incarnation, behind this frame."""

    name: BrokerName
    identity: Identity
    address: str
    incarnation: Identity


class ClientHello(_Words, frozen=True, tag="client"):
    """`instance` is drawn anew by each process, so that a client that reconnects is told from another of its name. One
    that is `durable` wants a session; where its process has had deliveries of a session before, it names that and the
    last of them. One that comes from another broker says so: `move`, `previous` and `filters` are those of the brain's
    `ClientArrived`, and `Arrived` answers."""

    name: Name
    instance: Identity
    clock_ns: int
    durable: bool = False
    session: Identity = 0
    received: Identity = 0
    move: Identity = 0
    previous: Places = ()
    filters: tuple[str, ...] = ()


class ClientWelcome(_Words, frozen=True, tag="welcome"):
    """`last_sequence` is the number of the last event that the broker has of this publisher; 0 if it has none. Of a
    durable client, `session` tells its session from any other of that name, and `filters` are its subscriptions."""

    broker: BrokerName
    last_sequence: Identity
    frame_bytes_max: Identity
    session: Identity = 0
    filters: tuple[str, ...] = ()


class OperatorHello(_Words, frozen=True, tag="operator"):
    clock_ns: int


class OperatorWelcome(_Words, frozen=True, tag="welcome"):
    broker: BrokerName


class Direct(_Words, frozen=True, tag="direct"):
    """From a broker to one that need not be its neighbour: one message follows, and there is no answer."""

    name: BrokerName
    clock_ns: int
    address: str


class Refused(_Words, frozen=True, tag="refused"):
    """The last frame: why the sender ends the connection."""

    reason: str


# --- between brokers


class Beacon(_Words, frozen=True, tag="beacon"):
    """The sender is alive. `told` is the digest of what it has asked the other end for, where it can be compared;
    `agreed` whether the last such digest of the other end was the sender's own (`digest.py`); `whole` whether the
    sender is whole apart from the other end (`returning.py`)."""

    told: Identity | None = None
    agreed: bool = False
    whole: bool = True


class Settled(_Words, frozen=True, tag="settled"):
    """The sender answers for the first so many events of this incarnation that are to be acknowledged."""

    events: Identity


class Bye(_Words, frozen=True, tag="bye"):
    """The sender ends the link; it sends nothing behind this frame and goes on reading until the other end closes."""

    reason: str


# --- from clients, and to them


class Ask(_Words, frozen=True, tag="subscribe"):
    """Subscribe; `Granted` answers at once, and `InForce` when every route is laid, if `confirm`."""

    serial: Identity
    filter: str
    confirm: bool = False


class Cease(_Words, frozen=True, tag="unsubscribe"):
    serial: Identity
    filter: str


class Granted(_Words, frozen=True, tag="granted"):
    serial: Identity


class Denied(_Words, frozen=True, tag="denied"):
    serial: Identity
    reason: str


class InForce(_Words, frozen=True, tag="in_force"):
    serial: Identity


class Taken(_Words, frozen=True, tag="taken"):
    """All of this client's events up to that number which asked to be acknowledged are settled (`settling.py`)."""

    sequence: Identity


class Lost(_Words, frozen=True, tag="lost"):
    """So many events were not delivered, because this client did not take them fast enough, or its session was full."""

    events: Identity


class Arrived(_Words, frozen=True, tag="arrived"):
    """This client, which came from another broker, has been handed over, and what it is owed follows: the brain's
    `HandedOff`. It may publish now."""

    move: Identity
    outcome: HandoffOutcome
    dropped: Identity


class Got(_Words, frozen=True, tag="got"):
    """This durable client has done with all deliveries up to that number."""

    number: Identity


class Forget(_Words, frozen=True, tag="forget"):
    """End this client's session for good; behind `Granted` the broker ends the connection."""

    serial: Identity


class Ping(_Words, frozen=True, tag="ping"):
    serial: Identity


class Pong(_Words, frozen=True, tag="pong"):
    serial: Identity


# --- from operators, and to them


class AskStatus(_Words, frozen=True, tag="status"):
    serial: Identity


class Exchange(_Words, frozen=True, tag="exchange"):
    """Order a coordinated exchange, at the first broker of `cycle`; `Ended` answers."""

    serial: Identity
    exchange: str
    cycle: tuple[BrokerName, ...]
    near: int
    order: Order
    routes: Routes = "laid"


class Introduce(_Words, frozen=True, tag="introduce"):
    """That broker is reached at that address."""

    serial: Identity
    name: BrokerName
    address: str


class Link(_Words, frozen=True, tag="link"):
    """Link to that broker, and keep the link; it must have been introduced. `announced`: as in the brain's `LinkUp`."""

    serial: Identity
    name: BrokerName
    announced: str = ""


class Found(_Words, frozen=True, tag="found"):
    """The lost link to that broker, in that incarnation, is replaced: the brain's `PathFound` or `EndFound`."""

    serial: Identity
    name: BrokerName
    incarnation: Identity
    way: tuple[BrokerName, ...]
    near: int


class Unlink(_Words, frozen=True, tag="unlink"):
    """End the link to that broker, for good."""

    serial: Identity
    name: BrokerName


class Done(_Words, frozen=True, tag="done"):
    serial: Identity


class Ended(_Words, frozen=True, tag="ended"):
    serial: Identity
    outcome: str


class LinkStatus(_Words, frozen=True):
    """`up` is whether both ends hold the same tables."""

    neighbour: str
    address: str
    incarnation: int
    up: bool
    of_tree: bool
    events_in: int
    events_out: int
    bytes_in: int
    bytes_out: int
    waiting_bytes: int
    unsettled: int


class Status(_Words, frozen=True, tag="is"):
    """What a broker says of itself. `sessions` are those of durable clients, here or away, `events_kept` what is kept
    for them; `events_held` wait for neighbours that are missing (`returning.py`); `counters` are those of its
    metrics."""

    serial: Identity
    broker: BrokerName
    address: str
    link_address: str
    process: int
    up_s: float
    reconfiguration: str
    locked: bool
    clients: int
    sessions: int
    events_kept: int
    events_held: int
    subscriptions: int
    filters: int
    links: tuple[LinkStatus, ...]
    missing: tuple[str, ...]
    counters: dict[str, int]


Greeting = BrokerHello | ClientHello | OperatorHello | Direct
FromBroker = Control | Beacon | Bye | Refused | Settled
FromClient = Ask | Cease | Got | Forget | Ping
ToClient = ClientWelcome | Refused | Granted | Denied | InForce | Taken | Lost | Pong | Arrived
FromOperator = AskStatus | Exchange | Introduce | Link | Found | Unlink

greetings = msgspec.msgpack.Decoder(Greeting)
broker_answers = msgspec.msgpack.Decoder(BrokerWelcome | Refused)
from_broker = msgspec.msgpack.Decoder(FromBroker)
from_client = msgspec.msgpack.Decoder(FromClient)
from_afar = msgspec.msgpack.Decoder(DirectMessage)
from_operator = msgspec.msgpack.Decoder(FromOperator)
to_client = msgspec.msgpack.Decoder(ToClient)
to_operator = msgspec.msgpack.Decoder(OperatorWelcome | Refused | Done | Denied | Ended | Status)

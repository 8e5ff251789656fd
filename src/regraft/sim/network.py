"""The parts of the virtual network: a broker's place in it, and one direction of a link."""

from regraft.broker import Broker

FRAME_BYTES = 8  # length, version and type of a message on the wire
HOP_FIELDS_BYTES = 8  # in front of an event, what changes from hop to hop
NANOSECONDS_PER_BYTE_AT_1_MBIT = 8_000


class Wire:
    """One direction of a link's incarnation. Its counts are of the present interval (`chronicle.py`)."""

    __slots__ = (
        "alive",
        "beyond",
        "beyond_after",
        "busy_until_ns",
        "bytes_misrouted",
        "bytes_wanted",
        "events_misrouted",
        "events_wanted",
        "latency_ns",
        "loss",
        "source",
        "target",
    )

    def __init__(self, source: "Node", target: "Node", latency_ns: int, loss: float) -> None:
        self.source = source
        self.target = target
        self.latency_ns = latency_ns
        self.loss = loss  # of events
        self.alive = True
        self.busy_until_ns = 0
        self.beyond = 0  # the filters that clients beyond this wire hold
        self.beyond_after = 0  # the same in the tree that the exchanges under way will make
        self.events_wanted = self.events_misrouted = self.bytes_wanted = self.bytes_misrouted = 0


class Node:
    """A broker's place in the world; the core is new after each crash.

    `wires` is what the broker believes: a wire in it may have ended without its knowing.
    """

    __slots__ = ("alive", "core", "handle", "name", "parent", "timers", "wires")

    def __init__(self, name: str, core: Broker) -> None:
        self.name = name
        self.wires: dict[str, Wire] = {}
        self.timers: dict[str, int] = {}  # name -> serial number of the agenda's entry that counts
        self.start(core)

    def start(self, core: Broker) -> None:
        self.core = core
        self.handle = core.handle
        self.alive = True
        self.parent = ""
        self.wires.clear()
        self.timers.clear()

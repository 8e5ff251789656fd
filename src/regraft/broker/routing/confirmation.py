"""When is a subscription in force? Two rounds of questions through the tree, behind the subscription.

The promise: when a client is told, there has been a moment, after it asked, at which every broker that the tree then
connected to it held the route that its filter needs. It is told also where links break meanwhile: as soon as the tree
has stood still for two rounds.

How: links are FIFO, so a question that follows a `Subscribe` over a link arrives when the route is laid. In the first
round every broker looks whether it has the routes, passes the question on to all others that must have them (its
*carriers*), and answers when they have answered. It then watches until the second round comes by: a link that
changes, or a route asked about that goes, spoils the answer. So if the second round comes back whole, nobody's routes
changed between the two, and the end of the first is that moment. (It is the double collect of a shared-memory
snapshot.) A spoiled round travels back at once, and the origin asks again after a rest, along the tree as it has
become.

A broker has one probe of its own under way, for all that its clients have asked before it began; what they ask
meanwhile waits for the next. So the cost, four messages a link and probe, follows from time and not from the number
of clients.

A broker remembers one probe an origin, a bounded number in all, and forgets the oldest beyond; a question about a
forgotten probe is answered as spoiled. So neither a crashed origin nor a lost answer leaves anything behind that
matters.

**Flushing.** A question that names `EVERYTHING` goes to all brokers, whatever routes they need. It travels behind the
events that are under way, and its answers behind those that are under way to us; so when the first round is over all
has come that was on its way when it began, and when the second is, all that had then come has come to every broker that
it was sent to. The *watcher* is told when the questions of
another broker come by, and when the first round of ours is over.

These messages are the only ones that the papers do not have; their measures leave them out (docs/guide/trace.md).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from regraft.broker.effects import Effect, Send, SetTimer, TellInForce
from regraft.broker.messages import Confirm, Confirmed

TIMER = "confirm"
OWN_CLIENTS = ""
EVERYTHING = ""  # no filter: in its place, asks that all be flushed


class Watcher(Protocol):
    def questioned(self, broker: str, flush: int) -> None: ...
    def half_flushed(self, flush: int) -> None: ...


@dataclass(slots=True)
class Probe:
    """One origin's questions at this broker. `waiting` are the carriers that owe an answer in this round."""

    serial: int
    filters: tuple[str, ...]
    asker: str
    round: int = 1
    waiting: dict[str, None] = field(default_factory=dict)
    spoiled: bool = False


class Confirmation:
    """`carriers(asker, filters)` names the neighbours that must hold a route to what came from `asker`, or be flushed;
    `laid(asker, filters)` says whether this broker routes all of these towards it."""

    def __init__(
        self,
        name: str,
        again_after_ns: int,
        probes_max: int,
        carriers: Callable[[str, tuple[str, ...]], list[str]],
        laid: Callable[[str, tuple[str, ...]], bool],
    ) -> None:
        self._name = name
        self._again_after_ns = again_after_ns
        self._probes_max = probes_max
        self._carriers = carriers
        self._laid = laid
        self.watcher: Watcher | None = None
        self._serial = 0
        self._probes: dict[str, Probe] = {}  # by origin
        self._clients: dict[str, dict[str, None]] = {}  # filter -> clients, of our own probe
        self._queue: dict[str, dict[str, None]] = {}  # filter -> clients, for the next one
        self._resting = False
        self._standing_still = False

    @property
    def is_owed(self) -> bool:
        """Whether somebody here waits for an answer."""
        return bool(self._clients or self._queue)

    # --- while the broker is of two trees

    def stand_still(self, now_ns: int) -> list[Effect]:
        """Routes are of two trees from now on, and a question could follow but one: all are spoiled until `go_on`."""
        self._standing_still = True
        return self.tree_changed(now_ns, None)

    def go_on(self, now_ns: int) -> list[Effect]:
        self._standing_still = False
        return self._begin(now_ns)

    # --- our own clients

    def ask(self, now_ns: int, client: str, filter: str) -> list[Effect]:
        self._queue.setdefault(filter, {})[client] = None
        return self._begin(now_ns)

    def forget(self, client: str, filter: str) -> None:
        """The client no longer wants to know."""
        for waiting in (self._clients, self._queue):
            clients = waiting.get(filter, {})
            clients.pop(client, None)
            if filter in waiting and not clients:
                del waiting[filter]

    def rested(self, now_ns: int) -> list[Effect]:
        self._resting = False
        return self._begin(now_ns)

    def _begin(self, now_ns: int) -> list[Effect]:
        if self._resting or self._standing_still or self._name in self._probes or not self._queue:
            return []
        self._clients, self._queue = self._queue, {}
        self._serial = max(self._serial + 1, now_ns)  # a broker that forgot all in a crash does not repeat itself
        self._probes[self._name] = Probe(self._serial, tuple(self._clients), OWN_CLIENTS)
        return self._pass_on(now_ns, self._name)

    def _conclude(self, now_ns: int, probe: Probe) -> list[Effect]:
        """Our own probe's round is over."""
        if not probe.spoiled and probe.round == 1:
            if self.watcher is not None and EVERYTHING in probe.filters:
                self.watcher.half_flushed(probe.serial)
            probe.round = 2
            return self._pass_on(now_ns, self._name)
        del self._probes[self._name]
        told = self._clients
        self._clients = {}
        if not probe.spoiled:
            return [TellInForce(client, filter) for filter in told for client in told[filter]] + self._begin(now_ns)
        for filter, clients in self._queue.items():
            told.setdefault(filter, {}).update(clients)
        self._queue = told
        self._resting = True
        return [SetTimer(TIMER, self._again_after_ns)]

    # --- other brokers' questions

    def asked(self, now_ns: int, neighbour: str, message: Confirm) -> list[Effect]:
        origin = message.origin
        if origin == self._name or self._standing_still:  # our name: asked by what we were before a crash
            return [Send(neighbour, Confirmed(origin, message.serial, message.round, False))]
        if message.round == 1:
            effects = self._forget(origin, neighbour)
            if len(self._probes) >= self._probes_max:
                effects += self._forget(next(other for other in self._probes if other != self._name), "")
            probe = Probe(message.serial, message.filters, neighbour)
            probe.spoiled = not self._laid(neighbour, message.filters)
            if self.watcher is not None and EVERYTHING in message.filters:
                self.watcher.questioned(origin, message.serial)
            self._probes[origin] = probe
            return effects + self._pass_on(now_ns, origin)
        known = self._probes.get(origin)
        if known is None or known.serial != message.serial or known.asker != neighbour or known.waiting:
            return [Send(neighbour, Confirmed(origin, message.serial, message.round, False))]
        known.round = 2
        return self._pass_on(now_ns, origin)

    def _forget(self, origin: str, asker: str) -> list[Effect]:
        """The question of this origin; who waits for its answer, and asks no other one, is told that it is spoiled."""
        probe = self._probes.pop(origin, None)
        if probe is None or not probe.waiting or probe.asker == asker:
            return []
        return [Send(probe.asker, Confirmed(origin, probe.serial, probe.round, False))]

    def answered(self, now_ns: int, neighbour: str, message: Confirmed) -> list[Effect]:
        probe = self._probes.get(message.origin)
        if probe is None or (probe.serial, probe.round) != (message.serial, message.round):
            return []  # to a question that has been given up
        if neighbour not in probe.waiting:
            return []
        del probe.waiting[neighbour]
        if not message.complete:
            probe.spoiled = True
        return [] if probe.waiting and not probe.spoiled else self._answer(now_ns, message.origin)

    def _pass_on(self, now_ns: int, origin: str) -> list[Effect]:
        probe = self._probes[origin]
        carriers = self._carriers(probe.asker, probe.filters)
        if probe.spoiled or not carriers:
            return self._answer(now_ns, origin)
        probe.waiting = dict.fromkeys(carriers)
        question = Confirm(origin, probe.serial, probe.round, probe.filters)
        return [Send(carrier, question) for carrier in carriers]

    def _answer(self, now_ns: int, origin: str) -> list[Effect]:
        probe = self._probes[origin]
        probe.waiting = {}
        if origin == self._name:
            return self._conclude(now_ns, probe)
        if probe.round == 2 or probe.spoiled:
            del self._probes[origin]
        return [Send(probe.asker, Confirmed(origin, probe.serial, probe.round, not probe.spoiled))]

    # --- what spoils an answer

    def tree_changed(self, now_ns: int, lost: str | None) -> list[Effect]:
        """A link of ours came up or, where a neighbour is named, ended; or the way to the root turned."""
        effects: list[Effect] = []
        for origin in list(self._probes):
            if self._probes[origin].asker == lost:
                del self._probes[origin]
            else:
                effects += self._spoil(now_ns, origin)
        return effects

    def routes_lost(self, now_ns: int, neighbour: str) -> list[Effect]:
        """The neighbour has taken filters back."""
        effects: list[Effect] = []
        for origin, probe in list(self._probes.items()):
            if probe.asker == neighbour and not self._laid(neighbour, probe.filters):
                effects += self._spoil(now_ns, origin)
        return effects

    def _spoil(self, now_ns: int, origin: str) -> list[Effect]:
        probe = self._probes[origin]
        if probe.spoiled:
            return []
        probe.spoiled = True
        return self._answer(now_ns, origin) if probe.waiting else []

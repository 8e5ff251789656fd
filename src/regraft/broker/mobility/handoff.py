"""Hand-off: a client that comes back at another broker gets everything, once, in order (mobile-chapter, section 4).

The promise: what is published while a client moves, however often, reaches it once, and each publisher's events in
their order; also while links are exchanged by a protocol that loses nothing, and however slow the broker is that it
left. Where that broker is gone, knows nothing of the client any more, or has had to drop something, the client is told
(`HandedOff`), with the time from which on nothing is missing.

How, after Jedi's steps (Fig. 2 of the chapter):

1. The *old* broker keeps what a client that is away is owed (`Away`).
2. At the *new* one the client arrives with its filters (`Arriving`). They are subscribed, and what comes for the client
   is held back.
3. When they are in force, the new broker claims what the old one has kept.
4. The old one *flushes*: a question through the whole tree and back, twice, as for a confirmation. When the first round
   is back, all that was on its way before the claim has come; that much of the log is the client's *share*. When the
   second is back, all of the share that goes to the new broker, too, has come there.
5. The share is handed over in parts, the new broker asking for one after the other. It delivers the share and what it
   has held back since the old one's first question passed by, each event once, and says so (`Settled`); the old broker
   withdraws.

The chapter's old broker hands over as soon as it is asked, and duplicates are those that are in both logs. But an event
that it has delivered before the client left may come to the new one later, by a longer way, and is in no log; and where
routes are in place without a question through the whole tree (message and hierarchical forwarding) an event may still
be on its way to the old one, and the request, which goes directly, overtakes it. Hence the flush; it spares both a
memory of what has been delivered. What came to the new broker before the question passed by was ahead of it where the
two routes part, and so ahead of its answer on the way to the old one: there it was delivered before the client left, or
it is in the share. And what is in the share was ahead of the question of the second round: it does not come to the new
broker later.

A client that publishes does so when it has arrived, and is refused before. By then the flush has carried all that it
published at the old broker to everybody, so that its own events stay in order, too.

Until it hears that all is settled the old broker goes on keeping everything, beyond the share, too. So the client may
leave the new broker at any time, and the old one is still where its events are; a client says where it *may* have
stayed last, the latest first (`previous`), and each arrival has a higher number (`move`), so that whoever still waits
for it elsewhere gives up.

Bounds: so many events are kept for a client, and no more for its sake (the count of those that were dropped is
reported); a client that is away for too long is forgotten; claims that nobody answers are repeated so many times.

Left out: an old broker that has crashed has lost its log with all else it knew, unless its world keeps it
(`store/`); and the merged stream is in the order of each publisher, not in causal order.
"""

from dataclasses import dataclass, field

from regraft.broker.config import BrokerConfig
from regraft.broker.effects import (
    CancelTimer,
    Departed,
    Dismiss,
    Forward,
    HandedOff,
    HandoffOutcome,
    Keep,
    SendDirect,
    SetTimer,
)
from regraft.broker.inputs import ClientArrived, ClientAway
from regraft.broker.messages import Claim, Kept, KeptState, Settled
from regraft.broker.mobility.host import Host
from regraft.broker.mobility.merging import merged
from regraft.model.events import Event

CLAIM = "claim:"
HAND = "hand:"
FORGET = "forget:"
TIMERS = (CLAIM, HAND, FORGET)
NOT_YET = -1
FLUSHES_MAX = 16  # of one broker, while it is asked; the oldest is forgotten


@dataclass(slots=True)
class Away:
    """A client that has left. `move` is the arrival that brought it here, `claim` the one elsewhere for which
    `claimant` asks; `share` how much of the log is for that, once it is known, and `came` what it may be."""

    move: int
    log: list[Event]
    dropped: int = 0
    claimant: str = ""
    claim: int = 0
    came: int = 0
    flush: int = 0  # the number of the questions by which `came` is known
    share: int = NOT_YET
    handed: int = 0  # how often the last part has been


@dataclass(slots=True)
class Arriving:
    """A client that has come. `previous` are the brokers still to be asked, the first of them now; `missing` its
    filters that are not in force yet; `own` what we have kept since an earlier stay here."""

    move: int
    previous: tuple[str, ...]
    missing: dict[str, None]
    own: Away | None
    held: list[Event] = field(default_factory=list)
    log: list[Event] = field(default_factory=list)
    dropped: int = 0
    whole_from_ns: int = 0
    questions: dict[int, int] = field(default_factory=dict)  # flush -> how much was held when it was asked
    flush: int = NOT_YET  # that of the share
    claims: int = 0  # that nobody has answered
    outcome: HandoffOutcome = "unknown"


class Handoff:
    """`kept` names the clients that nothing is delivered to: what they are owed is given to `keep`."""

    def __init__(self, name: str, config: BrokerConfig, kept: dict[str, None], host: Host) -> None:
        self._name = name
        self._again_after_ns = config.claim_again_after_ns
        self._claims_max = config.claims_max
        self._kept_max = config.kept_per_client_max
        self._kept_for_ns = config.kept_for_ns
        self._part_max = config.kept_part_max
        self._part_bytes_max = config.kept_part_bytes_max
        self._kept = kept
        self._host = host
        self._away: dict[str, Away] = {}
        self._arriving: dict[str, Arriving] = {}
        self._stays: dict[str, int] = {}  # client -> the arrival that brought it here

    def keep(self, client: str, event: Event) -> None:
        arriving = self._arriving.get(client)
        place = arriving or self._away[client]
        log = self._away[client].log if arriving is None else arriving.held
        if len(log) >= self._kept_max:
            place.dropped += 1
            return
        log.append(event)
        if arriving is None or arriving.own is not None:
            self._host.emit(Keep(client, event))

    # --- the client

    def left(self, given: ClientAway) -> None:
        client = given.client
        if client in self._arriving:
            self._give_up(client)
        elif client not in self._away and (client in self._stays or self._host.has_subscriptions(client)):
            log = list(given.undelivered[: self._kept_max])
            self._keep_for(client, Away(self._stays.get(client, 0), log, len(given.undelivered) - len(log)))

    def arrived(self, given: ClientArrived, missing: dict[str, None]) -> None:
        """`missing`: its filters, which have to be in force before it has arrived."""
        client, host = given.client, self._host
        own = self._away.pop(client, None)
        self._stop(client)
        self._stays[client] = given.move
        if given.previous and (given.previous[0] != self._name or own is None):
            own = own if self._name in given.previous else None
            self._arriving[client] = Arriving(given.move, given.previous, missing, own)
            self._kept[client] = None
            for filter in list(missing):
                host.confirm(client, filter)
            if not missing:
                self._in_force(client)
            return
        dropped, log = (0, []) if own is None else (own.dropped, own.log)
        host.emit(HandedOff(client, given.move, "whole", dropped, host.now_ns()))
        self._deliver(client, log)

    def detached(self, client: str) -> None:
        self._arriving.pop(client, None)
        self._away.pop(client, None)
        self._stays.pop(client, None)
        self._stop(client)

    def came_in_force(self, client: str, filter: str) -> bool:
        """Whether the client is not told of it: until it has arrived, what is promised here may be given up, and the
        old broker knows nothing of it. What it has not been told it asks for again."""
        arriving = self._arriving.get(client)
        if arriving is None:
            return client in self._away
        self._no_longer_missing(client, arriving, filter)
        return True

    def taken_back(self, client: str, filter: str) -> None:
        arriving = self._arriving.get(client)
        if arriving is not None:
            self._no_longer_missing(client, arriving, filter)

    def _no_longer_missing(self, client: str, arriving: Arriving, filter: str) -> None:
        if filter in arriving.missing:
            del arriving.missing[filter]
            if not arriving.missing:
                self._in_force(client)

    # --- the new broker

    def _in_force(self, client: str) -> None:
        self._arriving[client].whole_from_ns = self._host.now_ns()
        self._ask(client)

    def _ask(self, client: str) -> None:
        arriving, host = self._arriving[client], self._host
        if not arriving.previous:
            self._arrive(client)
        elif arriving.previous[0] != self._name:
            arriving.claims += 1
            host.emit(SendDirect(arriving.previous[0], Claim(client, arriving.move, len(arriving.log))))
            host.emit(SetTimer(CLAIM + client, self._again_after_ns))
        elif arriving.own is not None:
            arriving.log, arriving.outcome = arriving.own.log, "whole"
            arriving.dropped += arriving.own.dropped
            self._arrive(client)
        else:
            self._ask_next(client)

    def _ask_next(self, client: str) -> None:
        arriving = self._arriving[client]
        arriving.previous = arriving.previous[1:]
        arriving.claims = 0
        arriving.log = []
        self._ask(client)

    def was_kept(self, broker: str, message: Kept) -> None:
        client = message.client
        arriving = self._arriving.get(client)
        if arriving is None or arriving.missing or (arriving.move, arriving.previous[0]) != (message.move, broker):
            if arriving is None and message.state == "last" and self._stays.get(client) == message.move:
                self._host.emit(SendDirect(broker, Settled(client, message.move)))  # it has not heard that we have all
            return
        arriving.claims = 0
        if message.state == "unknown":
            self._ask_next(client)
        elif message.state != "wait" and message.first == len(arriving.log):
            arriving.log += message.events
            if message.state == "part":
                self._ask(client)
                return
            arriving.dropped += message.dropped
            arriving.outcome, arriving.flush = "whole", message.flush
            self._host.emit(SendDirect(broker, Settled(client, message.move)))
            self._arrive(client)

    def _arrive(self, client: str) -> None:
        arriving = self._arriving.pop(client)
        self._stop(client)
        outcome, dropped = arriving.outcome, arriving.dropped
        self._host.emit(HandedOff(client, arriving.move, outcome, dropped, arriving.whole_from_ns))
        known = arriving.questions.get(arriving.flush, 0)
        self._deliver(client, merged(arriving.log, arriving.held[known:]))

    def questioned(self, broker: str, flush: int) -> None:
        """This broker flushes. All that has come here before has come there, or will before it knows its share."""
        for arriving in self._arriving.values():
            if not arriving.missing and arriving.previous[0] == broker:
                arriving.questions = {
                    flush: len(arriving.held),
                    **dict(list(arriving.questions.items())[: FLUSHES_MAX - 1]),
                }

    def _deliver(self, client: str, events: list[Event]) -> None:
        for event in events:
            self._host.emit(Forward(event, (), (client,)))

    def _give_up(self, client: str) -> None:
        """The client has gone before it had arrived. What it is owed is where it was before."""
        arriving = self._arriving.pop(client)
        self._stop(client)
        if arriving.own is None:
            del self._stays[client]
            self._depart(client)
            return
        self._stays[client] = arriving.own.move
        self._keep_for(client, arriving.own)
        for event in arriving.held:
            self.keep(client, event)

    # --- the old broker

    def _keep_for(self, client: str, away: Away) -> None:
        away.claimant, away.claim, away.share = "", 0, NOT_YET
        self._away[client] = away
        self._kept[client] = None
        self._host.emit(SetTimer(FORGET + client, self._kept_for_ns))

    def claimed(self, broker: str, message: Claim) -> None:
        client = message.client
        if client in self._arriving and message.move > self._arriving[client].move:
            self._host.emit(Dismiss(client))
            self._give_up(client)
        away = self._away.get(client)
        if away is None and client not in self._arriving and self._is_newer(message):
            self._host.emit(Dismiss(client))  # its connection has not ended yet; `ClientAway` answers
            self._answer(broker, message, "wait")
        elif away is None or message.move <= away.move or message.move < away.claim:
            self._answer(broker, message, "unknown")
        elif message.move > away.claim:
            away.claimant, away.claim, away.came, away.share, away.handed = broker, message.move, 0, NOT_YET, 0
            self._host.emit(CancelTimer(HAND + client))
            self._answer(broker, message, "wait")
            self._host.flush(client)
        elif broker != away.claimant:
            self._answer(broker, message, "unknown")
        elif away.share == NOT_YET:
            self._answer(broker, message, "wait")
        else:
            self._hand(client, away, message.have)

    def _is_newer(self, message: Claim) -> bool:
        client = message.client
        if client in self._stays:
            return message.move > self._stays[client]
        return self._host.has_subscriptions(client)

    def _answer(self, broker: str, message: Claim, state: KeptState) -> None:
        self._host.emit(SendDirect(broker, Kept(message.client, message.move, state)))

    def half_flushed(self, flush: int) -> None:
        """All that was under way when these questions went out has come."""
        for away in self._away.values():
            if away.share == NOT_YET:
                away.came, away.flush = len(away.log), flush

    def flushed(self, client: str) -> None:
        away = self._away.get(client)
        if away is not None and away.claimant and away.share == NOT_YET:
            away.share = away.came
            self._hand(client, away, 0)

    def _hand(self, client: str, away: Away, have: int) -> None:
        assert away.share != NOT_YET
        have = min(have, away.share)
        end = self._end_of_part(away.log, have, away.share)
        state: KeptState = "last" if end == away.share else "part"
        events = tuple(away.log[have:end])
        self._host.emit(
            SendDirect(away.claimant, Kept(client, away.claim, state, have, events, away.dropped, away.flush))
        )
        if state == "last":
            self._host.emit(SetTimer(HAND + client, self._again_after_ns))

    def _end_of_part(self, log: list[Event], begin: int, end: int) -> int:
        """As many as there is room for in one message, and at least one."""
        size = 0
        for place in range(begin, min(begin + self._part_max, end)):
            size += _size(log[place])
            if size > self._part_bytes_max and place > begin:
                return place
        return min(begin + self._part_max, end)

    def settled(self, broker: str, message: Settled) -> None:
        away = self._away.get(message.client)
        if away is not None and (away.claimant, away.claim) == (broker, message.move):
            self.detached(message.client)
            self._depart(message.client)

    # --- time

    def timer_fired(self, name: str) -> None:
        kind, _, client = name.partition(":")
        if kind == "forget":
            self.detached(client)
            self._depart(client)
        elif kind == "claim":
            arriving = self._arriving[client]
            if arriving.claims < self._claims_max:
                self._ask(client)
            else:
                arriving.outcome = "unanswered"
                self._ask_next(client)
        else:
            away = self._away[client]
            away.handed += 1
            if away.handed < self._claims_max:
                self._hand(client, away, away.share)

    def _depart(self, client: str) -> None:
        self._host.withdraw(client)
        self._host.emit(Departed(client))

    def _stop(self, client: str) -> None:
        if client not in self._kept:
            return
        del self._kept[client]
        self._host.forget_flush(client)
        for kind in TIMERS:
            self._host.emit(CancelTimer(kind + client))

    def check(self) -> None:
        assert {*self._kept} == {*self._away, *self._arriving}
        assert not any(client in self._arriving for client in self._away)
        assert all(client in self._stays for client in self._arriving)


def _size(event: Event) -> int:
    """About what it takes in a message."""
    texts = sum(len(name) + (len(value) if isinstance(value, str) else 9) for name, value in event.attributes.items())
    return len(event.payload) + texts + len(event.publisher) + 32

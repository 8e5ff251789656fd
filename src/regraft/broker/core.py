"""The brain: one broker as a state machine. Inputs in, effects out; no clock, socket, file or dice.

`handle` is the only entry, but for `route`, which says the same as `handle` of an event that was received and makes no
objects on the way. The parts (routing, confirmation, reconfiguration) do not know each other; this module owns them and
translates between them. Events take the short way: one look-up in the catalogue, one AND for each neighbour
(`routing/ways.py`). Everything else changes the subscription table and then *settles* it: each neighbour is told the
difference between what it has been told and what it ought to be (see `routing/table.py`).
"""

from typing import assert_never

from regraft.broker.attending import Attending
from regraft.broker.catalogue import FilterCatalogue, parse_filter
from regraft.broker.config import BrokerConfig
from regraft.broker.effects import Effect, Forward, PeerMisbehaved, Refuse, Route
from regraft.broker.exchanging import Exchanging
from regraft.broker.inputs import (
    ClientArrived,
    ClientAway,
    ClientDetached,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    EndFound,
    ExchangeOrdered,
    Input,
    JoinOrdered,
    LeaveOrdered,
    LinkDown,
    LinkRefused,
    LinkUp,
    ParentAssigned,
    PathFound,
    Received,
    ReceivedDirect,
    TablesDiffer,
    TimerFired,
)
from regraft.broker.membership import Membership
from regraft.broker.messages import (
    Compare,
    Confirm,
    Confirmed,
    Control,
    Graft,
    Gray,
    Informed,
    Lock,
    Reroute,
    Rerouted,
    Signal,
    Subscribe,
    Unsubscribe,
    change_name,
)
from regraft.broker.messages import Membership as MembershipMessage
from regraft.broker.replacing import Replacing
from regraft.broker.routing import Confirmation, KnownWays, Settlement, Ways, confirmation, forwarding_strategy
from regraft.broker.routing.confirmation import EVERYTHING
from regraft.errors import FilterError
from regraft.matching import slots
from regraft.model.events import Event

NOBODY = ""


class Broker:
    """One broker. `table` and `confirmation` may be read by a world's checkers; nobody else writes them."""

    def __init__(self, name: str, config: BrokerConfig, catalogue: FilterCatalogue) -> None:
        self.name = name
        self.config = config
        self._catalogue = catalogue
        self._matched = catalogue.matched
        self._forwarding = forwarding_strategy(config.forwarding, catalogue, covering=config.covering)
        self._settlement = Settlement(
            catalogue,
            self._forwarding,
            covering=config.covering,
            batch=config.batch,
            withheld=self._withheld,
            emit=self._emit,
        )
        self.table = self._settlement.table
        self.confirmation = Confirmation(
            name, config.confirm_again_after_ns, config.probes_max, self._carriers, self._is_laid
        )
        self._replacing = Replacing(name, config, catalogue, self._settlement, hold=self._hold, emit=self._emit)
        self._exchanging = Exchanging(
            name,
            config,
            self._settlement,
            self._forwarding,
            self._replacing,
            catalogue=catalogue,
            hold=self._hold,
            emit=self._emit,
            now_ns=self._now,
            process=self._control,
            locked=self._locked,
            is_member=self.is_member,
        )
        self._attending = Attending(
            name,
            config,
            catalogue,
            self._settlement,
            self.confirmation,
            hold=self._hold,
            release=self._release_unused,
            emit=self._emit,
            now_ns=self._now,
        )
        self.confirmation.watcher = self._attending.handoff
        self._membership = Membership(config.held_back_max, self._emit, self._publish)
        self.is_locked = False
        self._incarnations: dict[str, int] = {}
        self._ways = KnownWays()
        self._held = 0  # the filters that we hold in the catalogue
        self._now_ns = 0  # of the input in hand
        self._effects: list[Effect] = []

    def handle(self, now_ns: int, event: Input) -> list[Effect]:
        """Take one input; the effects are to be carried out in order."""
        self._now_ns = now_ns
        match event:
            case Received():
                if isinstance(event.message, Event):
                    return self._forward(event.message, event.neighbour)
                if isinstance(event.message, Gray):
                    return self._forward(event.message.event, event.neighbour, event.message.exchange)
                self._control(event.neighbour, event.message)
            case ClientPublished() if event.event.publisher in self.table.kept:
                self._effects.append(Refuse(event.event.publisher, "it has not arrived yet"))
            case ClientPublished() if self.is_member():
                return self._forward(event.event, NOBODY)
            case ClientPublished():
                self._membership.published(event.event)
            case JoinOrdered():
                self._membership.join_ordered()
            case LeaveOrdered():
                self._membership.leave_ordered(tuple(self.table.heard), self.table.local != 0, self.is_locked)
            case ExchangeOrdered():
                self._exchanging.protocol.ordered(event)
            case LinkRefused():
                self._exchanging.protocol.link_refused(event.neighbour, event.exchange)
            case TablesDiffer():
                self._exchanging.tables_differ(event.neighbour)
            case LinkUp():
                self._link_up(event)
            case LinkDown():
                self._link_down(event)
            case PathFound() | EndFound():
                change = change_name(self.name, event.neighbour, event.incarnation, comes=False)
                self._replacing.found(change, event)
                self._release_unused()
            case ReceivedDirect():
                if isinstance(event.message, Informed):
                    self._replacing.informed.told_by(event.broker, event.message)
                else:
                    self._attending.told(event.broker, event.message)
            case ParentAssigned():
                self._parent_assigned(event)
            case TimerFired():
                self._timer_fired(event)
            case ClientSubscribed() | ClientArrived() if self._membership.standing == "leaving":
                self._effects.append(Refuse(event.client, "the broker leaves the network"))
            case ClientSubscribed() | ClientUnsubscribed() | ClientDetached() | ClientAway() | ClientArrived():
                self._attending.take(event)
            case _:
                assert_never(event)
        self._ways.clear()
        return self._translated()

    def _translated(self) -> list[Effect]:
        """What has been emitted, in order, as it leaves the broker; what follows from an effect comes right after."""
        effects, self._effects = self._effects, []
        out = []
        for effect in effects:
            translated = self._attending.translate(effect)
            if translated is not None:
                out.append(translated)
            if self._effects:
                out += self._translated()
        return out

    def _emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def _now(self) -> int:
        return self._now_ns

    def _withheld(self) -> int:
        return self._replacing.withheld

    def is_member(self) -> bool:
        """Whether it is neither about to join the network nor to leave it."""
        return self._membership.standing == "member"

    # --- the data plane

    def route(self, came_from: str, event: Event) -> Route:
        """Where an event goes that a neighbour sent: what `handle(now, Received(came_from, event))` says while the
        broker `is_locked` for no exchange, and where the route `keeps` nothing. A world that records its inputs
        records that."""
        ways = self._ways.get(came_from)
        if ways is None:
            ways = self._ways[came_from] = Ways(self.table, self._forwarding.always(self.table), came_from)
        matched = self._matched.get(event)
        return ways.route(self._catalogue.match(event) if matched is None else matched)

    def _forward(self, event: Event, came_from: str, exchange: str = "") -> list[Effect]:
        if self.is_locked:
            self._effects += self._exchanging.route(event, came_from, exchange)
            return self._translated()
        route = self.route(came_from, event)
        if not route.neighbours and not route.clients:
            return []
        forward = Forward(event, route.neighbours, route.clients)
        if not route.keeps:
            return [forward]
        self._effects.append(forward)
        return self._translated()

    def _publish(self, event: Event) -> None:
        """An event that was held back, while something else is handled."""
        self._ways.clear()
        if self.is_locked:
            self._effects += self._exchanging.route(event, NOBODY, "")
        else:
            route = self.route(NOBODY, event)
            if route.neighbours or route.clients:
                self._effects.append(Forward(event, route.neighbours, route.clients))

    # --- the control plane: neighbours

    def _control(self, neighbour: str, message: Control) -> None:
        if self._exchanging.protocol.holds(neighbour, message):
            return
        if neighbour not in self.table.heard:
            if not self._exchanging.is_of_no_tree(neighbour):
                self._effects.append(PeerMisbehaved(neighbour, "a message without a link"))
                return
            of_a_tree = isinstance(message, MembershipMessage | Reroute | Rerouted)
            if of_a_tree or (isinstance(message, Confirm) and not self.is_locked):
                self._exchanging.protocol.out_of_turn(neighbour, "a question over a link that is of no tree")
                return
        match message:
            case Subscribe():
                self._subscribed(neighbour, message)
            case Unsubscribe():
                self._unsubscribed(neighbour, message)
            case Confirm():
                self._effects += self.confirmation.asked(self._now_ns, neighbour, message)
            case Confirmed():
                self._effects += self.confirmation.answered(self._now_ns, neighbour, message)
            case Lock() | Graft() | Compare() | Signal():
                self._exchanging.protocol.received(neighbour, message)
                self._release_unused()
            case Reroute() | Rerouted():
                self._replacing.received(neighbour, message)
                self._effects += self.confirmation.routes_lost(self._now_ns, neighbour)
                self._release_unused()
            case MembershipMessage():
                self._membership.said(neighbour, message)
            case _:
                assert_never(message)

    def _subscribed(self, neighbour: str, message: Subscribe) -> None:
        tables = self._settlement.spoken_of(neighbour, message.exchange, message.before)
        used = 0
        for table in tables:
            used = max(used, table.heard[neighbour].bit_count())
        room = self.config.filters_per_neighbour_max - used
        if len(message.filters) > room:
            reason = f"asks for more than {self.config.filters_per_neighbour_max} filters"
            self._effects.append(PeerMisbehaved(neighbour, reason))
        asked = 0
        for text in message.filters[:room] if tables else ():
            asked |= self._hold(text, neighbour)
        changed = self._settlement.hear(neighbour, asked, message.exchange, message.before)
        changed |= self._replacing.informed.came_back(asked)
        self._settlement.settle(changed, message.reconfiguration)

    def _unsubscribed(self, neighbour: str, message: Unsubscribe) -> None:
        taken_back = 0
        for text in message.filters:
            taken_back |= self._catalogue.bit(text)
        taken_back &= ~self._replacing.path.ignored(neighbour)
        changed = self._settlement.take_back(neighbour, taken_back, message.exchange, message.before)
        self._replacing.taken_back(taken_back)
        self._settlement.settle(changed, message.reconfiguration)
        self._effects += self.confirmation.routes_lost(self._now_ns, neighbour)
        self._release_unused()

    def _locked(self, is_locked: bool) -> None:
        """Called by the exchange that this broker takes part in, at its beginning and at its end."""
        self.is_locked = is_locked
        confirmation = self.confirmation
        self._effects += confirmation.stand_still(self._now_ns) if is_locked else confirmation.go_on(self._now_ns)

    # --- the control plane: links

    def _link_up(self, event: LinkUp) -> None:
        neighbour = event.neighbour
        assert neighbour not in self.table.heard, f"{neighbour} is up twice: the world owed us a LinkDown"
        self._incarnations[neighbour] = event.incarnation
        if event.exchange:
            self._exchanging.protocol.link_up(neighbour, event.exchange)
            return
        for table in self._settlement.tables():
            table.open(neighbour)
        change = event.announced or change_name(self.name, neighbour, event.incarnation, comes=True)
        if event.announced:
            self._replacing.link_announced(neighbour, change)
        # Fig. 7 of sem02, sendSubsToNewLink: all that we want for anyone but the other end
        self._settlement.settle(self._settlement.wanted(), change)
        self._membership.link_up(neighbour)
        self._effects += self.confirmation.tree_changed(self._now_ns, None)

    def _link_down(self, event: LinkDown) -> None:
        neighbour = event.neighbour
        assert neighbour in self._incarnations, f"{neighbour} is down without having been up"
        change = change_name(self.name, neighbour, self._incarnations.pop(neighbour), comes=False)
        if neighbour not in self.table.heard:
            self._exchanging.protocol.link_lost(neighbour, is_of_tree=False)
            return
        orphaned = 0
        for table in self._settlement.tables():
            if neighbour in table.heard:  # the tree to come may have lost it before
                orphaned |= table.close(neighbour)
        self._replacing.link_lost(neighbour, change, orphaned)
        self._exchanging.protocol.link_lost(neighbour, is_of_tree=True)
        self._settlement.settle(orphaned, change)
        self._effects += self.confirmation.tree_changed(self._now_ns, neighbour)
        self._membership.link_lost(neighbour)
        self._release_unused()

    def _parent_assigned(self, event: ParentAssigned) -> None:
        self._forwarding.assign_parent(event.neighbour)
        self._settlement.settle(self.table.in_use(), "overlay")
        self._effects += self.confirmation.tree_changed(self._now_ns, None)

    def _timer_fired(self, event: TimerFired) -> None:
        if event.name == confirmation.TIMER:
            self._effects += self.confirmation.rested(self._now_ns)
            return
        if self._attending.timer_fired(event.name) or self._exchanging.protocol.timer_fired(event.name):
            return
        self._replacing.timer_fired(event.name)
        self._release_unused()

    # --- what all of them come down to

    def _carriers(self, asker: str, filters: tuple[str, ...]) -> list[str]:
        if EVERYTHING in filters:
            return [neighbour for neighbour in self.table.heard if neighbour != asker]
        return self._forwarding.carriers(self.table, asker)

    def _is_laid(self, neighbour: str, filters: tuple[str, ...]) -> bool:
        """Whether we route towards this neighbour all that satisfies these filters."""
        if neighbour in self._forwarding.always(self.table):
            return True
        heard = self.table.heard.get(neighbour, 0)  # an exchange may have taken the link out of the tree
        return all(self._catalogue.stand_for(text) & heard for text in filters if text != EVERYTHING)

    def _hold(self, text: str, neighbour: str) -> int:
        """The bit of a filter; 0, and a complaint, where a neighbour sent what is no canonical filter."""
        bit = self._catalogue.bit(text)
        if bit & self._held:
            return bit
        try:
            if not bit and parse_filter(text).text != text:
                self._effects.append(PeerMisbehaved(neighbour, f"not in canonical form: {text}"))
                return 0
        except FilterError as error:
            self._effects.append(PeerMisbehaved(neighbour, str(error)))
            return 0
        bit = 1 << self._catalogue.hold(text)
        self._held |= bit
        return bit

    def _release_unused(self) -> None:
        unused = self._held & ~(self._settlement.in_use() | self._replacing.withheld)
        for slot in slots(unused):
            self._catalogue.release(slot)
        self._held &= ~unused

    def check(self) -> None:
        """What holds between any two inputs; a violation is a bug of ours."""
        assert self._settlement.in_use() & ~self._held == 0
        assert self.is_locked == (self._settlement.after is not None) == (self._exchanging.protocol.part is not None)
        self._settlement.check(self.name)
        self._attending.handoff.check()

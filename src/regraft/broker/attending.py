"""What a broker does for its own clients: their subscriptions, and what is kept for those that are not there.

`translate` is the one place where what the other parts want for a client meets the hand-off: an event for a client that
is away, or has not arrived yet, is kept and not delivered, and what the hand-off has asked for is not told to clients.
"""

from collections.abc import Callable
from typing import assert_never

from regraft.broker.catalogue import FilterCatalogue, parse_filter
from regraft.broker.config import BrokerConfig
from regraft.broker.effects import Effect, Forward, PeerMisbehaved, Refuse, TellInForce
from regraft.broker.inputs import ClientArrived, ClientAway, ClientDetached, ClientSubscribed, ClientUnsubscribed
from regraft.broker.messages import Claim, HandoffMessage, Kept
from regraft.broker.mobility import TIMERS, Handoff
from regraft.broker.routing import Confirmation, Settlement
from regraft.broker.routing.confirmation import EVERYTHING
from regraft.errors import FilterError
from regraft.matching import slots

ClientInput = ClientSubscribed | ClientUnsubscribed | ClientDetached | ClientAway | ClientArrived

FLUSHER = "\n"  # in front of a client's name: who asks that all be flushed for it; no client's name begins so


class Attending:
    """The host of the hand-off. `hold` gives the bit of a filter, `release` lets those go that nobody uses."""

    def __init__(
        self,
        name: str,
        config: BrokerConfig,
        catalogue: FilterCatalogue,
        settlement: Settlement,
        confirmation: Confirmation,
        *,
        hold: Callable[[str, str], int],
        release: Callable[[], None],
        emit: Callable[[Effect], None],
        now_ns: Callable[[], int],
    ) -> None:
        self.emit = emit
        self.now_ns = now_ns
        self._catalogue = catalogue
        self._settlement = settlement
        self._table = settlement.table
        self._confirmation = confirmation
        self._hold = hold
        self._release = release
        self.handoff = Handoff(name, config, settlement.table.kept, self)

    def take(self, given: ClientInput) -> None:
        match given:
            case ClientSubscribed():
                self._subscribed(given)
            case ClientUnsubscribed():
                self._unsubscribed(given)
            case ClientDetached():
                self.handoff.detached(given.client)
                self.withdraw(given.client)
            case ClientAway():
                self.handoff.left(given)
            case ClientArrived():
                self._arrived(given)
            case _:
                assert_never(given)

    # --- what clients want

    def _subscribed(self, event: ClientSubscribed) -> None:
        try:
            text = parse_filter(event.filter).text
        except FilterError as error:
            self.emit(Refuse(event.client, str(error)))
            return
        self._subscribe(event.client, text)
        if event.confirm:
            self.confirm(event.client, text)

    def _subscribe(self, client: str, text: str) -> None:
        bit = self._hold(text, "")
        if self._table.subscribe(client, bit.bit_length() - 1):
            self._settlement.settle(bit, "")

    def confirm(self, client: str, text: str) -> None:
        for effect in self._confirmation.ask(self.now_ns(), client, text):
            self.emit(effect)

    def _unsubscribed(self, event: ClientUnsubscribed) -> None:
        client = event.client
        try:
            text = parse_filter(event.filter).text
        except FilterError as error:
            self.emit(Refuse(client, str(error)))
            return
        bit = self._catalogue.bit(text)
        if not self._table.clients.get(client, 0) & bit:
            self.emit(Refuse(client, f"{client} has no subscription {text}"))
            return
        self._take_back(client, bit.bit_length() - 1)
        self._release()
        self.handoff.taken_back(client, text)

    def _arrived(self, event: ClientArrived) -> None:
        try:
            texts = [parse_filter(filter).text for filter in event.filters]
        except FilterError as error:
            self.emit(Refuse(event.client, str(error)))
            return
        self.handoff.left(ClientAway(event.client))  # if it is here, or about to arrive: for the sake of order
        for slot in slots(self._table.clients.get(event.client, 0)):
            if self._catalogue.text(slot) not in texts:
                self._take_back(event.client, slot)
        for text in texts:
            self._subscribe(event.client, text)
        self._release()
        self.handoff.arrived(event, dict.fromkeys(texts))

    def _take_back(self, client: str, slot: int) -> None:
        self._table.unsubscribe(client, slot)
        self._confirmation.forget(client, self._catalogue.text(slot))
        self._settlement.settle(1 << slot, "")

    # --- what the hand-off asks for

    def has_subscriptions(self, client: str) -> bool:
        return client in self._table.clients

    def withdraw(self, client: str) -> None:
        filters = self._table.clients.get(client, 0)
        for slot in slots(filters):
            self._table.unsubscribe(client, slot)
            self._confirmation.forget(client, self._catalogue.text(slot))
        self._settlement.settle(filters, "")
        self._release()

    def flush(self, client: str) -> None:
        self.forget_flush(client)
        self.confirm(FLUSHER + client, EVERYTHING)

    def forget_flush(self, client: str) -> None:
        self._confirmation.forget(FLUSHER + client, EVERYTHING)

    # --- what comes of it

    def told(self, broker: str, message: HandoffMessage) -> None:
        if min(message.move, message.have if isinstance(message, Claim) else 0) < 0:
            self.emit(PeerMisbehaved(broker, "a number below 0"))
        elif isinstance(message, Claim):
            self.handoff.claimed(broker, message)
        elif isinstance(message, Kept):
            self.handoff.was_kept(broker, message)
        else:
            self.handoff.settled(broker, message)

    def timer_fired(self, name: str) -> bool:
        """Whether it was one of the hand-off's."""
        if not name.startswith(TIMERS):
            return False
        self.handoff.timer_fired(name)
        return True

    def translate(self, effect: Effect) -> Effect | None:
        """The effect as it leaves the broker; what follows from it is emitted."""
        if isinstance(effect, Forward):
            return self._kept_from(effect) if self._table.kept and effect.clients else effect
        if isinstance(effect, TellInForce):
            if effect.filter == EVERYTHING:
                self.handoff.flushed(effect.client.removeprefix(FLUSHER))
                return None
            return None if self.handoff.came_in_force(effect.client, effect.filter) else effect
        return effect

    def _kept_from(self, effect: Forward) -> Effect | None:
        kept = self._table.kept
        clients = tuple(client for client in effect.clients if client not in kept)
        for client in effect.clients:
            if client in kept:
                self.handoff.keep(client, effect.event)
        if not clients and not effect.neighbours and not effect.gray:
            return None
        return Forward(effect.event, effect.neighbours, clients, effect.gray, effect.exchange)

"""What a broker does for an exchange: the steps of `reconfiguration/coordinated.py`, carried out on its tables."""

from collections.abc import Callable

from regraft.broker.catalogue import FilterCatalogue
from regraft.broker.config import BrokerConfig
from regraft.broker.effects import Effect, Forward, Send
from regraft.broker.grafting import Grafting
from regraft.broker.messages import Control, Signal
from regraft.broker.reconfiguration import Coordinated
from regraft.broker.replacing import Replacing
from regraft.broker.routing import ForwardingStrategy, Settlement
from regraft.model.events import Event


class Exchanging:
    """The host of the protocol. `confirm_again` lets confirmations go on, which stand still while a broker is locked;
    `process` takes a control message as if it came now."""

    def __init__(
        self,
        name: str,
        config: BrokerConfig,
        settlement: Settlement,
        forwarding: ForwardingStrategy,
        replacing: Replacing,
        *,
        catalogue: FilterCatalogue,
        hold: Callable[[str, str], int],
        emit: Callable[[Effect], None],
        now_ns: Callable[[], int],
        process: Callable[[str, Control], None],
        locked: Callable[[bool], None],
        is_member: Callable[[], bool],
    ) -> None:
        self.protocol = Coordinated(
            name,
            self,
            retry_after_ns=config.lock_again_after_ns,
            attempts_max=config.lock_attempts_max,
            held_max=config.held_back_max,
        )
        self.emit = emit
        self.now_ns = now_ns
        self.process = process
        self.is_member = is_member
        self._settlement = settlement
        self._forwarding = forwarding
        self._replacing = replacing
        self.grafting = Grafting(settlement, catalogue, batch=config.batch, hold=hold, emit=emit, process=process)
        self._match = catalogue.match
        self._locked = locked

    def has_link(self, neighbour: str) -> bool:
        return neighbour in self._settlement.table.heard

    def is_of_no_tree(self, neighbour: str) -> bool:
        """Whether there is a link to this neighbour that does not belong to the tree yet, or any more."""
        return neighbour in self.protocol.opened or neighbour in self.protocol.retired

    # --- what the protocol asks for

    def fork(self, exchange: str, shared: tuple[str, ...]) -> None:
        self._settlement.fork(exchange, shared)
        self._locked(True)

    def leave(self, neighbour: str) -> None:
        after = self._settlement.after
        assert after is not None
        self._settlement.settle(after.close(neighbour), self._settlement.exchange)

    def join(self, neighbour: str) -> None:
        after = self._settlement.after
        assert after is not None
        after.open(neighbour)
        once, _ = after.once_and_twice()
        self._settlement.settle(once, self._settlement.exchange)

    def adopt(self) -> None:
        exchange = self._settlement.exchange
        self._settlement.adopt()
        self._settlement.settle(self._settlement.in_use(), exchange)
        self._locked(False)

    def drop(self) -> None:
        exchange = self._settlement.exchange
        self._settlement.drop()
        self._settlement.settle(self._settlement.in_use(), exchange)

    def unlock(self) -> None:
        """After `drop`, once the neighbours have been told; questions to them may follow now, and not before."""
        self._locked(False)

    def begin_anew(self, neighbour: str) -> None:
        """The neighbour says everything again."""
        if neighbour not in self._settlement.table.heard:
            self._settlement.table.open(neighbour)
        self._replacing.lost_anew(neighbour)

    def tell_all(self, neighbour: str, first: Signal) -> None:
        settlement = self._settlement
        self.emit(Send(neighbour, first))
        for table in settlement.tables():
            if neighbour in table.told:
                table.told[neighbour] = 0
        settlement.settle(settlement.in_use(), first.exchange)

    def tables_differ(self, neighbour: str) -> None:
        """Both ends say everything again, as after an exchange that was broken off."""
        protocol = self.protocol
        if protocol.part is None and self.has_link(neighbour) and ("", neighbour) not in protocol.anew:
            protocol.anew["", neighbour] = None
            self.tell_all(neighbour, Signal("", "abort"))

    # --- events on the cycle

    def route(self, event: Event, came_from: str, exchange: str) -> list[Effect]:
        """By the tree of the event's colour; or nowhere yet."""
        protocol = self.protocol
        if protocol.held_back(event, came_from):
            return []
        after = self._settlement.after
        assert after is not None
        gray = protocol.is_gray(came_from, exchange)
        table = after if gray else self._settlement.table
        matched = self._match(event)
        always = self._forwarding.always(table)
        neighbours = [
            neighbour
            for neighbour, filters in table.heard.items()
            if (filters & matched or neighbour in always) and neighbour != came_from
        ]
        clients = self._settlement.table.interested_clients(matched)
        if not neighbours and not clients:
            return []
        if not gray:
            return [Forward(event, tuple(neighbours), clients)]
        part = protocol.part
        assert part is not None
        on_cycle = tuple(neighbour for neighbour in neighbours if neighbour in (part.previous, part.following))
        others = tuple(neighbour for neighbour in neighbours if neighbour not in on_cycle)
        return [Forward(event, others, clients, on_cycle, part.exchange if on_cycle else "")]

    def route_gray(self, event: Event, came_from: str) -> None:
        for effect in self.route(event, came_from, ""):
            self.emit(effect)

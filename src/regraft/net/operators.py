"""Operators of a live broker: they ask how it is, and have links exchanged, opened and closed.

Whoever reaches the broker's port may operate it, as there is no authentication; hence it listens on loopback unless it
is told otherwise.
"""

from typing import TYPE_CHECKING, Any

from regraft.broker.inputs import EndFound, ExchangeOrdered, PathFound
from regraft.broker.reconfiguration.cycle import is_way
from regraft.errors import UsageError
from regraft.net.connection import Line
from regraft.net.settings import split_link_address
from regraft.net.talk import (
    AskStatus,
    Denied,
    Done,
    Ended,
    Exchange,
    Found,
    Introduce,
    Link,
    LinkStatus,
    OperatorWelcome,
    Status,
    Unlink,
    from_operator,
)
from regraft.net.wire import WireError, decode_control

if TYPE_CHECKING:
    from regraft.net.host import Host

SECOND_NS = 1_000_000_000


class Operator:
    """One operator's connection."""

    def __init__(self, host: "Host", line: Line) -> None:
        self.line = line
        self._host = host
        line.say(OperatorWelcome(host.name))

    def event(self, data: bytes, begin: int, end: int) -> None:
        raise WireError("an operator does not publish")

    def control(self, body: bytes) -> None:
        host = self._host
        message: Any = decode_control(from_operator, body)
        match message:
            case AskStatus(serial=serial):
                self.line.say(host.operators.status(serial))
            case Exchange(serial=serial):
                host.operators.order(self, message)
            case Introduce(serial=serial, name=name, address=address):
                try:
                    split_link_address(address)
                except UsageError as error:
                    self.line.say(Denied(serial, str(error)))
                    return
                host.links.addresses[name] = address
                self.line.say(Done(serial))
            case Found():
                self._found(message)
            case Link(serial=serial, name=name):
                if name not in host.links.addresses or name == host.name:
                    self.line.say(Denied(serial, f"{host.name} does not know where {name} is"))
                    return
                host.links.want(name, message.announced)
                self.line.say(Done(serial))
            case Unlink(serial=serial, name=name):
                if name not in host.links.up and name not in host.links.wanted:
                    self.line.say(Denied(serial, f"{host.name} and {name} are not linked"))
                    return
                host.links.close(name, "an operator has ended it", for_good=True)
                self.line.say(Done(serial))

    def _found(self, found: Found) -> None:
        host, way = self._host, found.way
        if not is_way(way, found.near) or {host.name, found.name} != {way[0], way[-1]}:
            self.line.say(Denied(found.serial, f"{' '.join(way)} does not lead from {host.name} to {found.name}"))
        elif (protocol := host.settings.core.reconfiguration) not in ("path", "informed"):
            self.line.say(Denied(found.serial, f"{host.name} runs {protocol}, which needs to know of no new link"))
        elif found.name in host.links.up:
            self.line.say(Denied(found.serial, f"{host.name} and {found.name} are linked"))
        else:
            if protocol == "path":
                host.give(PathFound(found.name, found.incarnation, way, found.near))
            else:
                new_end = way[found.near - 1] if host.name == way[0] else way[found.near]
                host.give(EndFound(found.name, found.incarnation, new_end))
            self.line.say(Done(found.serial))

    def ended(self, reason: str) -> None:
        self._host.operators.gone(self)


class Operators:
    def __init__(self, host: "Host") -> None:
        self._host = host
        self._waiting: dict[str, tuple[Operator, int]] = {}  # exchange -> who ordered it

    def order(self, operator: Operator, asked: Exchange) -> None:
        if asked.exchange in self._waiting:
            operator.line.say(Denied(asked.serial, f"an exchange {asked.exchange} is under way"))
            return
        self._waiting[asked.exchange] = operator, asked.serial
        self._host.order_exchange(ExchangeOrdered(asked.exchange, asked.cycle, asked.near, asked.order, asked.routes))

    def exchange_ended(self, exchange: str, outcome: str) -> None:
        self._host.counters[f"exchanges_{outcome}"] += 1
        operator, serial = self._waiting.pop(exchange, (None, 0))
        if operator is not None:
            operator.line.say(Ended(serial, outcome))

    def leave_answered(self, reason: str) -> None:
        self._host.complain("leave", f"{self._host.name} stays: {reason}" if reason else f"{self._host.name} has left")

    def gone(self, operator: Operator) -> None:
        for exchange in [exchange for exchange, (who, _) in self._waiting.items() if who is operator]:
            del self._waiting[exchange]

    def status(self, serial: int) -> Status:
        host = self._host
        core = host.core
        sessions = host.sessions.by_name if host.sessions is not None else {}
        links = tuple(
            LinkStatus(
                neighbour=name,
                address=host.links.addresses.get(name, link.line.address),
                incarnation=link.incarnation,
                up=link.agreed,
                of_tree=name in core.table.heard,
                events_in=link.events_in,
                events_out=link.events_out,
                bytes_in=link.line.bytes_in,
                bytes_out=link.line.bytes_out,
                waiting_bytes=link.line.waiting_bytes,
                unsettled=host.returning.unsettled(name),
            )
            for name, link in sorted(host.links.up.items())
        )
        return Status(
            serial=serial,
            broker=host.name,
            address=host.settings.listen,
            link_address=host.settings.link_address,
            process=host.process,
            up_s=(host.now_ns() - host.up_since_ns) / SECOND_NS,
            reconfiguration=host.settings.core.reconfiguration,
            locked=core.is_locked,
            clients=len(host.guests.present),
            sessions=len(sessions),
            events_kept=sum(session.waiting for session in sessions.values()),
            events_held=host.returning.held,
            subscriptions=sum(len(recipient.filters) for recipient in host.guests.recipients.values()),
            filters=core.table.in_use().bit_count(),
            links=links,
            missing=tuple(sorted(name for name in host.links.wanted if name not in host.links.up)),
            counters=dict(sorted(host.all_counters().items())),
        )

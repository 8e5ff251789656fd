"""Connections that a broker opens to another: to greet it as a neighbour, or to say one thing."""

import asyncio
from typing import TYPE_CHECKING, Any, cast

from regraft.broker.inputs import ReceivedDirect
from regraft.broker.messages import DirectMessage
from regraft.net.connection import Line
from regraft.net.link import Link
from regraft.net.talk import Direct, Refused, broker_answers, from_afar
from regraft.net.wire import WireError, decode_control

if TYPE_CHECKING:
    from regraft.net.host import Host

REPLACED = "replaced"  # why a link ends for good


class Caller:
    """We have opened a connection and wait for the other broker's answer."""

    def __init__(self, host: "Host", name: str, exchange: str, outcome: "asyncio.Future[str]", line: Line) -> None:
        self._host = host
        self._name = name
        self._exchange = exchange
        self._outcome = outcome
        self._line = line
        self._announced = host.links.announced(name)
        line.say(host.links.hello(name, exchange, self._announced))

    def event(self, data: bytes, begin: int, end: int) -> None:
        raise WireError("an event before the greeting was answered")

    def control(self, body: bytes) -> None:
        answer: Any = decode_control(broker_answers, body)
        links = self._host.links
        if isinstance(answer, Refused):
            if answer.reason == REPLACED:
                links.replaced(self._name)
            self._fail(f"refused: {answer.reason}")
        elif answer.name != self._name:
            self._fail(f"the broker there is called {answer.name}")
        elif self._name in links.up or self._outcome.done():
            self._fail("it is linked already")
        elif answer.incarnation <= links.incarnation_of(self._name):
            self._fail("its incarnation is an old one")
        else:
            self._outcome.set_result("")
            link = Link(self._host, self._line, self._name, answer.identity, answer.incarnation, self._exchange)
            link.opened_here = True
            links.came_up(link, self._announced)

    def ended(self, reason: str) -> None:
        if not self._outcome.done():
            self._outcome.set_result(reason)

    def _fail(self, reason: str) -> None:
        if not self._outcome.done():
            self._outcome.set_result(reason)
        self._line.close(reason)


class Afar:
    """A broker that has something to say and need not be our neighbour."""

    def __init__(self, host: "Host", line: Line, hello: Direct) -> None:
        self._host = host
        self._line = line
        self._name = hello.name
        host.links.introduce(hello.name, hello.address)

    def event(self, data: bytes, begin: int, end: int) -> None:
        raise WireError("an event from a broker that is no neighbour")

    def control(self, body: bytes) -> None:
        message: DirectMessage = decode_control(from_afar, body)
        self._line.close("it has said what it had to say")
        self._host.give(ReceivedDirect(self._name, message))

    def ended(self, reason: str) -> None:
        pass


class Sender(asyncio.Protocol):
    """Says one thing; whatever is answered is not read."""

    def __init__(self, frames: bytes) -> None:
        self._frames = frames

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast(asyncio.Transport, transport)
        stream.write(self._frames)
        stream.close()

"""Exchanges that an operator has ordered of this broker: they wait for their lock, and try again where it collides."""

import zlib

from regraft.broker.effects import ExchangeEnded, ExchangeOutcome, SetTimer
from regraft.broker.inputs import ExchangeOrdered
from regraft.broker.reconfiguration.host import Host

TIMER_PREFIX = "exchange:"


class Orders:
    """Each until it is answered, after `attempts_max` collisions at the latest."""

    def __init__(self, name: str, host: Host, *, retry_after_ns: int, attempts_max: int) -> None:
        self._name = name
        self._host = host
        self._retry_after_ns = retry_after_ns
        self._attempts_max = attempts_max
        self._orders: dict[str, ExchangeOrdered] = {}
        self._attempts: dict[str, int] = {}

    def add(self, order: ExchangeOrdered) -> None:
        self._orders[order.exchange] = order
        self._attempts[order.exchange] = 0

    def get(self, exchange: str) -> ExchangeOrdered | None:
        return self._orders.get(exchange)

    def try_later(self, exchange: str) -> None:
        self._attempts[exchange] += 1
        attempt = self._attempts[exchange]
        if attempt >= self._attempts_max:
            self.ended(exchange, "busy")
            return
        # Two that collided must not collide again: a different wait for each, without dice in the brain.
        thousandths = 500 + zlib.crc32(f"{self._name} {exchange} {attempt}".encode()) % 1000
        wait_ns = self._retry_after_ns * 2 ** min(attempt - 1, 6) * thousandths // 1000
        self._host.emit(SetTimer(TIMER_PREFIX + exchange, wait_ns))

    def ended(self, exchange: str, outcome: ExchangeOutcome) -> None:
        if self._orders.pop(exchange, None) is not None:
            del self._attempts[exchange]
            self._host.emit(ExchangeEnded(exchange, outcome))

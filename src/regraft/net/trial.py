"""Links exchanged under load on a live overlay, and the account of it: what the demo shows and the benchmark measures.

At each broker there is a client that publishes at a steady rate and subscribes to a part of what all publish. Links are
exchanged, one after the other, for others that make a tree again, drawn from a seed. The account is the clients' own:
each knows what was published while all subscriptions were in force, what it was owed of that, and what it got.
"""

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from typing import Protocol

from regraft.broker.messages import Order
from regraft.errors import RegraftError
from regraft.model.events import Event, Value
from regraft.model.filters import Filter
from regraft.model.trees import Adjacency, Link, component
from regraft.net.bus import Bus
from regraft.net.operating import Cost, exchange, look_at
from regraft.net.processes import Processes

SYMBOLS = ("IBM", "SAP", "NVDA", "ASML")
SECOND_NS = 1_000_000_000
LATE_S = 3.0  # how long what is owed is waited for
EXCHANGE_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Trial:
    """Of one protocol. Messages, filters and bytes are those between brokers that exchanges can be the cause of."""

    protocol: str
    exchanges: int
    control_messages: int
    filters_carried: int
    control_bytes: int
    events_published: int
    deliveries_owed: int
    lost: int
    duplicated: int
    out_of_order: int
    longest_pause_ms: float


class Tell(Protocol):
    def __call__(self, done: int, of: int) -> None: ...


class Client:
    """Publishes and subscribes at one broker, and keeps account."""

    def __init__(self, bus: Bus, number: int) -> None:
        self.bus = bus
        self.filter = Filter.parse(f"symbol = '{SYMBOLS[number % len(SYMBOLS)]}' OR price > {100 + number}")
        self.published: list[Event] = []
        self.got: dict[str, list[int]] = {}
        self.pause_ns = 0
        self._last_ns = 0

    def take(self, event: Event) -> None:
        now_ns = time.monotonic_ns()
        if self._last_ns and now_ns - self._last_ns > self.pause_ns:
            self.pause_ns = now_ns - self._last_ns
        self._last_ns = now_ns
        self.got.setdefault(event.publisher, []).append(event.sequence)

    async def publish(self, rate_hz: float, dice: Random, stop: asyncio.Event) -> None:
        began, count = time.monotonic(), 0
        while not stop.is_set():
            while count < (time.monotonic() - began) * rate_hz:
                count += 1
                attributes: dict[str, Value] = {
                    "symbol": dice.choice(SYMBOLS),
                    "price": round(dice.uniform(80.0, 120.0), 2),
                }
                await self.bus.publish(attributes, b"x" * 20)
                self.published.append(Event(self.bus.name, count, attributes))
            await asyncio.sleep(0.002)

    def owed(self, publishers: "list[Client]") -> dict[str, list[int]]:
        return {
            other.bus.name: [event.sequence for event in other.published if self.filter.matches(event.attributes)]
            for other in publishers
        }


async def trial(
    brokers: Processes,
    protocol: str,
    order: Order,
    *,
    exchanges: int,
    rate_hz: float,
    seed: int,
    tell: Tell = lambda done, of: None,
) -> Trial:
    """`brokers` run, and are whole."""
    dice = Random(seed)
    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        for number, settings in enumerate(brokers.settings.values()):
            bus = await stack.enter_async_context(
                Bus(f"regraft://{settings.listen}", f"{settings.name}.{protocol.replace(' ', '_')}", EXCHANGE_WITHIN_S)
            )
            clients.append(Client(bus, number))
        for client in clients:
            await client.bus.subscribe(client.filter.text, callback=client.take).in_force()
        stop = asyncio.Event()
        publishing = [
            asyncio.create_task(client.publish(rate_hz, Random(f"{seed} {client.bus.name}"), stop))
            for client in clients
        ]
        await asyncio.sleep(0.2)
        costs: list[Cost] = []
        for number in range(exchanges):
            tell(number, exchanges)
            tree = (await look_at(brokers.addresses)).tree()
            removed, added = draw_exchange(tree, dice)
            cost = await exchange(brokers.addresses, removed, added, protocol, order, EXCHANGE_WITHIN_S)
            if cost.outcome != "done":
                raise RegraftError(f"{protocol}: {'-'.join(removed)} for {'-'.join(added)}: {cost.outcome}")
            costs.append(cost)
        if not exchanges:
            await asyncio.sleep(1.0)
        await asyncio.sleep(0.2)
        stop.set()
        await asyncio.gather(*publishing)
        pause_ns = max(client.pause_ns for client in clients)
        await _until_all_came(clients)
        return _account(protocol, clients, costs, pause_ns)


async def _until_all_came(clients: list[Client]) -> None:
    """Or until nothing has come for a while."""
    for client in clients:
        await client.bus.flush()
    deadline = time.monotonic() + LATE_S
    owed = [client.owed(clients) for client in clients]
    while time.monotonic() < deadline:
        if all(
            len(client.got.get(name, ())) >= len(numbers)
            for client, each in zip(clients, owed, strict=True)
            for name, numbers in each.items()
        ):
            break
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.1)  # a duplicate may follow


def _account(protocol: str, clients: list[Client], costs: list[Cost], pause_ns: int) -> Trial:
    owed_count = lost = duplicated = out_of_order = 0
    for client in clients:
        for name, owed in client.owed(clients).items():
            got = client.got.get(name, [])
            seen = dict.fromkeys(got)
            owed_count += len(owed)
            lost += sum(number not in seen for number in owed)
            duplicated += len(got) - len(seen)
            highest = 0
            for number in seen:
                out_of_order += number < highest
                highest = max(highest, number)
    return Trial(
        protocol=protocol,
        exchanges=len(costs),
        control_messages=sum(cost.control_messages for cost in costs),
        filters_carried=sum(cost.filters_carried for cost in costs),
        control_bytes=sum(cost.control_bytes for cost in costs),
        events_published=sum(len(client.published) for client in clients),
        deliveries_owed=owed_count,
        lost=lost,
        duplicated=duplicated,
        out_of_order=out_of_order,
        longest_pause_ms=pause_ns / 1_000_000,
    )


def draw_exchange(tree: Adjacency, dice: Random) -> tuple[Link, Link]:
    """A link of the tree and one that, in its place, makes it a tree again."""
    links = sorted((a, b) for a in tree for b in tree[a] if a < b)
    removed = dice.choice(links)
    without = {name: dict(others) for name, others in tree.items()}
    del without[removed[0]][removed[1]], without[removed[1]][removed[0]]
    sides = [sorted(component(without, end)) for end in removed]
    candidates = [(a, b) for a in sides[0] for b in sides[1] if (a, b) != removed]
    return removed, dice.choice(candidates)

"""What clients do in a scenario: subscribe, change their minds, publish.

The papers' workload (icdcs03 §6.1): an event is nine printable characters, a filter one character that the event must
contain. A second one, quotes, has filters with equalities and ranges that cover each other now and then. In a third
(debs06 §3.1) an event is its publisher's name, and each publisher has subscribers of its own.
"""

from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Protocol

from regraft.errors import ScenarioError
from regraft.model.events import Value
from regraft.sim.scenario import SECOND_NS, Scenario, nanoseconds
from regraft.sim.world import World

# 96 of them, as in the paper: the 95 of ASCII, and one more.
PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F)) + "¡"
EVENT_LENGTH = 9

SYMBOLS = tuple(f"S{number:02}" for number in range(20))
VENUES = ("N", "Q", "X")


def client_of(broker: str, number: int = 0) -> str:
    """The broker's first client, or the one with this number."""
    return f"c.{broker}.{number}" if number else f"c.{broker}"


class Vocabulary(Protocol):
    def filters(self, count: int, dice: Random) -> list[str]:
        """That many different filters."""

    def attributes(self, dice: Random) -> Mapping[str, Value]:
        """Of a random event."""


class Characters:
    """`text` is nine characters; a filter is one of 96."""

    def filters(self, count: int, dice: Random) -> list[str]:
        return [contains(character) for character in dice.sample(PRINTABLE, count)]

    def attributes(self, dice: Random) -> Mapping[str, Value]:
        return {"text": "".join(dice.choices(PRINTABLE, k=EVENT_LENGTH))}


def contains(character: str) -> str:
    """The filter for one character."""
    if character == "\\":
        character = r"\\\\"  # once for the literal, once for LIKE
    elif character in "%_":
        character = rf"\\{character}"
    elif character == "'":
        character = r"\'"
    return f"text LIKE '%{character}%'"


class Quotes:
    """Trades of twenty symbols at prices below 200."""

    def filters(self, count: int, dice: Random) -> list[str]:
        drawn: dict[str, None] = {}
        while len(drawn) < count:
            drawn[self._filter(dice)] = None
        return list(drawn)

    def _filter(self, dice: Random) -> str:
        symbol = f"symbol = '{dice.choice(SYMBOLS)}'"
        price = dice.randrange(0, 200, 10)
        match dice.randrange(4):
            case 0:
                return symbol
            case 1:
                return f"{symbol} AND price > {price}"
            case 2:
                return f"{symbol} AND price BETWEEN {price} AND {price + 40}"
            case _:
                return f"price > {price} AND venue IN ('{dice.choice(VENUES)}')"

    def attributes(self, dice: Random) -> Mapping[str, Value]:
        return {"symbol": dice.choice(SYMBOLS), "price": round(dice.uniform(0, 200), 2), "venue": dice.choice(VENUES)}


class Clients:
    """Puts what the clients do on the world's agenda."""

    def __init__(self, world: World, scenario: Scenario, dice: dict[str, Random]) -> None:
        self._world = world
        self._scenario = scenario
        self._dice = dice
        self._vocabulary: Vocabulary = Quotes() if scenario.subscriptions.kind == "quotes" else Characters()
        numbers = range(scenario.clients.per_broker)
        places = [(client_of(broker, number), broker) for broker in world.nodes for number in numbers]
        self._clients = [client for client, _ in places]
        self._publishers = self._clients
        self._in_burst = False
        for client, broker in places:
            world.add_client(client, broker)

    def arrived(self, broker: str) -> None:
        """A new broker has a client, too, which subscribes at once and publishes where all do."""
        subscriptions = self._scenario.subscriptions
        client = client_of(broker)
        self._world.add_client(client, broker)
        self._clients.append(client)
        if subscriptions.kind not in ("none", "dedicated"):
            for filter in self._vocabulary.filters(subscriptions.filters, self._dice["churn"]):
                self._subscribe(client, filter)

    def begin(self) -> None:
        kind, publications = self._scenario.subscriptions.kind, self._scenario.publications
        if publications.publishers > len(self._clients):
            raise ScenarioError("publications.publishers", f"there are only {len(self._clients)} clients")
        if publications.publishers:
            self._publishers = self._dice["publications"].sample(self._clients, publications.publishers)
        if kind == "dedicated":
            self._begin_dedicated()
        elif kind != "none":
            self._begin_subscriptions()
        if publications.rate_hz > 0 and publications.during == "all":
            self._put_publication(nanoseconds(publications.from_s), self._dice["publications"])
        elif publications.rate_hz > 0:
            self._world.exchanges.begun.append(self._begin_burst)

    def _begin_dedicated(self) -> None:
        subscriptions = self._scenario.subscriptions
        others = [client for client in self._clients if client not in self._publishers]
        wanted = subscriptions.dedicated * len(self._publishers)
        if wanted > len(others):
            raise ScenarioError("subscriptions.dedicated", f"{len(others)} clients for {wanted} subscriptions")
        drawn = self._dice["subscriptions"].sample(others, wanted)
        begin_ns = nanoseconds(subscriptions.from_s)
        for number, client in enumerate(drawn):
            filter = f"publisher = '{self._publishers[number % len(self._publishers)]}'"
            if subscriptions.dedicated_filter == "own":
                filter += f" OR reader = '{client}'"  # which no event has
            self._world.agenda.put(begin_ns, partial(self._subscribe, client, filter))

    def _begin_subscriptions(self) -> None:
        subscriptions = self._scenario.subscriptions
        dice = self._dice["subscriptions"]
        in_core = round(subscriptions.core * len(self._clients))
        core = dict.fromkeys(dice.sample(self._clients, in_core))
        others = [client for client in self._clients if client not in core]
        # The share of subscribers holds inside the core and outside of it (icdcs03 §6.2).
        for part in (list(core), others):
            for client in dice.sample(part, round(subscriptions.subscribers * len(part))):
                count = subscriptions.filters
                if subscriptions.count == "up_to":
                    count = dice.randint(1, count)
                for filter in self._vocabulary.filters(count, dice):
                    begin_ns = nanoseconds(subscriptions.from_s)
                    self._world.agenda.put(begin_ns, partial(self._subscribe, client, filter))
                if client not in core and subscriptions.churn_hz > 0:
                    self._put_churn(client, nanoseconds(subscriptions.from_s))

    def _subscribe(self, client: str, filter: str) -> None:
        if client in self._world.home and client not in self._world.mobility.away:
            self._world.subscribe(client, filter, self._scenario.subscriptions.acknowledged)

    def _put_churn(self, client: str, after_ns: int) -> None:
        wait_s = self._dice["churn"].expovariate(self._scenario.subscriptions.churn_hz)
        time_ns = after_ns + round(wait_s * SECOND_NS)
        if time_ns < nanoseconds(self._scenario.publications.until_s):
            self._world.agenda.put(time_ns, partial(self._change_mind, client))

    def _change_mind(self, client: str) -> None:
        if client not in self._world.home:
            return  # it has gone with its broker
        if client in self._world.mobility.away:
            self._put_churn(client, self._world.now_ns)
            return
        dice = self._dice["churn"]
        held = list(self._world.subscriptions[client])
        if held:
            self._world.unsubscribe(client, dice.choice(held))
        new = self._vocabulary.filters(1, dice)[0]
        if new not in held:
            self._world.subscribe(client, new, self._scenario.subscriptions.acknowledged)
        self._put_churn(client, self._world.now_ns)

    def _begin_burst(self) -> None:
        """The dice of each burst are its own: it is the same, however long the one before has been."""
        burst = Random(self._dice["publications"].getrandbits(64))
        publications = self._scenario.publications
        if not self._in_burst and nanoseconds(publications.from_s) <= self._world.now_ns:
            self._in_burst = True
            self._put_publication(self._world.now_ns, burst)

    def _put_publication(self, after_ns: int, dice: Random) -> None:
        """The next of all publications together: a Poisson process of the summed rate, of a random publisher."""
        rate_hz = self._scenario.publications.rate_hz * len(self._publishers)
        time_ns = after_ns + round(dice.expovariate(rate_hz) * SECOND_NS)
        if time_ns < nanoseconds(self._scenario.publications.until_s):
            self._world.agenda.put(time_ns, partial(self._publish, dice))

    def _publish(self, dice: Random) -> None:
        if self._in_burst and not self._world.exchanges.under_way:
            self._in_burst = False
            return
        client = dice.choice(self._publishers)
        dedicated = self._scenario.subscriptions.kind == "dedicated"
        self._world.publish(client, {"publisher": client} if dedicated else self._vocabulary.attributes(dice))
        self._put_publication(self._world.now_ns, dice)

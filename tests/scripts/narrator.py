"""Runs a golden script in the virtual world and writes down what the brokers were told and what they did.

A script is commands, a line `---`, and the story that they must give. Commands:

    brokers a-b b-c [key=value …]   the tree, and settings of the brokers (protocol=, forwarding=, covering=, …);
                                    order= says how planned exchanges are coordinated, routes= how they
                                    make the tables of the tree to come
    subscribe s@b "price > 10"      client s of broker b subscribes and asks to be told when that is in force,
                                    or, with a third word `unconfirmed`, does not ask
    unsubscribe s@b "price > 10"
    publish p@a price=12 symbol='IBM'
    down a-b, up a-c                a link breaks; a link comes up, in the place of a broken one if it joins its sides
    announce a d / c b              a and b, whose link is lost, are told that d-c has come, but nothing comes
    crash b, restart b
    exchange a-b > a-c              the first link is exchanged for the second, as planned
    join d-c, leave d               a new broker joins as a leaf of c; a leaf leaves for good
    forge a-b step [exchange]       b gets a step of an exchange that a never sent; by default of the last one ordered
    forge a-b recmsg a b / c "x"    b gets a RECMSG along that path, to add that filter, that a never sent
    forge a-b ctrlmsg               b gets a CTRLMSG that a never sent
    forge a-b informed "x"          b is informed of that filter, directly, by a broker that is no end of any lost link
    depart s@b, arrive s@c          client s leaves b; it arrives at c (direct= of `brokers`: what brokers say to each
                                    other about it takes so many milliseconds)
    deliver 3                       the next three things on the agenda happen (messages arrive, timers fire)
    wait 200ms                      all that is due in that time happens
    settle                          everything happens, until nothing is left
    tables                          every broker's table
"""

import shlex
from random import Random

import msgspec

from regraft.broker import BrokerConfig
from regraft.broker.effects import Effect
from regraft.broker.inputs import Input, PathFound, Received, ReceivedDirect
from regraft.broker.messages import Control, Informed, Order, Reroute, Rerouted, Routes, Signal, SignalStep
from regraft.broker.story import story_of
from regraft.errors import UsageError
from regraft.model.events import Value
from regraft.model.trees import in_order, split_link
from regraft.sim.checkers import Connected, InForce, Quiet, Tables
from regraft.sim.world import World
from regraft.trace import TraceBuffer

MILLISECOND_NS = 1_000_000
LATENCY_NS = MILLISECOND_NS


class Narrator:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.world: World | None = None

    def run(self, script: str) -> str:
        for line in script.splitlines():
            command = line.partition("#")[0].strip()
            if command:
                self._command(command)
        assert self.world is not None
        self.world.advance(self.world.now_ns)
        for node in self.world.nodes.values():
            node.core.check()
        checkers = [Tables(), Connected(), Quiet(), self._in_force]
        violations = [violation for checker in checkers for violation in checker.violations(self.world)]
        self.lines += violations or ["invariants ok"]
        return "\n".join(self.lines) + "\n"

    def _command(self, command: str) -> None:
        word, _, rest = command.partition(" ")
        if word == "brokers":
            self._brokers(rest.split())
            return
        world = self.world
        assert world is not None, "a script begins with `brokers`"
        self.lines.append(f"> {command}")
        try:
            self._do(world, word, rest)
        except UsageError as error:
            self.lines.append(f"refused: {error}")

    def _do(self, world: World, word: str, rest: str) -> None:
        match word:
            case "subscribe" | "unsubscribe":
                who, filter, *unconfirmed = shlex.split(rest)
                client = self._client(who)
                if word == "subscribe":
                    world.subscribe(client, filter, not unconfirmed)
                else:
                    world.unsubscribe(client, filter)
            case "depart":
                world.mobility.leave(self._client(rest))
            case "arrive":
                client, _, broker = rest.partition("@")
                world.mobility.arrive(client, broker)
            case "publish":
                who, *attributes = rest.split()
                world.publish(self._client(who), dict(_attribute(text) for text in attributes))
            case "down":
                world.breaks.begin(*split_link(rest, "script"))
            case "up":
                world.breaks.replace(*split_link(rest, "script"), LATENCY_NS)
            case "announce":
                way, near = _way(rest.split())
                incarnation = world.incarnations[in_order(way[0], way[-1])]
                for end, other in ((way[-1], way[0]), (way[0], way[-1])):
                    world.give(world.node(end), PathFound(other, incarnation, way, near))
            case "crash":
                world.crash(rest)
            case "restart":
                world.restart(rest)
            case "exchange":
                removed, added = (split_link(link.strip(), "script") for link in rest.split(">"))
                self.exchange = world.exchanges.begin(removed, added, LATENCY_NS)
            case "join":
                world.leaves.add(*split_link(rest, "script"), LATENCY_NS)
            case "leave":
                world.leaves.remove(rest)
            case "forge":
                link, step, *named = shlex.split(rest)
                source, target = split_link(link, "script")
                message = self._forged(step, named)
                received = ReceivedDirect if isinstance(message, Informed) else Received
                world.give(world.node(target), received(source, message))
            case "deliver":
                for _ in range(int(rest)):
                    assert world.step(), "nothing is left to be delivered"
            case "wait":
                world.advance(world.now_ns + int(rest.removesuffix("ms")) * MILLISECOND_NS)
            case "settle":
                while world.step():
                    pass
            case "tables":
                self._tables()
            case _:
                raise AssertionError(f"no such command: {word}")

    def _brokers(self, words: list[str]) -> None:
        settings = dict(word.split("=") for word in words if "=" in word)
        root = settings.pop("root", "")
        if "protocol" in settings:
            settings["reconfiguration"] = settings.pop("protocol")
        order = msgspec.convert(settings.pop("order", None), Order | None)
        routes = msgspec.convert(settings.pop("routes", "laid"), Routes)
        direct_ns = int(settings.pop("direct", 0)) * MILLISECOND_NS
        config = msgspec.convert(settings, BrokerConfig, strict=False)
        world = self.world = World(
            config,
            TraceBuffer("script"),
            "full",
            dice=Random(0),
            root=root,
            exchange_order=order,
            exchange_routes=routes,
            record=self._narrate,
        )
        world.mobility.direct_ns = (direct_ns, direct_ns)
        self.exchange = ""
        self._in_force = InForce(world)
        links = [split_link(word, "script") for word in words if "=" not in word]
        for broker in dict.fromkeys(name for link in links for name in link):
            world.add_broker(broker)
        for a, b in links:
            world.link_up(a, b, LATENCY_NS)
        self.lines.clear()  # the story begins when the tree stands

    def _forged(self, step: str, named: list[str]) -> Control | Informed:
        match step:
            case "recmsg":
                *words, filter = named
                return Reroute("forged", (filter,), (), *_way(words))
            case "informed":
                return Informed("forged", tuple(named))
            case "ctrlmsg":
                return Rerouted("forged")
        return Signal(*named or [self.exchange], msgspec.convert(step, SignalStep))

    def _client(self, who: str) -> str:
        client, _, broker = who.partition("@")
        assert self.world is not None
        if client not in self.world.home:
            self.world.add_client(client, broker)
        assert self.world.home[client] == broker
        return client

    def _narrate(self, broker: str, now_ns: int, given: Input | None, effects: list[Effect]) -> None:
        self.lines += story_of(broker, given, effects)

    def _tables(self) -> None:
        assert self.world is not None
        for broker, node in self.world.nodes.items():
            for neighbour, heard in sorted(node.core.table.heard.items()):
                for text in self.world.catalogue.texts(heard):
                    self.lines.append(f"  {broker} sends {neighbour}  {text}")


def _way(words: list[str]) -> tuple[tuple[str, ...], int]:
    """A path, the new link of which is written as a stroke."""
    near = words.index("/")
    return (*words[:near], *words[near + 1 :]), near


def _attribute(text: str) -> tuple[str, Value]:
    name, _, value = text.partition("=")
    return name, msgspec.json.decode(value.replace("'", '"'))

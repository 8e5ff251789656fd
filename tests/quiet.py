"""Networks at rest: the tree stands, every subscription is in force, and nothing is under way."""

from random import Random

from regraft.broker import BrokerConfig
from regraft.model.trees import Link
from regraft.sim.scenario import PROTOCOLS, Protocol
from regraft.sim.world import World
from regraft.trace import TraceBuffer

LATENCY_NS = 1_000_000

# Some of them cover others.
FILTERS = [
    "x > 1",
    "x > 5",
    "x > 7 AND y = 'a'",
    "y = 'a'",
    "y IN ('a', 'b')",
    "y = 'b' AND x > 5",
    "x BETWEEN 6 AND 7",
    "z IS NULL",
]


def quiet_world(links: list[Link], dice: Random, protocol: Protocol, trace: TraceBuffer, **settings) -> World:
    """Each broker's client holds some of `FILTERS`, or none."""
    reconfiguration, order, routes = PROTOCOLS[protocol]
    config = BrokerConfig(reconfiguration=reconfiguration, **settings)
    world = World(config, trace, "counted", dice=Random(1), exchange_order=order, exchange_routes=routes)
    for broker in dict.fromkeys(broker for link in links for broker in link):
        world.add_broker(broker)
        world.add_client(f"c.{broker}", broker)
    for a, b in links:
        world.link_up(a, b, LATENCY_NS)
    for client in world.home:
        for filter in dice.sample(FILTERS, dice.choice([0, 0, 1, 2, 4])):
            world.subscribe(client, filter)
    come_to_rest(world)
    return world


def come_to_rest(world: World) -> None:
    while world.step():
        pass


def random_exchange(links: list[Link], dice: Random) -> tuple[Link, Link]:
    """A link to remove, and another one that joins the two parts."""
    removed = dice.choice(links)
    part = {removed[0]}
    rest = [link for link in links if link != removed]
    while any(len(part & set(link)) == 1 for link in rest):
        part |= {broker for link in rest if part & set(link) for broker in link}
    brokers = sorted({broker for link in links for broker in link})
    pairs = [(a, b) for a in brokers for b in brokers if a in part and b not in part and {a, b} != set(removed)]
    return removed, dice.choice(pairs)

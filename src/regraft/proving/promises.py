"""What must be so when nothing is left to happen.

For every protocol: tables are those that the final tree and the clients' filters give from scratch; nobody is locked;
nothing waits in any broker, nor on any link; an exchange that was ordered has ended. That nothing is delivered twice or
out of order is seen at the delivery (`places.py`); that nothing owed is lost, here.
"""

from dataclasses import dataclass

from regraft.broker import BrokerConfig, FilterCatalogue, left_over
from regraft.broker.inputs import ClientPublished, ClientSubscribed, ClientUnsubscribed, ExchangeOrdered
from regraft.model.trees import Adjacency
from regraft.proving.case import client_of
from regraft.proving.links import Order
from regraft.proving.places import Place
from regraft.proving.world import ProofWorld, State
from regraft.sim.checkers import Tables
from regraft.sim.network import Node


@dataclass(frozen=True, slots=True)
class Remains:
    """What there is at the end, as the simulator's checkers look at it."""

    config: BrokerConfig
    catalogue: FilterCatalogue
    nodes: dict[str, Node]
    adjacency: Adjacency
    home: dict[str, str]
    subscriptions: dict[str, dict[str, bool]]


def broken_promise(world: ProofWorld, state: State, *, done: bool) -> str:
    """`done`: a planned exchange must have come about, and not only have ended."""
    places = {name: world.places.places[number] for name, number in zip(world.case.brokers, state, strict=False)}
    links = world.links_of(state)
    stay = {name: place for name, place in places.items() if name not in links.left}
    remains = Remains(
        world.places.config,
        world.places.catalogue,
        {name: Node(name, place.core) for name, place in stay.items()},
        links.adjacency(world.case.brokers),
        {client_of(name): name for name in stay},
        {client_of(name): dict.fromkeys(_filters(world, place), True) for name, place in stay.items()},
    )
    for name, place in stay.items():
        if place.core.is_locked:
            return f"{name} is locked at the end"
    if wrong := Tables().violations(remains):
        return wrong[0]
    for name, place in stay.items():
        if left := left_over(place.core):
            return f"{name} waits at the end: {left[0]}"
    if links.under_way:
        return f"the exchange {links.under_way[0]} never ends"
    outcomes = dict(links.ended)
    for thread in world.case.threads:
        for operation in thread:
            if done and isinstance(operation, Order) and isinstance(operation.given, ExchangeOrdered):
                outcome = outcomes[operation.given.exchange]
                if outcome != "done":
                    return f"the exchange {operation.given.exchange} is {outcome}"
    return _lost(world, stay, places) if world.places.earlier is not None else ""


def _filters(world: ProofWorld, place: Place) -> list[str]:
    filters: dict[str, None] = {}
    for act in place.acts:
        if act in place.refused:
            continue
        match world.places.inputs[act]:
            case ClientSubscribed(_, filter):
                filters[filter] = None
            case ClientUnsubscribed(_, filter):
                filters.pop(filter, None)
    return list(filters)


def _lost(world: ProofWorld, stay: dict[str, Place], places: dict[str, Place]) -> str:
    """What was published is owed to whoever had subscribed before anything began, and still is at the end."""
    published = []
    for place in places.values():
        for act in place.acts:
            given = world.places.inputs[act]
            if isinstance(given, ClientPublished) and act not in place.refused:
                published.append(given.event.name)
    for broker in world.case.subscribers:
        if broker in stay and _filters(world, stay[broker]):
            got = dict(stay[broker].got).get(client_of(broker), ())
            for event in published:
                if event not in got:
                    return f"{client_of(broker)} never gets {event}"
    return ""

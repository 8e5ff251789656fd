"""The floor of an exchange: the set algebra gives what dictionaries give, and in a quiet network nobody is below it."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import EXAMPLES
from quiet import LATENCY_NS, come_to_rest, quiet_world, random_exchange
from regraft.model.filters import Filter, covers
from regraft.model.trees import Link
from regraft.sim.accounts import Account
from regraft.sim.scenario import PROTOCOLS
from regraft.sim.world import World
from regraft.trace import TraceBuffer
from trees import tree_of

Tables = dict[str, dict[str, set[str]]]  # broker -> filter -> the neighbours that it should have heard it from


def beyond(links: list[Link], broker: str, neighbour: str) -> set[str]:
    """The brokers on the neighbour's side of that link."""
    rest = [link for link in links if set(link) != {broker, neighbour}]
    found = {neighbour}
    while any(len(found & set(link)) == 1 for link in rest):
        found |= {other for link in rest if found & set(link) for other in link}
    return found


def tables_from_scratch(links: list[Link], wanted: dict[str, set[str]], chosen: dict[str, Any]) -> Tables:
    tables: Tables = {broker: {} for broker in wanted}
    if chosen.get("forwarding") == "message":
        return tables
    for a, b in [*links, *((b, a) for a, b in links)]:
        side = beyond(links, a, b)
        filters = set().union(*(wanted[broker] for broker in side))
        for text in filters:
            if chosen.get("covering") and any(
                covers(Filter.parse(other), Filter.parse(text)) for other in filters - {text}
            ):
                continue
            tables[a].setdefault(text, set()).add(b)
    return tables


def floor_from_scratch(before: Tables, after: Tables, removed: Link) -> int:
    return sum(
        before[broker].get(text) != after[broker].get(text)
        for broker in before
        if broker not in removed
        for text in before[broker].keys() | after[broker].keys()
    )


def exchanged(world: World, removed: Link, added: Link, *, planned: bool) -> Account:
    if planned:
        world.exchanges.begin(removed, added, LATENCY_NS)
    else:
        world.breaks.begin(*removed)
        world.advance(world.now_ns + 100 * LATENCY_NS)
        world.breaks.replace(*added, LATENCY_NS)
    come_to_rest(world)
    (account,) = world.chronicle.accounts.settled()
    return account


def counted_from_rows(trace: TraceBuffer, since: int, removed: Link) -> tuple[int, int, int, set[str]]:
    """All control messages after that many rows: how many, their filters, their bytes, who got them."""
    batch = trace.flush().to_pylist()
    hops = [row for row in batch if row["n"] >= since and row["kind"] == "hop"]
    assert all(row["reconfiguration"] for row in hops), "in a quiet network everything has a cause"
    carried = sum(
        int(row["attributes"].removeprefix('{"filters":').removesuffix("}"))
        if row["attributes"]
        else row["filter"] is not None
        for row in hops
    )
    return len(hops), carried, sum(row["bytes"] for row in hops), {row["peer"] for row in hops} - set(removed)


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@settings(max_examples=EXAMPLES // 3)
@given(
    planned=st.booleans(),
    seed=st.integers(0, 2**32),
    size=st.integers(3, 12),
    covering=st.booleans(),
    batch=st.booleans(),
    forwarding=st.sampled_from(["subscription", "subscription", "message"]),
)
def test_a_quiet_networks_exchange_costs_at_least_the_floor(
    protocol, planned: bool, seed: int, size: int, covering: bool, batch: bool, forwarding: str
) -> None:
    dice = Random(seed)
    brokers = [f"b{number}" for number in range(size)]
    links = tree_of(brokers, dice)
    trace = TraceBuffer("quiet")
    chosen = {"covering": covering, "batch": batch, "forwarding": forwarding}
    world = quiet_world(links, dice, protocol, trace, **chosen)
    removed, added = random_exchange(links, dice)
    since = trace.flush().num_rows
    account = exchanged(world, removed, added, planned=planned)
    wanted = {broker: set(world.subscriptions[f"c.{broker}"]) for broker in brokers}
    after = [link for link in links if link != removed] + [added]
    before_tables = tables_from_scratch(links, wanted, chosen)
    after_tables = tables_from_scratch(after, wanted, chosen)
    assert account.floor == floor_from_scratch(before_tables, after_tables, removed)
    names_everything = not (planned and protocol.startswith("graft"))  # which leaves out what both ends know
    assert account.floor <= account.filters_carried or not names_everything
    messages, filters, size_bytes, touched = counted_from_rows(trace, since, removed)
    assert (account.messages, account.filters_carried, account.bytes) == (messages, filters, size_bytes)
    assert account.touched == len(touched)

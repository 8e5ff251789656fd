"""A scenario: everything about a run but its seed, as data. Read from TOML; every free parameter is a field.

Times end in their unit. What a field leaves open is drawn from the seed, each purpose from a stream of its own, so
that two protocols under one seed meet the same tree, the same subscriptions, the same events and the same breaks.
"""

import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from regraft.broker import BrokerConfig
from regraft.broker.config import Reconfiguration
from regraft.broker.messages import Order, Routes
from regraft.errors import FilterError, ScenarioError, UsageError
from regraft.model.events import INT64_MAX, check_attributes
from regraft.model.filters import Filter
from regraft.model.trees import adjacency_of, split_link
from regraft.planning import Knowledge

SECOND_NS = 1_000_000_000
BROKERS_MAX = 100_000
NODES_MAX = 1_000_000
DURATION_S_MAX = 1_000_000  # eleven days
RATE_HZ_MAX = 10_000  # of a single client; of all together it stays above the clock's nanosecond
EVERY_S_MIN = 1e-6
BANDWIDTH_MBIT_MIN = 1e-6
NUMBER_MAX = 1_000_000_000
CLIENTS_MAX = 10_000  # of a broker


def nanoseconds(seconds: float) -> int:
    return round(seconds * SECOND_NS)


Check = Literal["tables", "connected", "quiet", "in_force", "delivered", "in_order", "causal"]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the TOML file; a key that no field has is refused."""


class TreeShape(_Table, frozen=True):
    """`links`, written `a-b`, are the tree for `shape = "explicit"`; the other shapes make one from the seed."""

    shape: Literal["attachment", "balanced", "transit_stub", "explicit"] = "attachment"
    brokers: int = 100
    degree_max: int = 4
    links: tuple[str, ...] = ()
    root: str = ""  # hierarchical forwarding; empty: the first broker
    nodes: int = 10_000  # transit_stub: routers below the overlay
    domains: int = 100
    latency_ms_max: float = 100.0  # transit_stub: of an overlay link


class LinkQuality(_Table, frozen=True):
    """A message waits for those before it, takes its bytes over the bandwidth, then the latency. Loss hits events only:
    a world owes the brain reliable control messages."""

    latency_us: float = 50.0
    bandwidth_mbit: float = 10.0
    loss: float = 0.0
    detect_ms: tuple[float, float] = (0.0, 0.0)  # each end learns of a break after a time drawn from this range


class Clients(_Table, frozen=True):
    per_broker: int = 1


class Subscriptions(_Table, frozen=True):
    """Who subscribes to what at the beginning, and how it changes.

    A share `core` of the clients is the stable core of icdcs03 §6.2: they do not (un)subscribe after the beginning.
    Each of the others that subscribes replaces one of its filters at random times, `churn_hz` times a second.

    With `dedicated`, each of `publications.publishers` has that many subscribers of its own, drawn from the clients
    that do not publish, each with one filter for all that the publisher publishes (debs06 §3.1). That is one `common`
    filter for all of them, or each has its `own` that says the same: then every subscription is routed by itself, as
    by brokers that do not tell whether two filters are equal.
    """

    kind: Literal["characters", "quotes", "dedicated", "none"] = "characters"
    dedicated: int = 9
    dedicated_filter: Literal["common", "own"] = "common"
    subscribers: float = 0.2
    filters: int = 10
    count: Literal["exact", "up_to"] = "exact"
    acknowledged: bool = False
    core: float = 1.0
    churn_hz: float = 0.0
    from_s: float = 0.0


class Publications(_Table, frozen=True):
    """Each client publishes at independent random times (Poisson), or so many clients, drawn, do.

    With `during = "exchanges"`, they do so while a coordinated exchange is under way: for campaigns that look at
    nothing else. What is published from the beginning of an exchange on is the same under every protocol.
    """

    rate_hz: float = 1.0
    publishers: int = 0  # 0: all clients
    during: Literal["all", "exchanges"] = "all"
    from_s: float = 0.0
    until_s: float = 10.0


class Changes(_Table, frozen=True):
    """Random reconfigurations at regular times: a link breaks (or a broker crashes) and is replaced a while later.

    `drawn_from` says how a break is drawn: uniformly from the links; or a broker uniformly from the brokers, and then
    one of its links, so that leaves lose theirs more often. `endpoints` says how the replacement is chosen: `uniform`,
    a broker of free degree on each side; `reattach`, the smaller part's end keeps its place and hangs on a broker of
    free degree of the other part; `move`, the drawn broker (of a drawn link, either end) does; `near`, each end is
    drawn from the old one and its neighbours (from all its part, if none of these has a free degree). A crashed
    broker's neighbours are joined to one of them, and the broker comes back as a leaf. An `exchange` is planned: a link
    is drawn and its replacement chosen in the same way, and both are known before anything happens. A `leaf` joins with
    a client of its own, or one leaves for good. With `planned`, each is an exchange or a leaf; with `any`, each is one
    of the four: who crashed comes back, and what has come apart is joined by any two brokers of free degree.
    """

    kind: Literal["break", "crash", "exchange", "leaf", "planned", "any"] = "break"
    from_s: float = 3.0
    until_s: float = 7.0
    every_s: float = 0.3
    replace_after_s: float = 0.1
    drawn_from: Literal["links", "brokers"] = "links"
    endpoints: Literal["uniform", "reattach", "move", "near"] = "uniform"
    count_max: int = 1_000_000
    path_breaks_after_s: float = 0.0  # exchange: so long after it was ordered, a link on its way breaks too; 0: none


class Plan(_Table, frozen=True):
    """From `at_s` on the network is led to the tree `wanted` (links `a-b`), by a plan carried out under load. Brokers
    that come have a client each, which subscribes; the client of one that goes has gone before."""

    wanted: tuple[str, ...]
    at_s: float = 0.0


class Moves(_Table, frozen=True):
    """A client that has subscriptions, drawn, leaves at regular times, is away for a time drawn from this range, and
    arrives at a broker that is drawn. What brokers say to each other about it takes a time drawn from `direct_ms`."""

    from_s: float = 1.0
    until_s: float = 3.0
    every_s: float = 0.1
    away_s: tuple[float, float] = (0.0, 0.3)
    direct_ms: tuple[float, float] = (0.0, 5.0)


class Step(_Table, frozen=True):
    """One thing that happens at a given time; just one of the other fields is filled.

    `subscribe`, `unsubscribe`: a filter of the client of `at`. `publish`: attributes. `away`: the client leaves;
    `arrive`: it comes back at this broker. A client is named for good by the broker where it was first.
    """

    at_s: float
    link_down: str = ""
    link_up: str = ""
    exchange: str = ""  # `a-b>c-d`: a planned exchange of the first link for the second
    crash: str = ""
    restart: str = ""
    add_leaf: str = ""  # `x-b`: a new broker x, with a client, joins as a leaf of b
    remove_leaf: str = ""  # the client of this leaf goes, and then the leaf, for good
    at: str = ""
    subscribe: str = ""
    unsubscribe: str = ""
    publish: dict[str, str | int | float | bool] | None = None
    away: bool = False
    arrive: str = ""


class Auto(_Table, frozen=True):
    """What `auto` chooses from: what a planned exchange must keep of events (left out: nothing need be kept), and what
    the overlay manager knows of the link that replaces a lost one: the whole path, its ends, or nothing."""

    order: Order | None = None
    knows: Knowledge = "path"


Protocol = Literal[
    "strawman",
    "deferred",
    "path",
    "informed",
    "auto",
    "coordinated-none",
    "coordinated-fifo",
    "coordinated-causal",
    "graft-none",
    "graft-fifo",
    "graft-causal",
]

# What a broker does about a link that breaks; in which order a planned exchange keeps events (None: it is not
# coordinated, but a link that goes and one that comes); and how a coordinated one makes the new tables.
PROTOCOLS: dict[Protocol, tuple[Reconfiguration, Order | None, Routes]] = {
    "strawman": ("strawman", None, "laid"),
    "deferred": ("deferred", None, "laid"),
    "path": ("path", None, "laid"),
    "informed": ("informed", None, "laid"),
    "auto": ("auto", None, "laid"),
    "coordinated-none": ("deferred", "none", "laid"),
    "coordinated-fifo": ("deferred", "fifo", "laid"),
    "coordinated-causal": ("deferred", "causal", "laid"),
    "graft-none": ("deferred", "none", "grafted"),
    "graft-fifo": ("deferred", "fifo", "grafted"),
    "graft-causal": ("deferred", "causal", "grafted"),
}


class Scenario(_Table, frozen=True):
    """`protocol` is what changes of the tree are met with: `PROTOCOLS`. `auto` goes with the protocol of that name."""

    name: str = "unnamed"
    protocol: Protocol = "deferred"
    duration_s: float = 10.0
    tree: TreeShape = TreeShape()
    link: LinkQuality = LinkQuality()
    broker: BrokerConfig = BrokerConfig()
    clients: Clients = Clients()
    subscriptions: Subscriptions = Subscriptions()
    publications: Publications = Publications()
    changes: Changes | None = None
    moves: Moves | None = None
    plan: Plan | None = None
    auto: Auto = Auto()
    step: tuple[Step, ...] = ()
    checks: tuple[Check, ...] = ("tables", "connected", "quiet", "in_force")

    @property
    def broker_config(self) -> BrokerConfig:
        return msgspec.structs.replace(self.broker, reconfiguration=PROTOCOLS[self.protocol][0])

    @property
    def exchange_order(self) -> Order | None:
        return self.auto.order if self.protocol == "auto" else PROTOCOLS[self.protocol][1]

    @property
    def exchange_routes(self) -> Routes:
        return PROTOCOLS[self.protocol][2]


def read_scenario(path: Path, settings: dict[str, str] | None = None) -> Scenario:
    """A scenario from a TOML file, with `key=value` settings laid over it."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(str(path), f"is not UTF-8 at byte {error.start}") from error
    return parse_scenario(text, settings or {}, str(path))


def parse_scenario(text: str, settings: dict[str, str], place: str) -> Scenario:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(place, str(error)) from error
    for key, value in settings.items():
        _lay(data, key, value)
    return scenario_from(data, place)


def scenario_from(data: dict[str, Any], place: str) -> Scenario:
    try:
        scenario = msgspec.convert(data, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(place, str(error)) from error
    check_scenario(scenario, place)
    return scenario


# What `--set key=value` may leave out of a key: where the word is used in one table only and is what people change.
SHORT_KEYS = {
    "tree": "tree.shape",
    "brokers": "tree.brokers",
    "drawn_from": "changes.drawn_from",
    "endpoints": "changes.endpoints",
    "subscriptions": "subscriptions.count",
}


def _lay(data: dict[str, Any], key: str, value: str) -> None:
    *tables, last = SHORT_KEYS.get(key, key).split(".")
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            raise ScenarioError(f"--set {key}", f"{table} is not a table")
    try:
        data[last] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        data[last] = value


def check_scenario(scenario: Scenario, place: str) -> None:
    """What the types do not say."""

    def demand(holds: bool, key: str, reason: str) -> None:
        if not holds:
            raise ScenarioError(f"{place}, {key}", reason)

    for key, number in _numbers(msgspec.to_builtins(scenario)):
        demand(math.isfinite(number), key, "must be finite")
        number_max = NUMBER_MAX if isinstance(number, float) else INT64_MAX
        demand(0 <= number <= number_max, key, f"must be between 0 and {number_max:,}")
    chooses = scenario.protocol == "auto"
    demand(chooses or scenario.auto == Auto(), "auto", 'goes with protocol = "auto", and only with it')
    tree, link, changes = scenario.tree, scenario.link, scenario.changes
    demand(scenario.duration_s > 0, "duration_s", "must be above 0")
    demand(scenario.duration_s <= DURATION_S_MAX, "duration_s", f"must be at most {DURATION_S_MAX:,}")
    demand(1 <= tree.brokers <= BROKERS_MAX, "tree.brokers", f"must be between 1 and {BROKERS_MAX}")
    demand(tree.degree_max >= 2, "tree.degree_max", "must be at least 2")
    demand(
        (tree.shape == "explicit") == bool(tree.links), "tree.links", 'goes with shape = "explicit", and only with it'
    )
    if tree.shape == "transit_stub":
        demand(tree.nodes <= NODES_MAX, "tree.nodes", f"must not be more than {NODES_MAX}")
        demand(1 <= tree.domains <= tree.nodes, "tree.domains", "must be between 1 and tree.nodes")
        demand(tree.brokers <= tree.nodes, "tree.brokers", "must not be more than tree.nodes")
    demand(link.bandwidth_mbit >= BANDWIDTH_MBIT_MIN, "link.bandwidth_mbit", f"must be at least {BANDWIDTH_MBIT_MIN}")
    demand(link.loss < 1, "link.loss", "must be below 1")
    demand(link.detect_ms[0] <= link.detect_ms[1], "link.detect_ms", "must be a range from low to high")
    demand(
        scenario.exchange_order is None or scenario.broker.forwarding != "hierarchical",
        "protocol",
        "a coordinated exchange needs forwarding = subscription or message, as in a hierarchy it would turn the tree",
    )
    publications, subscriptions = scenario.publications, scenario.subscriptions
    demand(1 <= scenario.clients.per_broker <= CLIENTS_MAX, "clients.per_broker", f"must be from 1 to {CLIENTS_MAX}")
    if subscriptions.kind == "dedicated":
        demand(publications.publishers > 0, "publications.publishers", "must be given where subscribers are dedicated")
        demand(subscriptions.dedicated > 0, "subscriptions.dedicated", "must be above 0")
        demand(subscriptions.core == 1, "subscriptions.core", "must be 1 where subscribers are dedicated")
    demand(subscriptions.subscribers <= 1, "subscriptions.subscribers", "is a share, between 0 and 1")
    demand(subscriptions.core <= 1, "subscriptions.core", "is a share, between 0 and 1")
    demand(1 <= subscriptions.filters <= 96, "subscriptions.filters", "must be between 1 and 96")
    rates = {"subscriptions.churn_hz": subscriptions.churn_hz, "publications.rate_hz": publications.rate_hz}
    for key, rate_hz in rates.items():
        demand(rate_hz <= RATE_HZ_MAX, key, f"must be at most {RATE_HZ_MAX:,}")
    if changes is not None:
        demand(changes.every_s >= EVERY_S_MIN, "changes.every_s", f"must be at least {EVERY_S_MIN}")
        last = changes.until_s + changes.replace_after_s + changes.path_breaks_after_s
        demand(last <= scenario.duration_s, "changes.until_s", "the last replacement comes after duration_s")
    if scenario.plan is not None:
        demand(0 <= scenario.plan.at_s <= scenario.duration_s, "plan.at_s", "lies outside the run")
        adjacency_of(
            (split_link(link, f"{place}, plan.wanted") for link in scenario.plan.wanted), f"{place}, plan.wanted"
        )
    moves = scenario.moves
    if moves is not None:
        demand(moves.every_s >= EVERY_S_MIN, "moves.every_s", f"must be at least {EVERY_S_MIN}")
        demand(moves.away_s[0] <= moves.away_s[1], "moves.away_s", "must be a range from low to high")
        demand(moves.direct_ms[0] <= moves.direct_ms[1], "moves.direct_ms", "must be a range from low to high")
        last = moves.until_s + moves.away_s[1]
        demand(last <= scenario.duration_s, "moves.until_s", "the last client arrives after duration_s")
    for number, step in enumerate(scenario.step, start=1):
        key = f"step {number}"
        links = [step.link_down, step.link_up, step.exchange]
        brokers = [step.crash, step.restart, step.add_leaf, step.remove_leaf]
        happenings = [*links, *brokers, step.subscribe, step.unsubscribe, step.arrive, step.away]
        filled = sum(bool(happening) for happening in happenings) + (step.publish is not None)
        demand(filled == 1, key, "must say just one thing that happens")
        client_step = bool(step.subscribe or step.unsubscribe or step.away or step.arrive) or step.publish is not None
        demand(client_step == bool(step.at), key, "`at` names the broker of a client's step")
        demand(0 <= step.at_s <= scenario.duration_s, key, "at_s lies outside the run")
        reason = check_attributes(step.publish or {})
        demand(reason is None, key, str(reason))
        try:
            Filter.parse(step.subscribe or step.unsubscribe or "TRUE")
        except FilterError as error:
            demand(False, key, str(error))


def _numbers(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, int | float]]:
    """The numbers of a scenario by key, those of steps apart: what these publish may be any number."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            yield from ((f"{prefix}{name}", item) for item in value if isinstance(item, int | float))
        elif isinstance(value, int | float):
            yield f"{prefix}{name}", value

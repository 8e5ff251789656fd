"""A peer that says what it may not say now is reported and isolated; it never stops the others.

Every message, of the right shape, at any time, from neighbours of the tree, of no tree and from nobody: the broker
never raises, keeps its invariants and its bounds, speaks only over links that are there, and is free in the end.
"""

from functools import cache
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import EXAMPLES
from regraft.broker import Broker, BrokerConfig, FilterCatalogue
from regraft.broker.effects import (
    CancelTimer,
    CloseLink,
    Effect,
    Forward,
    LeaveAnswered,
    OpenLink,
    PeerMisbehaved,
    Send,
    SetTimer,
)
from regraft.broker.inputs import (
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    EndFound,
    ExchangeOrdered,
    Input,
    JoinOrdered,
    LeaveOrdered,
    LinkDown,
    LinkRefused,
    LinkUp,
    Received,
    ReceivedDirect,
    TimerFired,
)
from regraft.broker.messages import (
    Compare,
    Confirm,
    Confirmed,
    Graft,
    GraftPart,
    Gray,
    Informed,
    Lock,
    Membership,
    Message,
    Reroute,
    Rerouted,
    Signal,
    SignalStep,
    Subscribe,
    Unsubscribe,
)
from regraft.model.events import Event
from regraft.model.trees import split_link
from regraft.sim.world import World
from regraft.trace import TraceBuffer

US = "b"
OTHERS = ("a", "c", "d")
FILTERS = ("price > 10", "price > 20", "symbol = 'IBM'")
EXCHANGES = ("one", "two")
CYCLES = (
    (("a", "b", "c", "d"), 2),  # b is A1, then an inner one, then A2, R1 = A1, R2, and R1
    (("a", "b", "c", "d"), 3),
    (("a", "b", "c", "d"), 1),
    (("b", "c", "d"), 1),
    (("a", "c", "b"), 1),
    (("a", "c", "b"), 2),
    (("b", "a", "c", "d"), 2),
    (("b", "c", "a"), 2),
    (("c", "a"), 1),  # none
    (("a", "b", "b"), 2),
    ((), 0),
)
HELD_MAX = 3
TIMERS_MAX = 100
LOST = ("a-b#1", "b-c#2", "x")


class Driver:
    """A world that keeps its promises to the broker, whatever its peers do."""

    def __init__(self, config: BrokerConfig, name: str = US) -> None:
        self.core = Broker(name, config, FilterCatalogue(config.covering))
        self.links: dict[str, None] = {}
        self.closing: dict[str, None] = {}
        self.asked: dict[str, str] = {}
        self.timers: dict[str, None] = {}
        self.complaints: list[str] = []
        self.incarnation = 0
        self.now_ns = 0
        self.has_left = False

    def tell(self, given: Input) -> list[Effect]:
        self.now_ns += 1_000
        effects = self.core.handle(self.now_ns, given)
        for effect in effects:
            match effect:
                case Send():
                    assert effect.neighbour in self.links, f"{effect} over a link that is not there"
                case Forward():
                    for neighbour in (*effect.neighbours, *effect.gray):
                        assert neighbour in self.links, f"{effect} over a link that is not there"
                case CloseLink():
                    assert effect.neighbour in self.links, f"{effect}, which is not there"
                    self.closing[effect.neighbour] = None
                case OpenLink():
                    self.asked[effect.neighbour] = effect.exchange
                case SetTimer():
                    self.timers[effect.name] = None
                case CancelTimer():
                    self.timers.pop(effect.name, None)
                case PeerMisbehaved():
                    self.complaints.append(effect.neighbour)
                case LeaveAnswered():
                    self.has_left = self.has_left or not effect.reason
        self.core.check()
        part = self.core._exchanging.protocol.part
        assert part is None or (len(part.controls) <= HELD_MAX + 1 and len(part.events) <= HELD_MAX)
        return effects

    def live_through(self, past: tuple[Input, ...]) -> None:
        """What a broker was told in an exchange that went well."""
        for told in past:
            match told:
                case LinkUp():
                    self.links[told.neighbour] = None
                    self.asked.pop(told.neighbour, None)
                case LinkDown():
                    del self.links[told.neighbour]
                    self.closing.pop(told.neighbour, None)
            self.tell(told)

    def link(self, neighbour: str, exchange: str = "", announced: str = "") -> None:
        self.incarnation += 1
        self.links[neighbour] = None
        self.tell(LinkUp(neighbour, self.incarnation, exchange, announced))

    def unlink(self, neighbour: str) -> None:
        del self.links[neighbour]
        self.closing.pop(neighbour, None)
        self.tell(LinkDown(neighbour))

    def do(self, step: tuple[str, str, object]) -> None:
        what, neighbour, argument = step
        match what:
            case "says" if neighbour not in self.closing:
                assert isinstance(argument, Message)
                self.tell(Received(neighbour, argument))
            case "link" if neighbour not in self.links:
                answer = self.asked.pop(neighbour, "")
                self.link(neighbour, answer or str(argument))
            case "replacement" if neighbour not in self.links:
                self.link(neighbour, announced=str(argument))
            case "refuse" if neighbour in self.asked:
                self.tell(LinkRefused(neighbour, self.asked.pop(neighbour)))
            case "unlink" if neighbour in self.links:
                self.unlink(neighbour)
            case "timer" if self.timers:
                name = next(iter(self.timers))
                del self.timers[name]
                self.tell(TimerFired(name))
            case "input":
                assert not isinstance(argument, str)
                self.tell(argument)  # type: ignore[arg-type]


exchanges = st.sampled_from(EXCHANGES)
filters = st.lists(st.sampled_from(FILTERS), min_size=1, max_size=2, unique=True).map(tuple)
events = st.builds(
    Event,
    st.sampled_from(["p", "q"]),
    st.integers(1, 5),
    st.just({"price": 30, "symbol": "IBM"}),
)


@st.composite
def locks(draw: st.DrawFn) -> Lock:
    cycle, near = draw(st.sampled_from(CYCLES))
    order, routes = draw(st.sampled_from(["none", "fifo", "causal"])), draw(st.sampled_from(["laid", "grafted"]))
    return Lock(draw(exchanges), cycle, near, order, routes)


@st.composite
def recmsgs(draw: st.DrawFn) -> Reroute:
    cycle, near = draw(st.sampled_from(CYCLES))
    return Reroute(draw(st.sampled_from(LOST)), draw(filters), draw(filters), cycle, near)


signals = st.builds(Signal, exchanges, st.sampled_from(SignalStep.__args__))
tree_of = st.sampled_from(["", "", *EXCHANGES])
messages = st.one_of(
    signals,
    signals,
    signals,
    locks(),
    st.builds(Subscribe, filters, st.just("x"), tree_of, st.booleans()),
    st.builds(Unsubscribe, filters, st.just("x"), tree_of, st.booleans()),
    st.builds(Confirm, st.sampled_from([US, *OTHERS]), st.integers(1, 3), st.integers(1, 2), filters),
    st.builds(Confirmed, st.sampled_from([US, *OTHERS]), st.integers(1, 3), st.integers(1, 2), st.booleans()),
    st.builds(Graft, exchanges, filters, filters, filters, st.sampled_from(["", *GraftPart.__args__])),
    st.builds(Compare, exchanges, st.sampled_from(["", "x"])),
    recmsgs(),
    recmsgs(),
    st.builds(Rerouted, st.sampled_from(LOST)),
    st.builds(Membership, st.sampled_from(["join", "welcome", "leave"])),
    st.builds(Gray, events, exchanges),
    events,
)


@st.composite
def orders(draw: st.DrawFn) -> ExchangeOrdered:
    cycle, near = draw(st.sampled_from(CYCLES))
    order, routes = draw(st.sampled_from(["none", "fifo", "causal"])), draw(st.sampled_from(["laid", "grafted"]))
    return ExchangeOrdered(draw(exchanges), cycle, near, order, routes)


own = st.one_of(
    st.builds(ClientSubscribed, st.just("s"), st.sampled_from(FILTERS), st.booleans()),
    st.builds(ClientUnsubscribed, st.just("s"), st.sampled_from(FILTERS)),
    st.builds(ClientPublished, events),
    orders(),
    orders(),
    st.just(LeaveOrdered()),
    st.builds(ReceivedDirect, st.sampled_from(OTHERS), st.builds(Informed, st.sampled_from(LOST), filters)),
    st.builds(EndFound, st.sampled_from(OTHERS), st.integers(1, 3), st.sampled_from([US, *OTHERS])),
)
neighbours = st.sampled_from(OTHERS)
steps = st.one_of(
    *[st.tuples(st.just("says"), neighbours, messages)] * 4,
    st.tuples(st.just("link"), neighbours, st.sampled_from(["", "", *EXCHANGES])),
    st.tuples(st.just("replacement"), neighbours, st.sampled_from(LOST)),
    st.tuples(st.sampled_from(["refuse", "unlink", "timer"]), neighbours, st.none()),
    st.tuples(st.just("input"), st.just(""), own),
)
configs = st.builds(
    BrokerConfig,
    forwarding=st.sampled_from(["subscription", "message"]),
    covering=st.booleans(),
    batch=st.booleans(),
    reconfiguration=st.sampled_from(["strawman", "deferred", "path", "informed", "auto"]),
    held_back_max=st.just(HELD_MAX),
    reroutes_max=st.just(2),
    probes_max=st.just(3),
    lock_attempts_max=st.just(3),
)


def free_in_the_end(driver: Driver) -> None:
    """When all its links are gone, nothing is left of what its peers have told it."""
    for neighbour in list(driver.links):
        driver.unlink(neighbour)
    protocol = driver.core._exchanging.protocol
    for neighbour, exchange in list(driver.asked.items()):
        driver.tell(LinkRefused(neighbour, exchange))
    assert not driver.core.is_locked
    assert not protocol.opened
    assert not protocol.retired
    assert not protocol.anew
    assert not protocol._asked
    assert not driver.core.table.heard
    for _ in range(TIMERS_MAX):
        if driver.timers:
            driver.do(("timer", "", None))
    replacing = driver.core._replacing
    assert not replacing.withheld
    assert not replacing.path._sent
    assert not replacing.path._behind
    assert not replacing._activating


@given(configs, st.lists(neighbours, unique=True), st.booleans(), st.lists(steps, max_size=40))
def test_any_message_at_any_time_does_no_harm(config, linked, joins, script) -> None:
    driver = Driver(config)
    if joins:
        driver.tell(JoinOrdered())
    for neighbour in linked:
        driver.link(neighbour)
    for step in script:
        driver.do(step)
    free_in_the_end(driver)


# --- from every state of an exchange that goes well

# The tree, and the exchange: with all six brokers apart, with R1 = A1, with R2 = A2.
EXCHANGED = {
    "apart": (("a-b", "b-c", "c-d", "d-e", "e-f", "a-g", "c-h"), "c-d", "a-f"),
    "r1 is a1": (("a-b", "b-c", "c-d"), "a-b", "a-d"),
    "r2 is a2": (("a-b", "b-c", "c-d"), "c-d", "a-d"),
}


@cache
def pasts(case: str, order: str) -> dict[str, tuple[tuple[Input, ...], tuple[str, ...], int, str]]:
    """Of each broker on the cycle: what it was told from its beginning to the end; and the exchange."""
    links, removed, added = EXCHANGED[case]
    told: dict[str, list[Input]] = {}

    def record(broker: str, now_ns: int, given: Input | None, effects: list[Effect]) -> None:
        if given is not None:
            told.setdefault(broker, []).append(given)

    config = BrokerConfig(held_back_max=HELD_MAX, probes_max=3, lock_attempts_max=3)
    world = World(config, TraceBuffer("past"), "full", dice=Random(0), exchange_order=order, record=record)
    for broker in dict.fromkeys(name for link in links for name in split_link(link, "")):
        world.add_broker(broker)
        world.add_client(f"s.{broker}", broker)
    for link in links:
        world.link_up(*split_link(link, ""), 1_000_000)
    for broker, filter in zip("adc", FILTERS, strict=True):
        world.subscribe(f"s.{broker}", filter, True)
    world.advance(100_000_000)
    name = world.exchanges.begin(split_link(removed, ""), split_link(added, ""), 1_000_000)
    cycle, near = world.exchanges.under_way[name].cycle, world.exchanges.under_way[name].near
    while world.step():
        for broker in list(world.nodes) if world.now_ns % 3 == 0 and world.exchanges.under_way else ():
            world.publish(f"s.{broker}", {"price": 15})
    assert not world.exchanges.under_way
    return {broker: (tuple(told[broker]), cycle, near, name) for broker in cycle}


@st.composite
def moments(draw: st.DrawFn) -> tuple[str, tuple[Input, ...], tuple[str, ...], int, str]:
    """A broker on the cycle, what it was told up to some moment, and the exchange."""
    of_case = pasts(draw(st.sampled_from(sorted(EXCHANGED))), draw(st.sampled_from(["none", "fifo", "causal"])))
    broker = draw(st.sampled_from(sorted(of_case)))
    past, cycle, near, exchange = of_case[broker]
    begins = next(n for n, told in enumerate(past) if _is_of_exchange(told))
    return broker, past[: draw(st.integers(begins, len(past)))], cycle, near, exchange


def _is_of_exchange(told: Input) -> bool:
    return isinstance(told, ExchangeOrdered) or (isinstance(told, Received) and isinstance(told.message, Lock))


@settings(max_examples=2 * EXAMPLES)
@given(moments(), st.data())
def test_any_message_in_any_state_of_an_exchange_does_no_harm(moment, data) -> None:
    broker, past, cycle, near, exchange = moment
    driver = Driver(BrokerConfig(held_back_max=HELD_MAX, probes_max=3, lock_attempts_max=3), broker)
    driver.live_through(past)
    others = [name for name in (*cycle, "g", "stranger") if name != broker]
    lock = Lock(exchange, cycle, near, "causal")
    about_it = st.one_of(
        st.builds(Signal, st.just(exchange), st.sampled_from(SignalStep.__args__)),
        st.builds(Signal, st.just(exchange), st.sampled_from(SignalStep.__args__)),
        st.builds(Subscribe, filters, st.just("x"), st.just(exchange), st.booleans()),
        st.builds(Unsubscribe, filters, st.just("x"), st.just(exchange), st.booleans()),
        st.builds(Gray, events, st.just(exchange)),
        st.just(lock),
        messages,
    )
    step = st.one_of(
        st.tuples(st.just("says"), st.sampled_from(others), about_it),
        st.tuples(st.just("says"), st.sampled_from(others), about_it),
        st.tuples(st.just("says"), st.sampled_from(others), about_it),
        st.tuples(st.just("link"), st.sampled_from(others), st.sampled_from(["", exchange])),
        st.tuples(st.sampled_from(["refuse", "unlink", "timer"]), st.sampled_from(others), st.none()),
        st.tuples(st.just("input"), st.just(""), own),
    )
    for one in data.draw(st.lists(step, min_size=1, max_size=12)):
        driver.do(one)
    free_in_the_end(driver)

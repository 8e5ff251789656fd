"""What one broker does, remembered: a state and an input give the next state and what goes out, each worked out once.

A *place* is a broker's state and what the world around it knows of it: timers that run, links that it believes in,
what its clients have done and got. Places, inputs and what waits on a link are numbered by value, so that a state of
the whole world is a few numbers, and most steps of a search are a dictionary's answer. Only what is met for the first
time is asked of a real broker: a clone of it takes the input, checks itself, and is kept.

What can be told from one broker alone is judged here, in the same breath: an assertion that failed, a complaint about
a neighbour, a message without a link, an event delivered twice or after one that it came before.

Time stands still at 0: a timer may fire at any moment after it was set, whatever it was set to.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import assert_never

from regraft.broker import Broker, BrokerConfig, FixedCatalogue, clone, state_of
from regraft.broker.effects import (
    CancelTimer,
    CloseLink,
    Departed,
    Dismiss,
    Effect,
    ExchangeEnded,
    Forward,
    HandedOff,
    Keep,
    LeaveAnswered,
    OpenLink,
    PeerMisbehaved,
    Refuse,
    Released,
    Send,
    SendDirect,
    SetTimer,
    TellInForce,
)
from regraft.broker.inputs import ClientPublished, Input, LinkDown, LinkUp, Received, TimerFired
from regraft.broker.messages import Gray
from regraft.model.events import Event

Asked = OpenLink | CloseLink | ExchangeEnded | LeaveAnswered | SendDirect
CLIENT_INPUTS = ("ClientPublished", "ClientSubscribed", "ClientUnsubscribed", "ClientDetached")


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """`links`: neighbour and the incarnation believed in; `acts`: what its clients did, by the inputs' numbers;
    `refused`: those of them that the broker refused; `got`: client and the events that it got, in order."""

    core: Broker
    timers: tuple[str, ...] = ()
    links: tuple[tuple[str, int], ...] = ()
    acts: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    got: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def value(self) -> Hashable:
        return state_of(self.core), self.timers, self.links, self.acts, self.refused, self.got


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """`out`: what goes out, in order: an input for a neighbour with the incarnation that it is sent on, or what is
    asked of the world. `fault` is empty where nothing is wrong."""

    after: int
    out: tuple[tuple[str, int, int] | Asked, ...]
    effects: tuple[Effect, ...]
    fault: str


class Places:
    """`earlier`: for an event, those that no client may get after it. Where it is None, nothing is promised about
    events, and what clients get is not looked at."""

    def __init__(self, config: BrokerConfig, filters: tuple[str, ...], earlier: Mapping[str, tuple[str, ...]] | None):
        self.config = config
        self.catalogue = FixedCatalogue(filters, config.covering)
        self.earlier = earlier
        self.places: list[Place] = []
        self.inputs: list[Input] = []
        self.moves: dict[tuple[int, int], Move] = {}
        self._place_numbers: dict[Hashable, int] = {}
        self._input_numbers: dict[Input, int] = {}

    def begin(self, name: str) -> int:
        return self._number_of(Place(Broker(name, self.config, self.catalogue)))

    def input_number(self, given: Input) -> int:
        number = self._input_numbers.get(given)
        if number is None:
            number = self._input_numbers[given] = len(self.inputs)
            self.inputs.append(given)
        return number

    def timers(self, place: int) -> list[int]:
        return [self.input_number(TimerFired(name)) for name in self.places[place].timers]

    def move(self, place: int, given: int) -> Move:
        move = self.moves.get((place, given))
        if move is None:
            move = self.moves[place, given] = self._work_out(self.places[place], self.inputs[given], given)
        return move

    def _number_of(self, place: Place) -> int:
        value = place.value()
        number = self._place_numbers.get(value)
        if number is None:
            number = self._place_numbers[value] = len(self.places)
            self.places.append(place)
        return number

    def _work_out(self, place: Place, given: Input, number: int) -> Move:
        core = clone(place.core)
        timers = dict.fromkeys(place.timers)
        links = dict(place.links)
        match given:
            case TimerFired():
                del timers[given.name]
            case LinkUp():
                links[given.neighbour] = given.incarnation
            case LinkDown():
                del links[given.neighbour]
        try:
            effects = core.handle(0, given)
            core.check()
        except AssertionError as error:
            return Move(0, (), (), f"{core.name} contradicts itself: {error}")
        acting = type(given).__name__ in CLIENT_INPUTS
        outgoing = _Outgoing(self, core.name, links, dict(place.got), timers)
        for effect in effects:
            outgoing.take(effect)
        after = Place(
            core,
            tuple(sorted(timers)),
            tuple(sorted(links.items())),
            (*place.acts, number) if acting else place.acts,
            (*place.refused, number) if acting and outgoing.refused else place.refused,
            tuple(sorted(outgoing.got.items())),
        )
        return Move(self._number_of(after), tuple(outgoing.out), tuple(effects), outgoing.fault)


class _Outgoing:
    """What one handful of effects comes to."""

    def __init__(
        self,
        places: Places,
        broker: str,
        links: dict[str, int],
        got: dict[str, tuple[str, ...]],
        timers: dict[str, None],
    ) -> None:
        self.out: list[tuple[str, int, int] | Asked] = []
        self.got = got
        self.refused = False
        self.fault = ""
        self._places = places
        self._broker = broker
        self._links = links
        self._timers = timers

    def take(self, effect: Effect) -> None:
        match effect:
            case Send():
                self._send(effect.neighbour, Received(self._broker, effect.message))
            case Forward():
                for neighbour in effect.neighbours:
                    self._send(neighbour, Received(self._broker, effect.event))
                for neighbour in effect.gray:
                    self._send(neighbour, Received(self._broker, Gray(effect.event, effect.exchange)))
                for client in effect.clients:
                    self._deliver(client, effect.event)
            case SetTimer():
                self._timers[effect.name] = None
            case CancelTimer():
                self._timers.pop(effect.name, None)
            case OpenLink() | CloseLink() | ExchangeEnded() | LeaveAnswered() | SendDirect():
                self.out.append(effect)
            case Refuse():
                self.refused = True
            case PeerMisbehaved():
                self.fault = self.fault or f"{self._broker} complains of {effect.neighbour}: {effect.reason}"
            case TellInForce() | Released():
                pass
            case HandedOff() | Dismiss() | Keep() | Departed():
                self.fault = self.fault or f"{self._broker} hands a client over, and none has moved"
            case _:
                assert_never(effect)

    def _send(self, neighbour: str, given: Received) -> None:
        if neighbour not in self._links:
            self.fault = self.fault or f"{self._broker} sends to {neighbour}, to which it has no link"
            return
        self.out.append((neighbour, self._links[neighbour], self._places.input_number(given)))

    def _deliver(self, client: str, event: Event) -> None:
        earlier = self._places.earlier
        if earlier is None:
            return
        before = self.got.get(client, ())
        late = [other for other in before if event.name in earlier.get(other, ())]
        if event.name in before:
            self.fault = self.fault or f"{client} gets {event.name} twice"
        elif late:
            self.fault = self.fault or f"{client} gets {event.name} after {late[0]}"
        self.got[client] = (*before, event.name)


def published_by(given: Input) -> Event | None:
    return given.event if isinstance(given, ClientPublished) else None

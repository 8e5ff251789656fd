"""A world in which everything that can happen next may happen next, as numbers.

A state is a tuple: for each broker its place (`places.py`), for each ordered pair of brokers what waits on the way from
the one to the other (from a broker to itself: from the operator), and the links (`links.py`), each a number. What may
happen: the first of what waits somewhere arrives, a timer fires, a client acts, the operator does the next thing of
a thread, a link that was asked for comes up.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from regraft.broker.inputs import ClientSubscribed, JoinOrdered, PathFound
from regraft.broker.story import story_of
from regraft.proving.case import FILTER, Case, client_of
from regraft.proving.links import LinkLayer, Links, Open, Put
from regraft.proving.places import Asked, Places

State = tuple[int, ...]
EMPTY = 0


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens: to a broker (`target`), an input; or, where there is none, something to the links."""

    target: int
    given: int
    from_queue: int = 0  # the index of the queue that it waited in, if it did
    thread: int = -1
    open: Open | None = None


class BrokenPromiseError(Exception):
    """A step of this state breaks a promise."""

    def __init__(self, state: State, step: Step, reason: str) -> None:
        super().__init__(reason)
        self.state = state
        self.step = step
        self.reason = reason


class Queues:
    """What waits on the way to a broker, by number; 0 is nothing."""

    def __init__(self) -> None:
        self.contents: list[tuple[int, ...]] = [()]
        self.first: list[tuple[int, int]] = [(0, 0)]  # what comes first, and what then remains
        self._numbers: dict[tuple[int, ...], int] = {(): EMPTY}
        self._longer: dict[tuple[int, int], int] = {}

    def number_of(self, content: tuple[int, ...]) -> int:
        number = self._numbers.get(content)
        if number is None:
            rest = self.number_of(content[1:])
            number = self._numbers[content] = len(self.contents)
            self.contents.append(content)
            self.first.append((content[0], rest))
        return number

    def put(self, queue: int, item: int) -> int:
        longer = self._longer.get((queue, item))
        if longer is None:
            longer = self._longer[queue, item] = self.number_of((*self.contents[queue], item))
        return longer


class ProofWorld:
    """The world of one case. Places and queues may be shared by all cases over the same brokers."""

    def __init__(self, case: Case, places: Places, queues: Queues) -> None:
        self.case = case
        self.places = places
        self.queues = queues
        self.layer = LinkLayer(case.brokers, case.threads)
        self._count = len(case.brokers)
        self._index = {name: index for index, name in enumerate(case.brokers)}
        self._links: list[Links] = []
        self._link_numbers: dict[Links, int] = {}
        self._alive: list[dict[int, int]] = []  # by the number of the links: queue -> incarnation
        self._asked: dict[tuple[int, int, Asked], tuple[int, list[Put]]] = {}
        self._acts = [places.input_number(act.given) for act in case.acts]
        self._own: dict[int, list[Step]] = {}  # by the place: timers and acts that are due there
        self.begin = self._begin()

    def links_of(self, state: State) -> Links:
        return self._links[state[-1]]

    def _queue(self, source: int, target: int) -> int:
        return self._count + source * self._count + target

    def _number_of(self, links: Links) -> int:
        number = self._link_numbers.get(links)
        if number is None:
            number = self._link_numbers[links] = len(self._links)
            self._links.append(links)
            alive = {}
            for (a, b), incarnation in links.alive:
                one, other = self._index[a], self._index[b]
                alive[self._queue(one, other)] = alive[self._queue(other, one)] = incarnation
            self._alive.append(alive)
        return number

    def _begin(self) -> State:
        """The tree stands, and all that was subscribed before is in force."""
        case = self.case
        state = [self.places.begin(name) for name in case.brokers] + [EMPTY] * (self._count * self._count) + [0]
        links = self.layer.begin()
        if case.joining:
            self._give(state, self._index[case.joining], self.places.input_number(JoinOrdered()))
        for link in case.tree:
            links, puts = self.layer.lay(links, *link)
            self._apply(state, puts)
        state[-1] = self._number_of(links)
        for broker in case.subscribers:
            given = self.places.input_number(ClientSubscribed(client_of(broker), FILTER))
            self._give(state, self._index[broker], given)
        while waiting := [step for step in self._arrivals(state)]:
            step = waiting[0]
            state[step.from_queue] = self.queues.first[state[step.from_queue]][1]
            self._give(state, step.target, step.given)
        return tuple(state)

    # --- what may happen

    def _arrivals(self, state: "list[int] | State") -> Iterator[Step]:
        count, first = self._count, self.queues.first
        for index in range(count, count + count * count):
            if state[index]:
                yield Step((index - count) % count, first[state[index]][0], index)

    def _own_steps(self, target: int, place: int) -> list[Step]:
        steps = self._own.get(place)
        if steps is None:
            steps = [Step(target, timer) for timer in self.places.timers(place)]
            known = self.places.places[place]
            got = dict(known.got)
            for act, given in zip(self.case.acts, self._acts, strict=True):
                if act.broker != self.case.brokers[target] or given in known.acts:
                    continue
                if act.after is not None and self._acts[act.after] not in known.acts:
                    continue
                if act.got and act.got not in got.get(client_of(act.broker), ()):
                    continue
                steps.append(Step(target, given))
            self._own[place] = steps
        return steps

    def steps(self, state: State) -> Iterator[tuple[Step, State]]:
        """Each thing that may happen, and the state that it leads to; raises where that breaks a promise."""
        first = self.queues.first
        for step in self._arrivals(state):
            after = list(state)
            after[step.from_queue] = first[state[step.from_queue]][1]
            yield step, self._taken(state, step, after)
        for target in range(self._count):
            for step in self._own_steps(target, state[target]):
                yield step, self._taken(state, step, list(state))
        links = self._links[state[-1]]
        for thread, _ in self.layer.operations(links):
            yield self._operated(state, Step(-1, -1, thread=thread), *self.layer.operate(links, thread))
        for open in links.opening:
            yield self._operated(state, Step(-1, -1, open=open), *self.layer.open(links, open))

    def _taken(self, state: State, step: Step, after: list[int]) -> State:
        fault = self._give(after, step.target, step.given)
        if fault:
            raise BrokenPromiseError(state, step, fault)
        return tuple(after)

    def _operated(self, state: State, step: Step, links: Links, puts: list[Put]) -> tuple[Step, State]:
        after = list(state)
        after[-1] = self._number_of(links)
        self._apply(after, puts)
        return step, tuple(after)

    def _give(self, state: list[int], target: int, given: int) -> str:
        move = self.places.move(state[target], given)
        if move.fault:
            return move.fault
        state[target] = move.after
        known = self.places.inputs[given]
        if type(known) is PathFound and known.way[-1] == self.case.brokers[target]:  # and now the first of the way
            first = PathFound(known.way[-1], known.incarnation, known.way, known.near)
            self._apply(state, [Put(known.way[-1], known.way[0], first)])
        for out in move.out:
            if type(out) is tuple:
                neighbour, incarnation, item = out
                queue = self._queue(target, self._index[neighbour])
                if self._alive[state[-1]].get(queue) == incarnation:  # else it is sent on a link that has ended
                    state[queue] = self.queues.put(state[queue], item)
            else:
                assert not isinstance(out, tuple)
                self._ask(state, target, out)
        return ""

    def _ask(self, state: list[int], target: int, asked: Asked) -> None:
        key = (state[-1], target, asked)
        answer = self._asked.get(key)
        if answer is None:
            links, puts = self.layer.asked(self._links[state[-1]], self.case.brokers[target], asked)
            answer = self._asked[key] = (self._number_of(links), puts)
        state[-1] = answer[0]
        self._apply(state, answer[1])

    def _apply(self, state: list[int], puts: list[Put]) -> None:
        for put in puts:
            queue = self._queue(self._index[put.source], self._index[put.target])
            if put.ends:
                kept = [item for item in self.queues.contents[state[queue]] if not self._is_message(item)]
                state[queue] = self.queues.number_of(tuple(kept))
            state[queue] = self.queues.put(state[queue], self.places.input_number(put.given))

    def _is_message(self, item: int) -> bool:
        return type(self.places.inputs[item]).__name__ == "Received"

    # --- in words

    def story(self, state: State, step: Step) -> list[str]:
        if step.open is not None:
            return [f"the link {step.open.broker}-{step.open.neighbour} comes up"]
        if step.thread >= 0:
            operation = self.case.threads[step.thread][self.links_of(state).positions[step.thread]]
            return [f"> {operation}"]
        move = self.places.move(state[step.target], step.given)
        command = [f"> {act}" for act, given in zip(self.case.acts, self._acts, strict=True) if given == step.given]
        name = self.case.brokers[step.target]
        return command + story_of(name, self.places.inputs[step.given], list(move.effects))

"""Every state that can be reached from the first, each visited once.

The search goes deep first, which tells whether a run can go round for ever: a step that leads back to a state on the
way to here. If there is no such step, every run ends; and what is true of every state in which nothing is left to
happen, and of every step, is true of every run. For a fault, a second search goes wide first, and finds a shortest way
to one.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from regraft.proving.world import BrokenPromiseError, ProofWorld, State, Step

Ending = Callable[[State], str]  # why a state in which nothing is left to happen breaks a promise, or nothing


@dataclass(slots=True)
class Extent:
    states: int = 0
    transitions: int = 0
    endings: int = 0


@dataclass(frozen=True, slots=True)
class Violation:
    reason: str
    story: tuple[str, ...]


def search(world: ProofWorld, ending: Ending, extent: Extent) -> Violation | None:
    """Adds to `extent` as it goes."""
    try:
        round_ = _deep(world, ending, extent)
    except BrokenPromiseError:
        return _shortest(world, ending, [])
    return _shortest(world, ending, round_) if round_ is not None else None


def _deep(world: ProofWorld, ending: Ending, extent: Extent) -> list[State] | None:
    """None where all is well; else the states of a run that goes round, or none where a promise is broken at an end."""
    visited = {world.begin}
    way = {world.begin}
    stack = [(world.begin, world.steps(world.begin))]
    extent.states += 1
    fresh = True
    while stack:
        state, steps = stack[-1]
        for _, after in steps:
            extent.transitions += 1
            fresh = False
            if after not in visited:
                visited.add(after)
                way.add(after)
                extent.states += 1
                stack.append((after, world.steps(after)))
                fresh = True
                break
            if after in way:
                states = [earlier for earlier, _ in stack]
                return states[states.index(after) :]
        else:
            if fresh:
                extent.endings += 1
                if ending(state):
                    return []
            fresh = False
            way.discard(state)
            stack.pop()
    return None


def _shortest(world: ProofWorld, ending: Ending, round_: list[State]) -> Violation:
    """Of all that break a promise at a step or at an end; or to where the run goes round."""
    before: dict[State, tuple[State, Step] | None] = {world.begin: None}
    queue = deque([world.begin])
    while queue:
        state = queue.popleft()
        if round_ and state == round_[0]:
            once = tuple(
                line for at in (*range(1, len(round_)), 0) for line in _between(world, round_[at - 1], round_[at])
            )
            return Violation("a run goes round for ever", (*_story(world, before, state), "again and again:", *once))
        is_end = True
        try:
            for step, after in world.steps(state):
                is_end = False
                if after not in before:
                    before[after] = (state, step)
                    queue.append(after)
        except BrokenPromiseError as fault:
            return Violation(fault.reason, (*_story(world, before, state), *world.story(state, fault.step)))
        if is_end and (reason := ending(state)):
            return Violation(reason, _story(world, before, state))
    raise AssertionError("what was found going deep is not found going wide")


def _between(world: ProofWorld, state: State, following: State) -> list[str]:
    return next(world.story(state, step) for step, after in world.steps(state) if after == following)


def _story(world: ProofWorld, before: dict[State, tuple[State, Step] | None], state: State) -> tuple[str, ...]:
    way = []
    while (last := before[state]) is not None:
        way.append(last)
        state = last[0]
    return tuple(line for earlier, step in reversed(way) for line in world.story(earlier, step))

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
        reason = _deep(world, ending, extent)
    except BrokenPromiseError as fault:
        reason = fault.reason
    return _shortest(world, ending, reason) if reason else None


def _deep(world: ProofWorld, ending: Ending, extent: Extent) -> str:
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
                return "a run goes round for ever"
        else:
            if fresh:
                extent.endings += 1
                if reason := ending(state):
                    return reason
            fresh = False
            way.discard(state)
            stack.pop()
    return ""


def _shortest(world: ProofWorld, ending: Ending, otherwise: str) -> Violation:
    before: dict[State, tuple[State, Step] | None] = {world.begin: None}
    queue = deque([world.begin])
    while queue:
        state = queue.popleft()
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
    return Violation(otherwise, ())


def _story(world: ProofWorld, before: dict[State, tuple[State, Step] | None], state: State) -> tuple[str, ...]:
    way = []
    while (last := before[state]) is not None:
        way.append(last)
        state = last[0]
    return tuple(line for earlier, step in reversed(way) for line in world.story(earlier, step))

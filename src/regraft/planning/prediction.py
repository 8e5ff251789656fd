"""What a step of a plan will cost: control messages, and the filters that they carry.

The numbers are exact for a network that is otherwise quiet, under the coordinated protocol, without covering: they
follow from the tree and from who holds which filters. With one filter a message (the papers' way) a filter is a
message; batched, all that one broker tells another at one step is one.

**A link exchange** on a cycle of k brokers costs signals that depend on k alone: the lock runs over k - 1 links and is
answered once; `clean` and `unlock` run from the old ends to the new ones, k - 2 links each; `laid` crosses the new link
twice; both separators run over k - 1 links; `drained` crosses the old link once; for causal order, `returned` runs like
`clean`. The filters: on R1's side, each broker tells the next one inward to forget what was wanted beyond the old link
and nobody further out on this side wants; the new end tells the other one all that its side wants; and each broker
tells the next one outward what the other side wants and nobody further in does. The same on R2's side. Off the cycle
nobody is told anything. (`broker/reconfiguration/coordinated.py`)

**A leaf that joins** says `join`, is told every filter that there is, and gets a `welcome`. **A leaf that leaves** says
`leave`; before that its client takes its filters back, and each goes as far as nobody else behind it wants the same.
(`broker/membership.py`)

Left out: covering, where what is told depends on which filters cover which on the way; and what clients do meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from regraft.model.trees import Adjacency, behind, beyond_each_wire, parents
from regraft.planning.floor import differing, floor_of
from regraft.planning.plan import Group, LeafAddition, LeafRemoval, LinkExchange, Step, carry_out


@dataclass(frozen=True, slots=True)
class Prediction:
    messages: int
    filters_carried: int
    floor: int | None = None  # of an exchange, in filters carried


def predict_step(
    adjacency: Adjacency, step: Step, local: Mapping[str, int], *, causal: bool = False, batch: bool = False
) -> Prediction:
    """In the tree as it is before the step; `local` are the filters of each broker's clients, as sets."""
    match step:
        case LeafAddition():
            everything = reduce(or_, local.values(), 0)
            return _prediction([everything], 2, batch)
        case LeafRemoval(leaf):
            without = {broker: 0 if broker == leaf else local[broker] for broker in adjacency}
            return _prediction(_taken_back(adjacency, leaf, local[leaf], without) if local[leaf] else [], 1, False)
        case LinkExchange(_, _, cycle, near):
            filters = behind(adjacency, cycle, local)
            r1_side, r2_side = filters[:near], filters[near:][::-1]
            r1_all, r2_all = reduce(or_, r1_side), reduce(or_, r2_side)
            told = [*_told_on(r1_side, r2_all), *_told_on(r2_side, r1_all), r1_all, r2_all]
            length = len(cycle)
            signals = 5 * length - 3 + (length - 2 if causal else 0)
            return _prediction(told, signals, batch, floor_of(differing(filters, near)))


def predict(
    adjacency: Adjacency,
    groups: Sequence[Group],
    local: Mapping[str, int],
    *,
    causal: bool = False,
    batch: bool = False,
) -> list[list[Prediction]]:
    """Of each step, by groups; the steps of a group one after the other, which for exchanges makes no difference."""
    now = {broker: dict(neighbours) for broker, neighbours in adjacency.items()}
    held = dict(local)
    predictions: list[list[Prediction]] = []
    for group in groups:
        predictions.append([])
        for step in group:
            predictions[-1].append(predict_step(now, step, held, causal=causal, batch=batch))
            carry_out(now, step)
            if isinstance(step, LeafAddition):
                held[step.leaf] = 0
            elif isinstance(step, LeafRemoval):
                del held[step.leaf]
    return predictions


def _prediction(told: Sequence[int], signals: int, batch: bool, floor: int | None = None) -> Prediction:
    carried = sum(filters.bit_count() for filters in told)
    return Prediction(signals + (sum(filters != 0 for filters in told) if batch else carried), carried, floor)


def _told_on(side: Sequence[int], others: int) -> list[int]:
    """Along one side of the cycle, from the old end to the new one: what each tells the next inward to forget, then
    what each tells the next outward that the other side wants."""
    told = []
    for way in (side, side[::-1]):
        union = 0
        for filters in way[:-1]:
            union |= filters
            told.append(others & ~union)
    return told


def _taken_back(adjacency: Adjacency, leaf: str, gone: int, without: Mapping[str, int]) -> list[int]:
    """For each link, what its end nearer to the leaf takes back from the other one."""
    beyond = beyond_each_wire(adjacency, dict(without))
    return [gone & ~beyond[broker, above] for broker, above in parents(adjacency, leaf).items() if above]

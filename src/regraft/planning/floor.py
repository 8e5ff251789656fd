"""The floor: what a link exchange must cost at the least, whoever carries it out.

**What it is.** Compare each broker's exact table in the tree before with its table in the tree after. A (broker,
filter) pair whose entries differ is one that somebody must tell that broker about, once, naming the filter; one telling
can move an entry from one neighbour to another. The two ends of the removed link can know their own part without being
told. So the floor is the number of differing pairs at all other brokers, in *filters carried*.

**Only the cycle counts.** The removed link R1-R2 and the added one A1-A2 form a cycle. To a broker off the cycle,
whatever lies beyond each of its links lies there before and after: none of its entries differ, and a protocol that
tells it anything has told it too much. On the cycle, what a broker should have heard from its neighbour is the union of
what hangs on the cycle's brokers on that neighbour's side: two runs along the cycle for each tree, and an XOR.

**With covering** an entry is a filter that no other one beyond that link covers, and the floor counts pairs of these
*maximal* sets. It then holds for protocols that name each filter that comes to or goes from a table, as ours do; a
broker that dropped what a new entry covers without being told would need less.

Left out: breaks that nothing replaces, and crashes, where the tree after is over other brokers; and hierarchical
forwarding, where the overlay tells brokers the way to the root, and with it part of what they should have heard.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise


def differing(behind: Sequence[int], near: int, maximal: Callable[[int], int] = lambda filters: filters) -> list[int]:
    """For each broker of the cycle R1 … A1, A2 … R2, the filters whose entries differ.

    `behind` are the filters at each of them and off the cycle behind it; the first `near` are on R1's side.
    """
    places = list(range(len(behind)))
    before = _entries(behind, places[near:] + places[:near], maximal)
    after = _entries(behind, places, maximal)
    differ = [0] * len(behind)
    for here, there in before | after:
        differ[here] |= before.get((here, there), 0) ^ after.get((here, there), 0)
    return differ


def floor_of(differ: Sequence[int]) -> int:
    """In filters carried: R1 and R2, the first and the last, need not be told."""
    return sum(filters.bit_count() for filters in differ[1:-1])


def _entries(behind: Sequence[int], chain: list[int], maximal: Callable[[int], int]) -> dict[tuple[int, int], int]:
    """(here, there) -> what `here` should have heard from `there`, along the chain that a tree makes of the cycle."""
    entries: dict[tuple[int, int], int] = {}
    for way in (chain, chain[::-1]):
        union = 0
        for there, here in pairwise(way):
            union |= behind[there]
            entries[here, there] = maximal(union)
    return entries

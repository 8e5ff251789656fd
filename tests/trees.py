"""Trees for tests: as Hypothesis draws them, and of extreme shapes."""

from random import Random

from hypothesis import strategies as st

from regraft.model.trees import Link


def tree_of(brokers: list[str], dice: Random) -> list[Link]:
    """Each broker hangs on one before it: on any, or on a near one, so that bushes and chains both come about."""
    reach = dice.choice([1, 2, len(brokers)])
    return [(brokers[max(0, place - 1 - dice.randrange(reach))], brokers[place]) for place in range(1, len(brokers))]


@st.composite
def two_trees(draw: st.DrawFn, brokers_max: int = 14) -> tuple[list[Link], list[Link]]:
    """Over brokers that they share wholly, in part or not at all."""
    dice = Random(draw(st.integers(0, 2**32)))
    names = [f"b{number}" for number in range(draw(st.integers(2, brokers_max)))]
    here = [name for name in names if draw(st.booleans())] if draw(st.booleans()) else list(names)
    there = [name for name in names if draw(st.booleans())] if draw(st.booleans()) else list(names)
    for part in (here, there):
        part += [name for name in names if name not in part][: max(0, 2 - len(part))]
        dice.shuffle(part)
    return tree_of(here, dice), tree_of(there, dice)


def as_set(links: list[Link]) -> set[frozenset[str]]:
    return {frozenset(link) for link in links}

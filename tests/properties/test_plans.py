"""Any tree is reached from any other: each step leaves a tree, no step is wasted, and groups share no broker."""

from hypothesis import example, given

from regraft.model.trees import Link, adjacency_of, check_tree
from regraft.planning import LeafAddition, LeafRemoval, LinkExchange, Step, carry_out, plan
from trees import as_set, two_trees


def links_of(adjacency: dict[str, dict[str, int]]) -> list[Link]:
    return [(a, b) for a, neighbours in adjacency.items() for b in neighbours if a < b]


def brokers_of(links: list[Link]) -> set[str]:
    return {broker for link in links for broker in link}


@given(two_trees())
def test_every_step_leaves_a_tree_and_the_last_one_the_wanted(trees: tuple[list[Link], list[Link]]) -> None:
    current, wanted = trees
    adjacency = adjacency_of(current, "current")
    for group in plan(current, wanted):
        for step in group:
            carry_out(adjacency, step)
            check_tree(adjacency, links_of(adjacency), "between")
    assert as_set(links_of(adjacency)) == as_set(wanted)


@given(two_trees())
def test_no_exchange_is_wasted(trees: tuple[list[Link], list[Link]]) -> None:
    current, wanted = trees
    steps = [step for group in plan(current, wanted) for step in group]
    exchanges = [step for step in steps if isinstance(step, LinkExchange)]
    come = brokers_of(wanted) - brokers_of(current)
    go = brokers_of(current) - brokers_of(wanted)
    assert {step.leaf for step in steps if isinstance(step, LeafAddition)} == come
    assert {step.leaf for step in steps if isinstance(step, LeafRemoval)} == go
    assert len(steps) == len(exchanges) + len(come) + len(go)
    shared = bool(brokers_of(wanted) & brokers_of(current))
    missing = len(as_set(wanted) - as_set(current))
    assert len(exchanges) == (missing - len(come) if shared else 0)
    for exchange in exchanges:
        assert frozenset(exchange.added) in as_set(wanted) - as_set(current)
        assert frozenset(exchange.removed) not in as_set(wanted)


@given(two_trees())
def test_a_group_is_of_one_kind_and_can_happen_in_any_order(trees: tuple[list[Link], list[Link]]) -> None:
    current, wanted = trees
    adjacency = adjacency_of(current, "current")
    for group in plan(current, wanted):
        assert group
        assert len({type(step) for step in group}) == 1
        touched = [broker for step in group if isinstance(step, LinkExchange) for broker in step.cycle]
        assert len(touched) == len(set(touched))
        for step in reversed(group):
            carry_out(adjacency, step)


@given(two_trees())
@example(([("b5", "b4"), ("b5", "b0")], [("b6", "b3")]))
def test_a_plan_made_anew_is_the_rest_of_the_old_one(trees: tuple[list[Link], list[Link]]) -> None:
    current, wanted = trees
    adjacency = adjacency_of(current, "current")
    groups = plan(current, wanted)
    for number, group in enumerate(groups):
        exchanges = [group for group in groups[number:] if isinstance(group[0], LinkExchange)]
        anew = plan(links_of(adjacency), wanted)
        assert [group for group in anew if isinstance(group[0], LinkExchange)] == exchanges
        assert len(anew) == len(groups) - number
        for step in group:
            carry_out(adjacency, step)


@given(two_trees())
def test_from_a_tree_to_itself_there_is_nothing_to_do(trees: tuple[list[Link], list[Link]]) -> None:
    current, _ = trees
    assert plan(current, [(b, a) for a, b in reversed(current)]) == ()


def step_names(groups: tuple[tuple[Step, ...], ...]) -> list[str]:
    return [type(step).__name__ for group in groups for step in group]


def test_a_broker_between_two_others_costs_one_exchange() -> None:
    """debs06 §2.1: added as a leaf of the one, then the link between the two is exchanged."""
    (first,), (second,) = plan([("a", "b")], [("a", "x"), ("x", "b")])
    assert first == LeafAddition("x", "a")
    assert second == LinkExchange(("a", "b"), ("x", "b"), ("a", "x", "b"), 2)
    assert step_names(plan([("a", "x"), ("x", "b")], [("a", "b")])) == ["LinkExchange", "LeafRemoval"]


def test_trees_without_a_common_broker_need_no_exchange() -> None:
    groups = plan([("a", "b"), ("b", "c")], [("x", "y"), ("y", "z")])
    assert step_names(groups) == ["LeafAddition"] * 3 + ["LeafRemoval"] * 3

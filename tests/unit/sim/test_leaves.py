"""A leaf comes or goes while events flow, and nothing owed is lost; what cannot be is refused with the reason."""

import pytest

from regraft.errors import ScenarioError
from regraft.sim import parse_scenario, simulate

UNDER_LOAD = """
duration_s = 3.0
checks = ["tables", "connected", "quiet", "in_force", "delivered", "in_order", "causal"]
tree = { shape = "explicit", links = ["a-b", "b-c", "c-d", "b-e"] }
link = { latency_us = 5000.0 }
subscriptions = { acknowledged = true, subscribers = 1.0, filters = 30, churn_hz = 2.0, core = 0.5 }
publications = { rate_hz = 200.0, until_s = 2.5 }
"""


def run(text: str, seed: int = 1):
    run = simulate(parse_scenario(text, {}, "scenario.toml"), seed, name="leaves", trace="counted")
    for _ in run.batches():
        pass
    assert run.outcome is not None
    return run.outcome


def test_leaves_come_and_go_under_load_and_nothing_is_lost() -> None:
    steps = """
[[step]]
at_s = 1.0
add_leaf = "x-d"
[[step]]
at_s = 1.0
at = "x"
publish = { text = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" }
[[step]]
at_s = 1.001
add_leaf = "y-x"
[[step]]
at_s = 1.002
at = "y"
publish = { text = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" }
[[step]]
at_s = 1.003
at = "y"
subscribe = "text LIKE '%a%'"
[[step]]
at_s = 1.5
remove_leaf = "e"
[[step]]
at_s = 2.0
remove_leaf = "y"
[[step]]
at_s = 2.0
remove_leaf = "a"
"""
    outcome = run(UNDER_LOAD + steps)
    assert outcome.violations == []
    assert outcome.wrong_entries == 0
    assert outcome.numbers is not None
    assert outcome.numbers.owed > 1_000


def test_without_the_welcome_the_first_event_of_a_new_leaf_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the test above can fail."""
    monkeypatch.setattr("regraft.broker.membership.Membership.join_ordered", lambda self: None)
    step = (
        '[[step]]\nat_s = 1.0\nadd_leaf = "x-d"\n[[step]]\nat_s = 1.0\nat = "x"\npublish = { text = "abcdefghijklm" }\n'
    )
    assert any("lost" in violation for violation in run(UNDER_LOAD + step).violations)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ('add_leaf = "x-zz"', "there is no broker zz"),
        ('add_leaf = "a-b"', "there is a broker a already"),
        ('add_leaf = "x"', "'x' is no link"),
        ('remove_leaf = "zz"', "there is no broker zz"),
        ('remove_leaf = "b"', "b is no leaf: it has 3 links"),
        ('remove_leaf = "a"\n[[step]]\nat_s = 1.001\nremove_leaf = "a"', "a is about to leave"),
        ('remove_leaf = "a"\n[[step]]\nat_s = 1.001\nexchange = "a-b>a-d"', "a is about to leave"),
        ('remove_leaf = "a"\n[[step]]\nat_s = 1.001\nadd_leaf = "x-a"', "a is about to leave"),
        ('remove_leaf = "a"\n[[step]]\nat_s = 1.5\nat = "a"\nsubscribe = "text = \'a\'"', "there is no client c.a"),
    ],
)
def test_a_leaf_step_that_cannot_be_is_refused(step: str, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        run(f"{UNDER_LOAD}\n[[step]]\nat_s = 1.0\n{step}\n")

"""The properties of `test_out_of_turn.py` can fail: a bug planted on purpose breaks one of them."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from properties import test_out_of_turn as out_of_turn
from regraft.broker.messages import Reroute
from regraft.broker.reconfiguration import Coordinated, Path
from regraft.broker.reconfiguration.cycle import Place

for_a_bug = settings(
    max_examples=1_000,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def hears_of_no_loss(self, neighbour: str, **known: bool) -> None:
    """Whatever waits for a neighbour that is gone goes on waiting."""


def passes_any_on(self: Path, neighbour: str, message: Reroute) -> None:
    """RECMSG at which nobody looks."""
    position = message.way.index(self._name)
    self._pass_on(message.reconfiguration, Place(message.way, message.near, position), 0, 0)


@pytest.mark.parametrize(
    ("part", "method", "bug"),
    [
        (Path, "rerouted_by", passes_any_on),
        (Coordinated, "link_lost", hears_of_no_loss),
    ],
)
def test_at_any_time(part: type, method: str, bug: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, method, bug)
    live = out_of_turn.test_any_message_at_any_time_does_no_harm.hypothesis.inner_test
    script = st.lists(out_of_turn.steps, max_size=40)
    linked = st.lists(out_of_turn.neighbours, unique=True)
    broken = for_a_bug(given(out_of_turn.configs, linked, st.booleans(), script)(live))
    with pytest.raises((AssertionError, ValueError, KeyError)):
        broken()


def test_in_any_state_of_an_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coordinated, "link_lost", hears_of_no_loss)
    live = out_of_turn.test_any_message_in_any_state_of_an_exchange_does_no_harm.hypothesis.inner_test
    with pytest.raises((AssertionError, KeyError)):
        for_a_bug(given(out_of_turn.moments(), st.data())(live))()

"""A soak finds a planted bug, makes it small, and what it hands over shows the bug again."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.broker.reconfiguration import Coordinated
from regraft.cli import app
from regraft.cli.process import run as run_command
from regraft.lab.soak import soak
from regraft.sim import read_scenario
from regraft.sim.drawn import draw_scenario
from regraft.sim.scenario import PROTOCOLS, parse_scenario
from regraft.sim.shrinking import shrink
from regraft.sim.soaking import SoakTask, soak_run, violations_of
from regraft.sim.writing import scenario_text


def in_process(tasks):
    return [soak_run(task) for task in tasks]


def test_a_planted_bug_is_found_shrunk_and_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as planted:
        planted.setattr(Coordinated, "is_gray", lambda self, came_from, exchange: self.part.gray)
        soaked = soak(in_process, 1, protocol="coordinated-none", brokers=(6, 12), runs=100, shrink_runs_max=30)
        assert soaked.found is not None
        assert soaked.shrunk is not None
        assert any("lost" in violation or "duplicated" in violation for violation in soaked.found.violations)
        before, after = SoakTask(soaked.found.number, "coordinated-none", 6, 12).scenario(), soaked.shrunk.scenario
        assert after.tree.brokers < before.tree.brokers
        file = tmp_path / "found.toml"
        file.write_text(scenario_text(after))
        assert read_scenario(file) == after
        line = ["sim", str(file), "--seed", str(soaked.shrunk.seed)]
        assert run_command(app, line) == 1
        printed = capsys.readouterr().out
        assert all(f"violated: {violation}" in printed for violation in soaked.shrunk.violations)
    assert run_command(app, line) == 0  # without the bug


def test_a_soak_without_a_bug_ends_when_all_are_made() -> None:
    soaked = soak(in_process, 1, brokers=(3, 12), runs=20)
    assert soaked.runs == 20
    assert soaked.found is None
    assert sum(account.runs for account in soaked.accounts.values()) == 20
    promised = [account for (_, promised), account in soaked.accounts.items() if promised]
    assert sum(account.owed for account in promised) > 0
    assert sum(account.lost + account.duplicated for account in promised) == 0


def test_a_soak_ends_when_the_time_is_up() -> None:
    soaked = soak(in_process, 1, brokers=(3, 5), seconds=0.01)
    assert 0 < soaked.runs <= 16


def test_shrinking_is_deterministic_and_ends() -> None:
    def has_many(scenario, seed):
        return ("many",) if scenario.tree.brokers >= 7 and scenario.changes is not None else ()

    first = shrink(draw_scenario(5, protocol="deferred"), 5, has_many)
    assert first == shrink(draw_scenario(5, protocol="deferred"), 5, has_many)
    assert first.scenario.tree.brokers == 7
    assert first.scenario.changes.count_max == 1
    assert first.scenario.publications.rate_hz == 0


def test_what_violates_nothing_here_comes_back_as_it_is() -> None:
    scenario = draw_scenario(5, brokers=(3, 5))
    shrunk = shrink(scenario, 5, violations_of)
    assert (shrunk.scenario, shrunk.violations) == (scenario, ())


@given(st.integers(0, 10_000), st.sampled_from(["", *PROTOCOLS]))
def test_a_scenario_is_read_as_it_was_written(number: int, protocol: str) -> None:
    scenario = draw_scenario(number, protocol=protocol)
    assert parse_scenario(scenario_text(scenario), {}, "text") == scenario


def test_steps_are_read_as_they_were_written() -> None:
    text = """
    name = "a \\"name\\"\\u007f"
    [tree]
    shape = "explicit"
    links = ["a-b", "b-c"]
    [[step]]
    at_s = 1.5
    at = "a"
    subscribe = "symbol = 'I\\\\u0000BM'"
    [[step]]
    at_s = 2
    at = "b"
    publish = { symbol = "x", price = 1.5, open = true, "odd key" = 3 }
    """
    scenario = parse_scenario(text, {}, "text")
    assert parse_scenario(scenario_text(scenario), {}, "text") == scenario

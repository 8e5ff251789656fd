"""Scenarios that failed once, or are as nasty as can be; the seed stands in the file's name."""

from pathlib import Path

import pytest

from regraft.sim import read_scenario, scenario_from
from regraft.sim.soaking import violations_of

FILES = sorted((Path(__file__).parent / "regressions").glob("*.toml"))

# The exchange b-c > a-d goes round b, a, d, c: R1, A1, A2, R2, with an inner broker on the way from R1 to A1.
LINKS = ["a-i", "i-b", "b-c", "c-d", "d-e"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_failed_once_holds(file: Path) -> None:
    assert violations_of(read_scenario(file), int(file.stem.rpartition(".")[2])) == ()


@pytest.mark.parametrize("protocol", ["coordinated-causal", "graft-fifo"])
@pytest.mark.parametrize("crashed", ["b", "i", "a", "d", "c"])
def test_participant_that_dies_while_locks_collide_leaves_nothing_behind(protocol: str, crashed: str) -> None:
    """At each step of the exchange, beside another that wants the same brokers: R1, inner, A1, A2 and R2."""
    for after_ms in range(0, 16, 3):
        died_s = 1.0005 + after_ms / 1_000
        scenario = scenario_from(
            {
                "protocol": protocol,
                "duration_s": 3.0,
                "tree": {"shape": "explicit", "links": LINKS},
                "link": {"latency_us": 1_000.0},
                "subscriptions": {"subscribers": 0.8, "acknowledged": True},
                "publications": {"rate_hz": 20.0, "until_s": 2.5},
                "step": [
                    {"at_s": 1.0, "exchange": "b-c>a-d"},
                    {"at_s": 1.0, "exchange": "c-d>b-e"},
                    {"at_s": died_s, "crash": crashed},
                    {"at_s": 2.0, "restart": crashed},
                ],
                "checks": ["tables", "quiet"],  # nobody mends the tree
            },
            "crash",
        )
        assert violations_of(scenario, 1) == (), f"{crashed} dies {after_ms} ms later"

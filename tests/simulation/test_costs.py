"""What the protocols cost beside each other, where sem02 and the chapter make a claim; `-s` prints the counts.

Counted are the hops that reconfigurations caused: messages; filters carried, which is what the messages would be with
one filter each (what carries none is left out); and brokers off the path, those that hear of a reconfiguration and are
not on the way between the ends of its lost link, by way of the new one.
"""

import json
from dataclasses import dataclass, field

import pytest

from regraft.broker.replacing import Replacing
from regraft.sim import scenario_from, simulate

SEEDS = range(1, 4)


@dataclass
class Cost:
    messages: int = 0
    filters: int = 0
    off_path: int = 0
    kinds: dict[str, int] = field(default_factory=dict)


def cost(protocol: str, endpoints: str, replace_after_s: float) -> Cost:
    """Of ten breaks a seed, half a second apart, so that none meets another, in a tree of 100 brokers, a fifth of which
    have ten filters. With `endpoints = "reattach"` the new link is near the old one: one end keeps its place."""
    scenario = scenario_from(
        {
            "protocol": protocol,
            "duration_s": 7.0,
            "publications": {"rate_hz": 0.0},
            "changes": {
                "from_s": 1.0,
                "until_s": 6.0,
                "every_s": 0.5,
                "replace_after_s": replace_after_s,
                "endpoints": endpoints,
            },
        },
        "cost",
    )
    total = Cost()
    for seed in SEEDS:
        run = simulate(scenario, seed, name="cost", trace="counted")
        count([row for batch in run.batches() for row in batch.to_pylist()], total)
        assert run.outcome is not None
        assert run.outcome.violations == []
    print(f"\n{protocol}, {endpoints}, replaced after {replace_after_s} s: {total}")
    return total


def count(rows: list[dict], total: Cost) -> None:
    ways = {
        row["reconfiguration"]: json.loads(row["attributes"])["cycle"]
        for row in rows
        if row["kind"] == "reconfiguration_end"
    }
    way: list[str] = []
    off_path: dict[str, None] = {}
    for row in rows:
        if row["kind"] == "reconfiguration_begin":
            way = ways[row["reconfiguration"]]
            total.off_path += len(off_path)
            off_path = {}
        elif row["kind"] == "hop" and row["cause"] == "reconfiguration" and row["message"] != "event" and way:
            known = json.loads(row["attributes"] or "{}")
            total.messages += 1
            total.filters += known.get("filters", 1 if row["filter"] else 0)
            total.kinds[row["message"]] = total.kinds.get(row["message"], 0) + 1
            if row["peer"] not in way:
                off_path[row["peer"]] = None
    total.off_path += len(off_path)


@pytest.mark.parametrize(
    ("endpoints", "path_share", "informed_share"),
    [("reattach", 0.3, 0.2), pytest.param("uniform", 0.4, 0.4, marks=pytest.mark.long)],
)
def test_path_and_informed_cost_a_share_of_strawman_and_touch_nobody_off_the_path(
    endpoints: str, path_share: float, informed_share: float
) -> None:
    strawman, deferred, path, informed = (
        cost(protocol, endpoints, 0.1) for protocol in ("strawman", "deferred", "path", "informed")
    )
    assert path.messages < path_share * strawman.messages
    assert path.filters < path_share * strawman.filters
    assert informed.messages < informed_share * strawman.messages
    assert informed.messages < deferred.messages < strawman.messages
    assert path.off_path == informed.off_path == 0 < deferred.off_path < strawman.off_path


def test_path_saves_what_only_led_to_the_old_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settled point 6: as the paper has it, A2 asks across A1's side for what the tail is about to withdraw."""
    ours = cost("path", "uniform", 0.0)
    monkeypatch.setattr(
        Replacing, "ask_not_yet_beyond", lambda self, neighbour, filters, reconfiguration: self.ask_for_all(neighbour)
    )
    papers = cost("path", "uniform", 0.0)
    assert ours.messages < papers.messages
    assert ours.off_path == 0 < papers.off_path

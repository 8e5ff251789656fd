"""Under `auto` each reconfiguration is met with a protocol of its own; which, and why, stands in its rows."""

import json

import pytest

from regraft.errors import ScenarioError
from regraft.sim import scenario_from, simulate


def chosen(auto: dict, *steps: dict) -> list[tuple[str, str]]:
    """The kind of each reconfiguration row and the protocol chosen in it."""
    scenario = scenario_from(
        {
            "protocol": "auto",
            "duration_s": 3.0,
            "tree": {"shape": "explicit", "links": ["a-b", "b-c", "c-d", "d-e", "e-f"]},
            "publications": {"rate_hz": 0.0},
            "auto": auto,
            "step": steps,
        },
        "auto",
    )
    run = simulate(scenario, 1, name="auto", trace="counted")
    rows = [row for batch in run.batches() for row in batch.to_pylist() if row["kind"].startswith("reconfiguration")]
    assert run.outcome is not None
    assert run.outcome.violations == []
    known = [(row["kind"].removeprefix("reconfiguration_"), json.loads(row["attributes"])) for row in rows]
    assert all(attributes["reason"] for _, attributes in known if "protocol" in attributes)
    return [(kind, attributes["protocol"]) for kind, attributes in known if "protocol" in attributes]


EXCHANGE = {"at_s": 1.0, "exchange": "b-c>a-d"}


def test_planned_exchange_alone_goes_by_path() -> None:
    assert chosen({}, EXCHANGE) == [("begin", "path")]


def test_planned_exchange_that_must_keep_order_is_coordinated() -> None:
    assert chosen({"order": "fifo"}, EXCHANGE) == [("begin", "coordinated")]


def test_reconfiguration_that_overlaps_another_is_informed() -> None:
    assert chosen({}, EXCHANGE, {"at_s": 1.001, "exchange": "d-e>c-f"}) == [("begin", "path"), ("begin", "informed")]


def test_break_is_deferred_until_its_replacement_is_known() -> None:
    steps = ({"at_s": 1.0, "link_down": "b-c"}, {"at_s": 1.1, "link_up": "a-d"})
    assert chosen({}, *steps) == [("begin", "deferred"), ("end", "path")]
    assert chosen({"knows": "ends"}, *steps) == [("begin", "deferred"), ("end", "informed")]
    assert chosen({"knows": "nothing"}, *steps) == [("begin", "deferred"), ("end", "deferred")]


def test_what_is_chosen_from_goes_with_auto_only() -> None:
    with pytest.raises(ScenarioError, match='goes with protocol = "auto"'):
        scenario_from({"protocol": "path", "auto": {"knows": "ends"}}, "test")

"""A scenario says what it means or is refused, with the place and the reason."""

import re
from pathlib import Path

import pytest

from regraft.errors import ScenarioError, UsageError
from regraft.sim import parse_scenario, read_scenario, simulate


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("protocol = 'magic'", "protocol"),
        ("tempo = 3", "tempo"),
        ("[tree]\nbrokers = 0", "tree.brokers"),
        ("[tree]\nbrokers = 'many'", "tree.brokers"),
        ("[tree]\nshape = 'explicit'", "tree.links"),
        ("[tree]\nlinks = ['a-b']", "tree.links"),
        ("[link]\nloss = 1.0", "link.loss"),
        ("[subscriptions]\nsubscribers = 1.5", "subscriptions.subscribers"),
        ("duration_s = 5.0\n[changes]\nuntil_s = 7.0", "changes.until_s"),
        ("[clients]\nper_broker = 0", "clients.per_broker"),
        ("[subscriptions]\nkind = 'dedicated'", "publications.publishers"),
        ("[[step]]\nat_s = 1.0", "step 1"),
        ("[[step]]\nat_s = 1.0\ncrash = 'b0'\nlink_down = 'a-b'", "step 1"),
        ("[[step]]\nat_s = 1.0\nsubscribe = 'a = 1'", "step 1"),
        ("[[step]]\nat_s = 1.0\nat = 'a'\nsubscribe = 'price >'", "step 1: filter 'price >', position 6"),
        ("[[step]]\nat_s = 1.0\nat = 'a'\npublish = {a = 9223372036854775808}", "step 1: attribute 'a'"),
        ("duration_s = inf", "duration_s: must be finite"),
        ("[link]\nlatency_us = nan", "link.latency_us: must be finite"),
        ("duration_s = 1e300", "duration_s: must be between 0 and 1,000,000,000"),
        ("duration_s = 1e7", "duration_s: must be at most 1,000,000"),
        ("duration_s = 0.0", "duration_s: must be above 0"),
        ("[link]\nlatency_us = -1.0", "link.latency_us: must be between 0 and"),
        ("[link]\nbandwidth_mbit = 1e-320", "link.bandwidth_mbit: must be at least 1e-06"),
        ("[link]\ndetect_ms = [-1.0, 5.0]", "link.detect_ms: must be between 0 and"),
        ("[link]\ndetect_ms = [0.0, 1e300]", "link.detect_ms: must be between 0 and"),
        ("[link]\ndetect_ms = [5.0, 1.0]", "link.detect_ms: must be a range"),
        ("[publications]\nfrom_s = -5.0", "publications.from_s: must be between 0 and"),
        ("[publications]\nrate_hz = 1e8", "publications.rate_hz: must be at most 10,000"),
        ("[subscriptions]\nchurn_hz = 1e8", "subscriptions.churn_hz: must be at most 10,000"),
        ("[changes]\nevery_s = 1e-10", "changes.every_s: must be at least 1e-06"),
        ("[changes]\ncount_max = -1", "changes.count_max: must be between 0 and"),
        ("[tree]\nshape = 'transit_stub'\nnodes = 100000000", "tree.nodes: must not be more than 1000000"),
        ("[broker]\nwithdraw_after_ns = -1", "broker.withdraw_after_ns: must be between 0 and"),
        ("[broker]\nwithdraw_after_ns = 9999999999999999999", "broker.withdraw_after_ns: must be between 0 and"),
        ("[tree", "scenario.toml"),
    ],
)
def test_bad_scenario_names_the_place(text: str, reason: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(reason)):
        parse_scenario(text, {}, "scenario.toml")


def test_step_about_an_unknown_broker_is_refused() -> None:
    scenario = parse_scenario("[tree]\nbrokers = 3\n[[step]]\nat_s = 1.0\ncrash = 'zz'", {}, "scenario.toml")
    with pytest.raises(ScenarioError, match="there is no broker zz"):
        next(simulate(scenario, 1, name="x", trace="full").batches())


def test_step_that_would_close_a_loop_is_refused() -> None:
    text = "[tree]\nshape = 'explicit'\nlinks = ['a-b', 'b-c']\n[[step]]\nat_s = 1.0\nlink_up = 'a-c'"
    run = simulate(parse_scenario(text, {}, "scenario.toml"), 1, name="x", trace="full")
    with pytest.raises(UsageError, match="step 1: a link a-c would close a loop"):
        list(run.batches())


def test_a_root_that_is_no_broker_is_refused() -> None:
    scenario = parse_scenario("[tree]\nbrokers = 3\nroot = 'zz'", {}, "scenario.toml")
    with pytest.raises(ScenarioError, match=r"tree\.root: there is no broker zz"):
        next(simulate(scenario, 1, name="x", trace="full").batches())


def test_settings_are_laid_over_the_file_in_long_and_short_form() -> None:
    settings = {"tree": "balanced", "endpoints": "reattach", "publications.rate_hz": "7.0", "brokers": "9"}
    scenario = parse_scenario("", settings, "scenario.toml")
    assert scenario.tree.shape == "balanced"
    assert scenario.tree.brokers == 9
    assert scenario.changes is not None
    assert scenario.changes.endpoints == "reattach"
    assert scenario.publications.rate_hz == 7.0


def test_unknown_setting_is_refused() -> None:
    with pytest.raises(ScenarioError, match="colour"):
        parse_scenario("", {"colour": "green"}, "scenario.toml")


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.toml: cannot be read: No such file"):
        read_scenario(tmp_path / "missing.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(UsageError, match=r"latin\.toml: is not UTF-8 at byte 8"):
        read_scenario(tmp_path / "latin.toml")


def test_unknown_level_is_refused() -> None:
    with pytest.raises(UsageError, match="full, counted, summed"):
        simulate(parse_scenario("", {}, "x"), 1, name="x", trace="everything")

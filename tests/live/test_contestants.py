"""The benchmark of the live network measures what it says, and leaves out what is not there with the reason."""

import pytest

from regraft.bench import contestants
from regraft.bench.contestants import SYSTEMS, free_port, missing, race, server


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_event_of_a_race_arrives_and_is_timed(system: str) -> None:
    if reason := missing(system):
        pytest.skip(reason)
    port = free_port()
    with server(system, port):
        found = race(system, 1_000, 2_000.0, ports=(port, port))
    assert found["lost"] == 0
    assert 0 < found["p50_us"] <= found["p99_us"]
    assert 200 < found["per_s"] < 4_000


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants.shutil, "which", lambda *_, **__: None)
    assert missing("regraft") == ""
    assert missing("nats") == "nats-server is not installed (apt-get install nats-server)"

"""`regraft prove`: a line for each proof; a promise that is broken is told as a dialogue, with exit code 1."""

import json

import pytest

from regraft.broker.membership import Membership
from regraft.cli import app
from regraft.cli.process import run


@pytest.fixture
def regraft(capsys: pytest.CaptureFixture[str]):
    """In this process, where a bug can be planted."""

    def run_here(*arguments: str) -> tuple[int, str, str]:
        code = run(app, arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_here


def test_each_proof_is_a_line(regraft) -> None:
    code, out, err = regraft("prove", "--protocol", "deferred", "--brokers", "2")
    assert code == 0
    assert [line.split()[:3] for line in out.splitlines()] == [
        ["deferred", "break", "a-b"],
        ["deferred", "join", "a-b"],
        ["deferred", "leave", "a-b"],
    ]
    assert err == ""


def test_numbers_come_as_json(regraft) -> None:
    _, out, _ = regraft("prove", "--protocol", "strawman", "--brokers", "2", "--change", "break", "--json")
    (proof,) = [json.loads(line) for line in out.splitlines()]
    assert proof["broken"] is None
    assert proof["cases"] == 6
    assert proof["states"] > proof["cases"]


def test_a_broken_promise_is_told(regraft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Membership, "join_ordered", lambda self: None)
    code, out, _ = regraft("prove", "--protocol", "deferred", "--brokers", "2", "--change", "join")
    assert code == 1
    assert "> up a-b" in out
    assert out.splitlines()[-1].startswith("broken: s-")
    assert "never gets p/1" in out


def test_an_unknown_protocol_is_refused(regraft) -> None:
    code, out, err = regraft("prove", "--protocol", "quantum")
    assert (code, out) == (2, "")
    assert err.startswith("regraft: there is no protocol quantum; there are strawman, ")

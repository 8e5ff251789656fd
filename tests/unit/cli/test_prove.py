"""`regraft prove`: a line for each proof; a promise that is broken is told as a dialogue, with exit code 1."""

import json

import pytest

from regraft.broker.membership import Membership
from unit.cli.conftest import Regraft


def test_each_proof_is_a_line(regraft: Regraft) -> None:
    ended = regraft("prove", "--protocol", "deferred", "--brokers", "2")
    assert ended.returncode == 0
    assert [line.split()[:3] for line in ended.stdout.decode().splitlines()] == [
        ["deferred", "break", "a-b"],
        ["deferred", "join", "a-b"],
        ["deferred", "leave", "a-b"],
    ]
    assert ended.stderr == b""


def test_numbers_come_as_json(regraft: Regraft) -> None:
    ended = regraft("prove", "--protocol", "strawman", "--brokers", "2", "--change", "break", "--json")
    (proof,) = [json.loads(line) for line in ended.stdout.splitlines()]
    assert proof["broken"] is None
    assert proof["cases"] == 6
    assert proof["states"] > proof["cases"]


def test_a_broken_promise_is_told(regraft: Regraft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Membership, "join_ordered", lambda self: None)
    ended = regraft("prove", "--protocol", "deferred", "--brokers", "2", "--change", "join")
    assert ended.returncode == 1
    assert b"> up a-b" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith(b"broken: s-")
    assert b"never gets p/1" in ended.stdout


def test_an_unknown_protocol_is_refused(regraft: Regraft) -> None:
    ended = regraft("prove", "--protocol", "quantum")
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.startswith(b"regraft: there is no protocol quantum; there are strawman, ")

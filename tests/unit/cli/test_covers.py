"""`regraft covers`: its answer in words, as JSON and as an exit code."""

import json

import pytest

from unit.cli.conftest import Regraft


@pytest.mark.parametrize(
    ("wider", "narrower", "answer"),
    [
        ("price > 10", "price > 20 AND symbol = 'IBM'", True),
        ("price > 20 AND symbol = 'IBM'", "price > 10", False),
        ("a = 1", "a = 1", True),
    ],
)
def test_the_answer_is_printed_and_is_the_exit_code(regraft: Regraft, wider: str, narrower: str, answer: bool) -> None:
    ended = regraft("covers", wider, narrower)
    assert ended.stdout == (b"yes\n" if answer else b"no\n")
    assert (ended.returncode, ended.stderr) == (0 if answer else 1, b"")
    assert json.loads(regraft("covers", wider, narrower, "--json").stdout)["covers"] is answer

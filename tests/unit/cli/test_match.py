"""`regraft match`: which lines it prints, and how."""

import json

from unit.cli.conftest import Regraft

EVENTS = (
    b'{"symbol":"IBM",  "price": 101}\n'
    b'{"symbol": "IBM", "price": 99}\r\n'
    b"\n"
    b'{"price": 1e3, "symbol": "\\u0049BM", "note": null}\n'
    b'{"symbol": "SAP", "price": 500}\n'
    b'{"symbol": "IBM"}\n'
    b'{"symbol": "IBM", "price": NaN}'
)


def test_matching_lines_come_out_in_order_as_they_went_in(regraft: Regraft) -> None:
    ended = regraft("match", "symbol = 'IBM' AND price > 100", stdin=EVENTS)
    first, _, _, third, _, _, last = EVENTS.split(b"\n")
    assert ended.stdout == b"\n".join([first, third, last, b""])
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_null_and_missing_attributes_are_alike(regraft: Regraft) -> None:
    lines = [b'{"a": null}\n', b"{}\n", b'{"a": 0}\n']
    assert regraft("match", "a IS NULL", stdin=b"".join(lines)).stdout == b"".join(lines[:2])


def test_what_was_matched_before_a_bad_line_is_printed(regraft: Regraft) -> None:
    ended = regraft("match", "a = 1", stdin=b'{"a": 1}\n{"a": 1}\n{"a"\n{"a": 1}\n')
    assert ended.stdout == b'{"a": 1}\n{"a": 1}\n'
    assert ended.stderr.startswith(b"regraft: line 3: ")


def test_json_output_tells_the_line_of_each_match(regraft: Regraft) -> None:
    ended = regraft("match", "price < 100", "--json", stdin=EVENTS)
    assert [json.loads(line) for line in ended.stdout.splitlines()] == [
        {"line": 2, "event": {"symbol": "IBM", "price": 99}}
    ]


def test_explain_prints_the_normal_form_and_reads_nothing(regraft: Regraft) -> None:
    plain = regraft("match", "NOT (b <> 2 OR a <= 1)", "--explain", stdin=b"no event")
    as_json = json.loads(regraft("match", "NOT (b <> 2 OR a <= 1)", "--explain", "--json").stdout)
    assert plain.returncode == 0
    assert as_json["normal_form"] == plain.stdout.decode().rstrip("\n")
    again = json.loads(regraft("match", as_json["filter"], "--explain", "--json").stdout)
    assert again == as_json, "the canonical text has the same normal form"

"""`regraft plan` prints the steps from one tree to another, what each costs, and draws them."""

import json
import time
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

from regraft.model.trees import adjacency_of
from regraft.planning import plan, svg
from trees import tree_of
from unit.cli.conftest import Regraft

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
CURRENT, WANTED = str(EXAMPLES / "current.toml"), str(EXAMPLES / "wanted.toml")
SVG = "{http://www.w3.org/2000/svg}"


def test_steps_come_in_groups_with_what_each_costs(regraft: Regraft) -> None:
    words = regraft("plan", CURRENT, WANTED).stdout.decode()
    known = json.loads(regraft("plan", CURRENT, WANTED, "--json").stdout)
    assert [[row["text"] for row in group] for group in known["groups"]] == [
        ["add h at a"],
        ["exchange a-c for h-c"],
        ["exchange b-e for g-e"],
        ["remove d from b"],
    ]
    rows = [row for group in known["groups"] for row in group]
    assert known["messages"] == sum(row["messages"] for row in rows)
    for row in rows:
        assert f"{row['text']} " in words
        assert f"messages {row['messages']}" in words


def test_order_and_batches_change_what_is_predicted(regraft: Regraft) -> None:
    plain, causal, batched = (
        json.loads(regraft("plan", CURRENT, WANTED, "--json", *more).stdout)
        for more in ((), ("--order", "causal"), ("--batch",))
    )
    assert causal["messages"] == plain["messages"] + (3 - 2) + (6 - 2), "`returned` runs along each cycle"
    assert batched["messages"] < plain["messages"]
    assert causal["filters_carried"] == batched["filters_carried"] == plain["filters_carried"]


def test_a_drawing_has_each_link_once_and_tells_what_goes_from_what_comes(regraft: Regraft, tmp_path: Path) -> None:
    file = tmp_path / "out" / "plan.svg"
    assert regraft("plan", CURRENT, WANTED, "--svg", str(file)).returncode == 0
    drawn = ElementTree.parse(file)
    lines = {line.findtext(f"{SVG}title"): line.get("class") for line in drawn.iter(f"{SVG}line")}
    assert {name for name, kind in lines.items() if kind == "goes"} == {"a-c", "b-d", "b-e"}
    assert {name for name, kind in lines.items() if kind == "comes"} == {"a-h", "c-h", "e-g"}
    assert {name for name, kind in lines.items() if kind is None} == {"a-b", "c-f", "c-g"}
    assert len(list(drawn.iter(f"{SVG}circle"))) == 8


def test_a_thousand_brokers_are_drawn_apart_from_each_other_and_soon() -> None:
    dice = Random(1)
    brokers = [f"b{number}" for number in range(1_000)]
    current, wanted = tree_of(brokers, dice), tree_of(dice.sample(brokers, 1_000), dice)
    groups = plan(current, wanted)
    begin_s = time.process_time()
    drawn = ElementTree.fromstring(svg(adjacency_of(current, "current"), adjacency_of(wanted, "wanted"), groups))
    assert time.process_time() - begin_s < 2.0
    places = {(dot.get("cx"), dot.get("cy")) for dot in drawn.iter(f"{SVG}circle")}
    assert len(places) == 1_000


def test_from_a_tree_to_itself_there_is_nothing_to_do(regraft: Regraft) -> None:
    assert regraft("plan", WANTED, WANTED).stdout == b"nothing to do: the trees are the same\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('links = ["a-b", "b-c", "c-a"]', b"link c-a closes a loop"),
        ('links = ["a-b", "c-d"]', b"c is not connected with a"),
        ("links = []", b"there are no links"),
        ('links = ["a"]', b"'a' is no link"),
        ("speed = 3", b"speed"),
        ("= 3", b"line 1"),
        ('links = ["a-b"]\n[subscriptions]\nx = ["x > 1"]', b"there is no broker x"),
        ('links = ["a-b"]\n[subscriptions]\na = ["x >"]', b"subscriptions.a"),
    ],
)
def test_what_is_no_tree_is_refused_with_the_place(
    regraft: Regraft, tmp_path: Path, text: str, complaint: bytes
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    ended = regraft("plan", str(file), WANTED, "--svg", str(tmp_path / "plan.svg"))
    assert (ended.returncode, ended.stderr.count(b"\n")) == (2, 1)
    assert complaint in ended.stderr
    assert b"bad.toml" in ended.stderr
    assert not (tmp_path / "plan.svg").exists()


def test_other_mistakes_are_refused_as_well(regraft: Regraft, tmp_path: Path) -> None:
    for arguments, exit_code, complaint in (
        ((WANTED, CURRENT), 2, b"they belong to the current tree"),
        ((CURRENT, WANTED, "--order", "total"), 2, b"'none', 'fifo', 'causal'"),
        ((CURRENT, str(tmp_path / "gone.toml")), 1, b"gone.toml"),
    ):
        ended = regraft("plan", *arguments)
        assert (ended.returncode, ended.stderr.count(b"\n")) == (exit_code, 1)
        assert complaint in ended.stderr


def test_without_subscriptions_nothing_is_predicted(regraft: Regraft, tmp_path: Path) -> None:
    bare = tmp_path / "bare.toml"
    bare.write_text('links = ["a-b", "b-c"]')
    known = json.loads(regraft("plan", str(bare), WANTED, "--json").stdout)
    assert known["steps"] > 0
    assert "messages" not in known
    assert all("messages" not in row for group in known["groups"] for row in group)

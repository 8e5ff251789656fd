"""`regraft sim` runs a scenario, `regraft explain` tells from its trace what happened to one thing."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from unit.cli.conftest import Regraft

README = (Path(__file__).parents[3] / "README.md").read_text()

# A chain whose link breaks for good at 2 s: what is published at the far end afterwards is lost to `a`.
SCENARIO = """
name = "cut"
duration_s = 4.0
checks = ["{check}"]

[tree]
shape = "explicit"
links = ["a-b", "b-c"]

[subscriptions]
kind = "none"
acknowledged = true

[publications]
rate_hz = 0.0

[[step]]
at_s = 0.5
at = "a"
subscribe = "price > 10"

[[step]]
at_s = 1.0
at = "c"
publish = {{ price = 11 }}

[[step]]
at_s = 2.0
link_down = "b-c"

[[step]]
at_s = 3.0
at = "c"
publish = {{ price = 12 }}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "cut.toml"
    path.write_text(SCENARIO.format(check="in_order"))
    return str(path)


@pytest.fixture
def trace(regraft: Regraft, scenario: str, tmp_path: Path) -> str:
    folder = str(tmp_path / "trace")
    assert regraft("sim", scenario, "--seed", "7", "--trace", folder).returncode == 0
    return folder


def test_a_run_prints_what_it_lost(regraft: Regraft, scenario: str) -> None:
    in_words = regraft("sim", scenario, "--seed", "7").stdout.decode()
    as_json = json.loads(regraft("sim", scenario, "--seed", "7", "--json").stdout)
    assert "owed 2  lost 1  duplicated 0  out of order 0\n" in in_words
    assert as_json["numbers"] == {"owed": 2, "lost": 1, "duplicated": 0, "out_of_order": 0}
    assert f"fingerprint {as_json['fingerprint']}\n" in in_words


def test_a_violated_check_is_named_and_gives_exit_code_1(regraft: Regraft, tmp_path: Path) -> None:
    (tmp_path / "cut.toml").write_text(SCENARIO.format(check="delivered"))
    ended = regraft("sim", str(tmp_path / "cut.toml"), "--seed", "7")
    assert ended.returncode == 1
    assert b"violated: " in ended.stdout
    assert ended.stderr == b""


def test_a_setting_is_laid_over_the_scenario(regraft: Regraft, scenario: str) -> None:
    ended = regraft("sim", scenario, "--seed", "7", "--set", "protocol=strawman", "--json")
    assert json.loads(ended.stdout)["run"] == "sim/cut/strawman/7"


def test_a_folder_that_exists_is_left_as_it_is(regraft: Regraft, scenario: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note").write_text("keep")
    before = sorted(tmp_path.rglob("*"))
    ended = regraft("sim", scenario, "--seed", "7", "--trace", str(tmp_path / "mine"))
    assert (ended.returncode, ended.stderr.count(b"\n")) == (2, 1)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("text", "arguments", "exit_code", "complaint"),
    [
        ("protocol = 3", [], 2, b"protocol"),
        ("speed = 3", [], 2, b"speed"),
        ("= 3", [], 2, b"line 1"),
        ('[tree]\nshape = "explicit"\nlinks = ["a-b", "b-c", "c-a"]', [], 2, b"tree"),
        ("", ["--set", "protocol"], 2, b"KEY=VALUE"),
        ("", ["--set", "tree.speed=3"], 2, b"speed"),
        ("", ["--level", "some"], 2, b"'full', 'counted', 'summed'"),
    ],
)
def test_a_scenario_that_describes_no_run_is_refused_with_the_place(
    regraft: Regraft, tmp_path: Path, text: str, arguments: list[str], exit_code: int, complaint: bytes
) -> None:
    (tmp_path / "bad.toml").write_text(text)
    before = sorted(tmp_path.rglob("*"))
    trace = str(tmp_path / "trace")
    ended = regraft("sim", str(tmp_path / "bad.toml"), "--seed", "1", "--trace", trace, *arguments)
    assert (ended.returncode, ended.stderr.count(b"\n")) == (exit_code, 1)
    assert complaint in ended.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_an_events_story_tells_each_hop_and_delivery_in_order(regraft: Regraft, trace: str) -> None:
    told = [line.split()[2:5] for line in regraft("explain", trace, "--event", "c.c/1").stdout.decode().splitlines()]
    assert told == [
        ["publish", "c", "client"],
        ["hop", "c", "->"],
        ["hop", "b", "->"],
        ["deliver", "a", "client"],
    ]


def test_a_lost_events_story_ends_where_it_was_lost(regraft: Regraft, trace: str) -> None:
    story = json.loads(regraft("explain", trace, "--event", "c.c/2", "--json").stdout)
    assert [row["kind"] for row in story["rows"]] == ["publish"]


def test_a_subscriptions_story_is_found_by_any_spelling_of_its_filter(regraft: Regraft, trace: str) -> None:
    story = json.loads(regraft("explain", trace, "--filter", "( price )>10", "--json").stdout)
    kinds = [row["kind"] for row in story["rows"]]
    assert kinds[0] == "subscribe"
    assert "in_force" in kinds
    hops = [(row["broker"], row["peer"]) for row in story["rows"] if row["kind"] == "hop"]
    assert hops[:2] == [("a", "b"), ("b", "c")]


def test_a_trace_that_counts_hops_says_that_it_does_not_tell_them(
    regraft: Regraft, scenario: str, tmp_path: Path
) -> None:
    folder = str(tmp_path / "counted")
    assert regraft("sim", scenario, "--seed", "7", "--level", "counted", "--trace", folder).returncode == 0
    story = json.loads(regraft("explain", folder, "--event", "c.c/1", "--json").stdout)
    assert [row["kind"] for row in story["rows"]] == ["publish", "deliver"]
    assert "not full" in story["untold"][0]


def test_what_cannot_be_explained_is_named(regraft: Regraft, trace: str, tmp_path: Path) -> None:
    for arguments, exit_code, complaint in (
        ((trace,), 2, b"--event"),
        ((trace, "--event", "c.c/3"), 2, b"c.c/3"),
        ((trace, "--event", ""), 2, b"knows no event"),
        ((trace, "--event", "c.c/1", "--run", "other"), 2, b"other"),
        ((str(tmp_path / "gone"), "--event", "c.c/1"), 2, b"no such directory"),
        ((str(tmp_path), "--event", "c.c/1"), 1, b"no trace"),
    ):
        ended = regraft("explain", *arguments)
        assert (ended.returncode, ended.stderr.count(b"\n")) == (exit_code, 1)
        assert complaint in ended.stderr


def test_a_trace_that_is_cut_off_is_refused(regraft: Regraft, trace: str) -> None:
    (file,) = Path(trace).rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-100])
    ended = regraft("explain", trace, "--event", "c.c/1")
    assert (ended.returncode, ended.stderr.count(b"\n")) == (1, 1)
    assert file.name.encode() in ended.stderr


def test_a_place_for_the_inputs_that_is_none_is_named(regraft: Regraft, scenario: str) -> None:
    ended = regraft("sim", scenario, "--seed", "7", "--inputs", f"{scenario}/inputs")
    assert (ended.returncode, ended.stderr.count(b"\n")) == (1, 1)
    assert ended.stderr.startswith(f"regraft: {scenario}/inputs: cannot be written".encode())


def test_the_commands_of_the_first_page_do_what_it_shows(tmp_path: Path) -> None:
    """Those that need no Java; below a line that begins with `$` stands what it prints."""
    (tmp_path / "scenarios").symlink_to(Path(__file__).parents[3] / "scenarios")
    lines = [line.strip() for line in README.splitlines() if line.startswith("    ")]
    commands = [line for line in lines if re.match(r"(\$ )?(echo .*\| )?regraft (match|covers|sim|explain) ", line)]
    assert len(commands) >= 4
    for line in commands:
        command = re.sub(
            r"\bregraft ", f"{shlex.quote(sys.executable)} -m regraft.cli ", line.removeprefix("$ "), count=1
        )
        ended = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout
        if line.startswith("$ "):
            assert ended.stdout == f"{lines[lines.index(line) + 1]}\n"


def test_what_each_reconfiguration_cost_is_printed_beside_its_floor(regraft: Regraft, scenario: str) -> None:
    Path(scenario).write_text(Path(scenario).read_text() + '\n[[step]]\nat_s = 2.1\nlink_up = "a-c"\n')
    words = regraft("sim", scenario, "--seed", "7").stdout.decode()
    (account,) = json.loads(regraft("sim", scenario, "--seed", "7", "--json").stdout)["reconfigurations"]
    assert (account["reconfiguration"], account["outcome"], account["cycle"]) == ("b-c#1", "replaced", 3)
    assert (account["floor"], account["filters_carried"], account["touched"]) == (0, 1, 0), (
        "only c, an old end, is told"
    )
    assert words.splitlines()[-1].split() == [str(value) for value in account.values()]

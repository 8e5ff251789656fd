"""How the command line ends."""

import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from unit.cli.conftest import Regraft

COMMANDS = ["demo", "match", "covers", "sim", "prove", "soak", "plan", "replay", "explain"]
COMMANDS += ["broker", "up", "pub", "sub", "status", "graph", "exchange", "link", "unlink", "bench", "lab"]
LAB_COMMANDS = ["list", "run", "report", "fit"]

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.mark.parametrize(
    ("arguments", "stdin", "complaint"),
    [
        ([], b"", b"Missing command"),
        (["lab"], b"", b"Missing command"),
        (["mach"], b"", b"Did you mean 'match'?"),
        (["match"], b"", b"Missing argument 'FILTER'"),
        (["match", "--fast", "a = 1"], b"", b"No such option: --fast"),
        (["match", "price >"], b"", b"position"),
        (["match", "price > 'high' AND price < 3"], b"", b"position"),
        (["covers", "a = 1", "a ="], b"", b"position"),
        (["bench", "everything"], b"", b"'everything' is not one of"),
        (["match", "a = 1"], b'{"a": 1}\n\n{"a": 1\n', b"line 3: not a JSON object"),
        (["match", "a = 1"], b'{"a": "\xff"}\n', b"line 1: not a JSON object"),
        (["match", "a = 1"], b"[1]\n", b"line 1: not an event"),
        (["match", "a = 1"], b'{"a": [1]}\n', b"attribute 'a'"),
        (["match", "a = 1"], b'{"a": 9223372036854775808}\n', b"does not fit in 64 bits"),
        (["match", "a = 1"], b'{"a": ' + b"9" * 5_000 + b"}\n", b"does not fit in 64 bits"),
        (
            ["match", "a = 1"],
            b'{"b": 2}\n{"a": 1, "a": 2}\n',
            b"line 2: not an event: attribute 'a' stands there twice",
        ),
        (["match", "a = 1"], b"[" * 100_000 + b"\n", b"nested too deeply"),
        (["replay", "no.record"], b"", b"no.record: cannot be read: No such file"),
        (["lab", "report", "no/folder"], b"", b"no/folder: no such directory"),
        (["lab", "run", "icdcs03", "--out", "x", "--set", "foo=1"], b"", b"--set foo=1: Object contains unknown field"),
        (
            ["lab", "run", "icdcs03", "--out", "x", "--set", "tree=balanced", "--set", "tree.degree_max=many"],
            b"",
            b"--set tree.degree_max=many: ",
        ),
        (["sim", "no.toml", "--seed", "1", "--trace", "x", "--inputs", "x"], b"", b"--inputs: both name x"),
        (["sim", "no.toml", "--seed", "1"], b"", b"no.toml: cannot be read: No such file"),
    ],
)
def test_a_mistake_gives_one_line_and_exit_code_2(
    regraft: Regraft, arguments: list[str], stdin: bytes, complaint: bytes
) -> None:
    ended = regraft(*arguments, stdin=stdin)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"regraft: ")
    assert ended.stderr.count(b"\n") == 1
    assert complaint in ended.stderr


LEAVES = [[name] for name in COMMANDS if name != "lab"] + [["lab", name] for name in LAB_COMMANDS]


@pytest.mark.parametrize("command", LEAVES, ids=" ".join)
def test_every_command_shows_an_example_and_takes_json(regraft: Regraft, command: list[str]) -> None:
    shown = regraft(*command, "--help")
    assert shown.returncode == 0
    assert f"regraft {' '.join(command)}" in shown.stdout.decode().split("Example:\n")[1]
    assert b"--json" in shown.stdout


@pytest.mark.parametrize(("group", "commands"), [([], COMMANDS), (["lab"], LAB_COMMANDS)])
def test_every_command_is_listed(regraft: Regraft, group: list[str], commands: list[str]) -> None:
    listed = regraft(*group, "--help").stdout.decode().split("Commands:\n")[1]
    assert [line.split()[0] for line in listed.splitlines() if line[2] != " "] == commands


def test_help_does_not_wait_for_what_it_does_not_need() -> None:
    program = "import sys, regraft.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pyspark", "pyarrow", "pandas", "numpy", "sqlglot", "matplotlib", "rich"}.intersection(loaded)


def test_a_reader_that_has_gone_is_no_error(start_regraft: Start) -> None:
    with start_regraft("match", "a = 1") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(b'{"a": 1}\n')
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_an_interrupt_ends_quietly_with_130(start_regraft: Start) -> None:
    with start_regraft("match", "a = 1") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(b'{"a": 1}\n' * 2_000)
        process.stdin.flush()
        assert process.stdout.readline() == b'{"a": 1}\n', "it is at work"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
        assert process.wait() == 130


def test_a_stream_that_is_closed_is_named() -> None:
    for closing, complaint, exit_code in (("<&-", "standard input", 2), (">&-", "standard output", 1)):
        line = f"{shlex.quote(sys.executable)} -m regraft.cli match 'a = 1' {closing}"
        ended = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True)
        assert (ended.returncode, ended.stderr.count("\n")) == (exit_code, 1)
        assert complaint in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_a_run_that_is_told_to_end_leaves_nothing_behind(start_regraft: Start, tmp_path: Path, number: int) -> None:
    (tmp_path / "long.toml").write_text("duration_s = 1000.0\n[publications]\nrate_hz = 20.0\nuntil_s = 1000.0\n")
    kept = ["--trace", str(tmp_path / "trace"), "--inputs", str(tmp_path / "inputs")]
    with start_regraft("sim", str(tmp_path / "long.toml"), "--seed", "1", *kept) as process:
        deadline_s = time.monotonic() + 60
        while not list(tmp_path.glob(".trace.partial-*/*")):
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        process.send_signal(number)
        assert process.stderr
        assert process.stderr.read() == b""
        assert process.wait() == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]


@pytest.mark.parametrize("command", [["run", "icdcs03"], ["fit", "icdcs03"]], ids=" ".join)
def test_a_document_without_a_place_for_the_tables_is_refused_before_any_work(
    regraft: Regraft, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "page.md").write_text("# A page\n")
    ended = regraft("lab", *command, "--out", str(tmp_path / "out"), "--document", str(tmp_path / "page.md"))
    assert (ended.returncode, ended.stderr.count(b"\n")) == (2, 1)
    assert b"page.md: has no region" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]

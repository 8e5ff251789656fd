"""The `regraft` command, as a call in this process or as a process of its own."""

import io
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from regraft.cli import app
from regraft.cli.process import run

COMMAND = [sys.executable, "-m", "regraft.cli"]

Regraft = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def regraft(monkeypatch: pytest.MonkeyPatch) -> Regraft:
    """Runs one command line to its end, here: the start of a process takes longer than most commands."""

    def run_here(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        streams = {"stdin": io.BytesIO(stdin), "stdout": io.BytesIO(), "stderr": io.BytesIO()}
        with monkeypatch.context() as patch:
            for name, octets in streams.items():
                patch.setattr(sys, name, io.TextIOWrapper(octets, encoding="utf-8", write_through=True))
            exit_code = run(app, arguments)
            return subprocess.CompletedProcess(
                arguments, exit_code, streams["stdout"].getvalue(), streams["stderr"].getvalue()
            )

    return run_here


def signals_as_in_a_terminal() -> None:
    """Whoever runs the tests in the background may have had these ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def start_regraft() -> Callable[..., subprocess.Popen[bytes]]:
    """Starts one command line and leaves it running, with a pipe on each side."""

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=signals_as_in_a_terminal
        )

    return start

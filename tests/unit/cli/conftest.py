"""The `regraft` command as a user starts it: a process of its own."""

import subprocess
import sys
from collections.abc import Callable

import pytest

COMMAND = [sys.executable, "-m", "regraft.cli"]

Regraft = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def regraft() -> Regraft:
    """Runs one command line to its end."""

    def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True)

    return run


@pytest.fixture
def start_regraft() -> Callable[..., subprocess.Popen[bytes]]:
    """Starts one command line and leaves it running, with a pipe on each side."""

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen([*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe)

    return start

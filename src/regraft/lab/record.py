"""How a run of an experiment came about: what a reader needs to do it again, and to judge what it cost."""

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from regraft.errors import RegraftError, UsageError

FILE = "experiment.json"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """`violations` counts the runs whose checks found something; `settings` is what `--set` laid over."""

    experiment: str
    seeds: int
    runs: int
    settings: dict[str, str]
    figures: list[str]
    commit: str
    version: str
    master: str
    cores: int
    python: str
    simulated_s: float
    measured_s: float
    trace_rows: int
    trace_bytes: int
    violations: int

    @property
    def wall_s(self) -> float:
        return self.simulated_s + self.measured_s


def write_record(directory: Path, record: Record) -> None:
    text = msgspec.json.format(msgspec.json.encode(record), indent=2).decode()
    (directory / FILE).write_text(text + "\n")


def read_record(directory: Path) -> Record:
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory")
    file = directory / FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=Record)
    except OSError as error:
        raise RegraftError(f"{file}: no experiment's results: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise RegraftError(f"{file}: no experiment's record: {error}") from error


def commit() -> str:
    """Of the checkout that this package is imported from, `+` for changes that are not committed; else `unknown`."""
    here = Path(__file__).parent
    try:
        found = _git(here, "rev-parse", "--short=12", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no", "--", ".", "..")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{found}+" if changed else found


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(("git", "-C", str(folder), *arguments), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def package_version() -> str:
    try:
        return version("regraft")
    except PackageNotFoundError:
        return "unknown"


def size_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())

"""The commands that set up a machine hold together."""

import re
import subprocess
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LOCK = (REPOSITORY / "requirements.lock").read_text()


def test_the_lock_names_no_registry() -> None:
    assert "://" not in LOCK
    assert "--index-url" not in LOCK


def test_every_locked_version_has_hashes() -> None:
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==[^\n]*\\\n +--hash=sha256:", LOCK, re.MULTILINE)
    assert pinned == re.findall(r"^([A-Za-z0-9._-]+)==", LOCK, re.MULTILINE)
    assert len(pinned) > 30


def test_every_dependency_is_locked_and_has_its_reason() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = [re.split(r"[=<>!~\[; ]", requirement)[0] for requirement in wanted]
    reasons = (REPOSITORY / "docs" / "dependencies.md").read_text()
    assert [name for name in names if f"\n{name}==" not in f"\n{LOCK}"] == []
    assert [name for name in names if f"| `{name}` |" not in reasons] == []


def test_every_make_target_for_users_has_its_line_of_help() -> None:
    printed = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^make (\S+) +\S", printed, re.MULTILINE) == ["demo", "test", "check", "bench", "prove", "clean"]

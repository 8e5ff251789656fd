"""Each file in `claims/` is one claim: a script and the story that it gives.

`--update` writes the stories anew, to be reviewed as a diff.
"""

from pathlib import Path

import pytest

from scripts.narrator import Narrator

SCRIPTS = sorted((Path(__file__).parent / "claims").glob("*.txt"))
DIVIDER = "---\n"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_tells_its_story(path: Path, request: pytest.FixtureRequest) -> None:
    script, divider, expected = path.read_text().partition(DIVIDER)
    story = Narrator().run(script)
    if request.config.getoption("--update"):
        path.write_text(script + DIVIDER + story)
        return
    assert divider, f"{path.name} has no story yet: run pytest with --update, and read what it wrote"
    assert story == expected


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 10

"""How long something takes, in words."""

import pytest

from regraft.pipeline.progress import duration


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (75, "1 min 15 s"), (3725, "1 h 2 min")]
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text

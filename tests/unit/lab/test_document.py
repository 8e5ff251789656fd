"""Generated text goes between its markers and nowhere else."""

from pathlib import Path

import pytest

from regraft.errors import UsageError
from regraft.lab.document import markdown_table, number, put_region

WRITTEN = "# Title\n\nProse.\n\n<!-- numbers:begin -->\nold\n<!-- numbers:end -->\n\nMore prose.\n"


def test_only_what_stands_between_the_markers_changes(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(WRITTEN)
    put_region(document, "numbers", "new\n\nlines\n")
    assert document.read_text() == WRITTEN.replace("old", "new\n\nlines")
    put_region(document, "numbers", "old")
    assert document.read_text() == WRITTEN
    assert [file.name for file in tmp_path.iterdir()] == ["page.md"]


@pytest.mark.parametrize(
    "text",
    [
        "no markers",
        "<!-- numbers:begin --> but no end",
        "<!-- numbers:end --> before <!-- numbers:begin -->",
        WRITTEN + WRITTEN,
        WRITTEN.replace("numbers", "others"),
    ],
)
def test_a_document_without_its_markers_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    document = tmp_path / "page.md"
    document.write_text(text)
    with pytest.raises(UsageError, match=r"page\.md"):
        put_region(document, "numbers", "new")
    assert document.read_text() == text


def test_a_document_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.md"):
        put_region(tmp_path / "gone.md", "numbers", "new")


def test_a_table_sets_its_numbers_to_the_right() -> None:
    assert markdown_table(("name", "count"), [("a", "1")]) == "| name | count |\n| --- | ---: |\n| a | 1 |"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (63_162.4, "63,162"),
        (45.44, "45.4"),
        (100.0, "100"),
        (99.99, "99.99"),
        (0.12345, "0.123"),
        (-7.25, "-7.2"),
        (0.0004, "0.0004"),
        (39.99999, "39.99999"),
    ],
)
def test_a_number_has_the_digits_that_say_something(value: float | None, text: str) -> None:
    assert number(value) == text

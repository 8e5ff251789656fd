"""Numbers in a document are generated; the prose around them is written. Here the two meet.

A document that takes generated text says where: everything between `<!-- NAME:begin -->` and `<!-- NAME:end -->` is
replaced, the markers stay. A document without the markers is refused, so that nothing a person wrote is ever
overwritten.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from regraft.errors import RegraftError, UsageError

DIGITS_MAX = 6


def put_region(document: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of this name."""
    before, after = around_region(document, name)
    write_whole(document, f"{before}\n{text.strip()}\n{after}")


def around_region(document: Path, name: str) -> tuple[str, str]:
    """What stands before and after the region, its markers included; `UsageError` where there is no such region.

    Whoever is about to work long for what goes there asks beforehand.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    try:
        whole = document.read_text()
    except OSError as error:
        raise UsageError(f"{document}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{document}: cannot be read: {error}") from error
    if whole.count(begin) != 1 or whole.count(end) != 1 or whole.index(begin) > whole.index(end):
        raise UsageError(f"{document}: has no region {begin} ... {end}, each on a line of its own")
    before, _, rest = whole.partition(begin)
    return before + begin, end + rest.partition(end)[2]


def write_whole(file: Path, text: str) -> None:
    """A file that is there is there whole: it gets its name when everything is written."""
    partial = file.with_name(f".{file.name}.partial-{os.getpid()}")
    try:
        partial.write_text(text)
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RegraftError(f"{file}: cannot be written: {error.strerror or error}") from error


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int = 1) -> str:
    """The columns from `numbers_from` on are set to the right."""
    rule = ["---" if place < numbers_from else "---:" for place in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def number(value: float | None) -> str:
    """As a reader wants it: no more digits than say something, and never a round number that it is not."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 1_000:
        return f"{value:,.0f}"
    if value == round(value):
        return f"{value:.0f}"
    if size < 1:
        return f"{value:.3g}"
    digits = 1
    while float(f"{value:.{digits}f}") == round(value) and digits < DIGITS_MAX:
        digits += 1
    return f"{value:.{digits}f}"

"""The style that a reader counts on, as far as a machine can see it."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PYTHON = sorted(path for folder in ("src", "tests") for path in (REPOSITORY / folder).rglob("*.py"))
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])

LINES_MAX = 400
UNFINISHED = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error")))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def relative(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_a_module_is_short_and_finished(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= LINES_MAX, "a module that is longer has become two"
    assert [line for line in lines if UNFINISHED.search(line)] == []


@pytest.mark.parametrize("path", [path for path in PYTHON if "src" in path.parts], ids=relative)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert path.read_text().startswith('"""'), "a module begins with its docstring"


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_links_in_a_document_resolve(document: Path) -> None:
    broken = [link for link in links(document.read_text()) if not resolves(document, link)]
    assert broken == []


def links(text: str) -> list[str]:
    """The links of a document that stay within the repository."""
    return [
        link for link in LINK.findall(FENCED.sub("", text)) if not link.startswith(("http://", "https://", "mailto:"))
    ]


def resolves(document: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = document.parent / name if name else document
    return target.exists() and (not anchor or anchor in anchors(target.read_text()))


def anchors(text: str) -> list[str]:
    """What the headings of a document are called in links: lower case, hyphens for blanks, no other punctuation."""
    return [
        re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in HEADING.findall(FENCED.sub("", text))
    ]


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        "# One page\n[a](page.md#one-page) [b](#one-page) [c](#two) [d](gone.md) [e](https://example.org)\n"
    )
    found = [link for link in links(document.read_text()) if not resolves(document, link)]
    assert found == ["#two", "gone.md"]

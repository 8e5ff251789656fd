"""The rooms that must behave alike in every process do nothing whose outcome differs between processes."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from architecture.determinism import SOURCE, modules_of, violations

DETERMINISTIC_ROOMS = ("model", "matching", "broker", "sim", "trace", "proving")

PRELUDE = """
from collections.abc import Iterable

class Holder:
    def __init__(self) -> None:
        self.names: set[str] = set()

names = {"a"}
table = {"a": 1}
holder = Holder()
"""


def test_nothing_depends_on_the_order_of_a_set_or_on_hashes() -> None:
    assert violations(modules_of(DETERMINISTIC_ROOMS)) == []


PLANTED = (
    "for name in names: print(name)",
    "[name for name in names]",
    "{name: 1 for name in names}",
    "list(names)",
    "tuple(frozenset(names))",
    "', '.join(names)",
    "dict.fromkeys(names)",
    "next(iter(names))",
    "print(*names)",
    "first, second = names",
    "names.pop()",
    "sorted(names, key=len)",
    "max(names, key=len)",
    "sum(len(name) for name in names)",
    "for name in table.keys() - names: print(name)",
    "for name in holder.names: print(name)",
    "def each(): yield from names",
    "def take(strings: Iterable[str]) -> None: ...\ntake(names)",
    "hash('name')",
    "id(names)",
)

INNOCENT = (
    "sorted(names)",
    "min(names), max(names), len(names)",
    "any(name == 'a' for name in names)",
    "{name.upper() for name in names}",
    "sorted([*names, *holder.names])",
    "{*names, *holder.names}",
    "{id(name) for name in table} == {id(name) for name in table}",
    "sorted(name.upper() for name in names)",
    "names | {'b'}",
    "names.union(holder.names)",
    "'a' in names",
    "for name in table: print(name)",
    "for name in table.keys(): print(name)",
    "def keep(strings: set[str]) -> None: ...\nkeep(names)",
    "class Named:\n    def __hash__(self) -> int: return hash('name')",
)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, int]:
    """How many violations are seen in each of the snippets."""
    modules = {f"snippet{number}": PRELUDE + code for number, code in enumerate((*PLANTED, *INNOCENT))}
    seen = Counter(violation.split(":")[0] for violation in violations(modules))
    return {code: seen[f"snippet{number}"] for number, code in enumerate((*PLANTED, *INNOCENT))}


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_violation_is_found(code: str, verdicts: dict[str, int]) -> None:
    assert verdicts[code] == 1


@pytest.mark.parametrize("code", INNOCENT)
def test_what_gives_one_answer_in_any_order_is_allowed(code: str, verdicts: dict[str, int]) -> None:
    assert verdicts[code] == 0


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_dice_are_handed_in(path: Path) -> None:
    """Of `random` only the class: its functions share one source, which whoever imports the module may have used."""
    assert [name for name in taken_from_random(path.read_text()) if name != "Random"] == []


def taken_from_random(code: str) -> list[str]:
    """What a module uses of `random`, by `from random import` or by attribute."""
    taken = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module="random"):
                taken += [alias.name for alias in node.names]
            case ast.Attribute(value=ast.Name(id="random")):
                taken.append(node.attr)
            case ast.Import():
                taken += [alias.asname for alias in node.names if alias.name == "random" and alias.asname]
    return taken


def test_dice_of_everybody_are_seen() -> None:
    code = (
        "import random\nimport random as dice\nfrom random import Random, choice\nrandom.Random(1)\nrandom.random()\n"
    )
    assert sorted(taken_from_random(code)) == ["Random", "Random", "choice", "dice", "random"]

"""Looks through syntax trees, with types, for anything whose outcome differs between two processes.

The order in which a `set` yields its elements depends, for strings, on PYTHONHASHSEED. It may therefore never decide
the order of anything. What yields the elements of a set is found by type and not by name: mypy infers the type of
every expression, so that an attribute, a function's result or the difference of two dictionaries' keys is seen for
what it is.

Refused for a value of type set, frozenset or Set:

- iterating over it (`for`, comprehensions, `*`, `yield from`, unpacking);
- handing it to a parameter that takes any iterable, such as that of `list`, `enumerate`, `join` or a function of ours;
- `pop`, which takes an arbitrary element.

Allowed is what gives one answer in any order: building a set from it, its own operators and methods, `len`, `any`,
`all`, and `sorted`, `min` and `max` without a `key`, which orders values and so leaves no ties between different
ones.

Refused for any value: `hash()` and `id()`, except in a `__hash__`, by which dictionaries find but do not order, and
as the element of a set comprehension: sets of identities can be compared, and the rules above keep their order in.

mypy's own visitors are compiled and closed to subclasses, so Python's `ast` is walked and the types are looked up by
position. Positions are made unique by numbering the lines of all modules through, beyond those of any library.
"""

import ast
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from mypy import build, nodes, types
from mypy.modulefinder import BuildSource
from mypy.options import Options

SOURCE = Path(__file__).parents[2] / "src"

_SETS = {"builtins.set", "builtins.frozenset", "typing.AbstractSet"}
_ORDER_FREE = {"builtins.any", "builtins.all", "builtins.len", "builtins.set", "builtins.frozenset"}
_ORDERS_BY_VALUE = {"builtins.sorted", "builtins.min", "builtins.max"}
_BEYOND_ANY_LIBRARY = 100_000

_Position = tuple[int, int, int, int]


def modules_of(rooms: Iterable[str]) -> dict[str, str]:
    """The text of each module in these rooms."""
    paths = [path for room in rooms for path in sorted((SOURCE / "regraft" / room).rglob("*.py"))]
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path.read_text()
        for path in paths
    }


def violations(modules: dict[str, str]) -> list[str]:
    """`module:line: what is wrong`, for each violation in these modules."""
    options = Options()
    options.python_version = sys.version_info[:2]
    options.mypy_path = [str(SOURCE)]
    options.follow_imports = "silent"
    options.incremental = False
    options.cache_dir = os.devnull  # two workers that test at the same time would lock each other out of it
    options.export_types = True
    options.check_untyped_defs = True
    first_lines: dict[str, int] = {}
    sources = []
    line = _BEYOND_ANY_LIBRARY
    for module, text in modules.items():
        first_lines[module] = line
        sources.append(BuildSource(f"{module}.py", module, "\n" * line + text))
        line += text.count("\n") + 1
    inferred = {
        (node.line, node.column, node.end_line, node.end_column): (node, a_type)
        for node, a_type in build.build(sources, options).types.items()
        if node.line > _BEYOND_ANY_LIBRARY
    }
    found = [
        f"{module}:{violation}"
        for module, text in modules.items()
        for violation in _Module(text, first_lines[module], inferred).violations()
    ]
    gc.freeze()  # mypy keeps a million objects, which every later collection would go through
    return found


class _Module:
    """One module's syntax tree, and the types that mypy inferred for its expressions."""

    def __init__(
        self,
        text: str,
        first_line: int,
        inferred: dict[tuple[int, int, int | None, int | None], tuple[nodes.Expression, types.Type]],
    ) -> None:
        self.tree = ast.parse(text)
        self.lines = [line.encode() for line in text.split("\n")]
        self.first_line = first_line
        self.inferred = inferred

    def violations(self) -> Iterator[str]:
        harmless: list[ast.AST] = []
        hashing: list[ast.AST] = []
        for node in ast.walk(self.tree):  # breadth first: what surrounds comes before what it surrounds
            match node:
                case ast.FunctionDef(name="__hash__"):
                    hashing += ast.walk(node)
                case ast.SetComp():
                    harmless += [node, node.elt]
                case ast.Set():
                    harmless += node.elts
                case ast.Call():
                    if self._gives_one_answer(node):
                        harmless += node.args
                        harmless += [part for display in node.args for part in getattr(display, "elts", [])]
                    elif reason := self._refused_call(node, identity_kept=node in hashing or node in harmless):
                        yield f"{node.lineno}: {reason}"
            if node not in harmless:
                for iterated in _iterated(node):
                    if self._is_set(iterated):
                        yield f"{iterated.lineno}: the order of a set decides the order of something"

    def _gives_one_answer(self, call: ast.Call) -> bool:
        name = self._full_name(call.func)
        return name in _ORDER_FREE or (
            name in _ORDERS_BY_VALUE and all(option.arg != "key" for option in call.keywords)
        )

    def _refused_call(self, call: ast.Call, identity_kept: bool) -> str | None:
        name = self._full_name(call.func)
        if name in ("builtins.id", "builtins.hash") and not identity_kept:
            return f"{name.removeprefix('builtins.')}() differs between processes"
        if isinstance(call.func, ast.Attribute) and self._is_set(call.func.value):
            return "pop takes an arbitrary element of a set" if call.func.attr == "pop" else None
        for argument, declared in self._arguments(call):
            takes_sets = (
                declared is not None
                and name not in _ORDERS_BY_VALUE
                and (_is_set(declared) or not _may_iterate(declared))
            )
            if self._is_set(argument) and not takes_sets:
                return f"{ast.unparse(call.func)} gets a set where it takes what has an order"
        return None

    def _arguments(self, call: ast.Call) -> Iterator[tuple[ast.expr, types.Type | None]]:
        """Each argument and the declared type of its parameter, or None where that is not known."""
        callee = types.get_proper_type(self._type(call.func))
        if isinstance(callee, types.Overloaded):
            count = len(call.args) + len(call.keywords)
            callee = next((item for item in callee.items if len(item.arg_types) >= count), callee.items[-1])
        declared = callee.arg_types if isinstance(callee, types.CallableType) else []
        names = callee.arg_names if isinstance(callee, types.CallableType) else []
        for position, argument in enumerate(call.args):
            yield argument, declared[min(position, len(declared) - 1)] if declared else None
        for keyword in call.keywords:
            yield keyword.value, declared[names.index(keyword.arg)] if keyword.arg in names else None

    def _type(self, expression: ast.expr) -> types.Type | None:
        found = self.inferred.get(self._position(expression))
        return found and found[1]

    def _full_name(self, expression: ast.expr) -> str:
        found = self.inferred.get(self._position(expression))
        return found[0].fullname if found and isinstance(found[0], nodes.RefExpr) else ""

    def _is_set(self, expression: ast.expr) -> bool:
        a_type = self._type(expression)
        return a_type is not None and _is_set(a_type)

    def _position(self, node: ast.expr) -> _Position:
        """Where mypy sees it: lines numbered through, columns counted in characters where `ast` counts bytes."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        column = len(self.lines[node.lineno - 1][: node.col_offset].decode())
        end_column = len(self.lines[node.end_lineno - 1][: node.end_col_offset].decode())
        return self.first_line + node.lineno, column, self.first_line + node.end_lineno, end_column


def _iterated(node: ast.AST) -> list[ast.expr]:
    """What this node takes the elements of, in their order."""
    match node:
        case ast.For():
            return [node.iter]
        case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
            return [clause.iter for clause in node.generators]
        case ast.Starred() | ast.YieldFrom():
            return [node.value]
        case ast.Assign() if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            return [node.value]
    return []


def _is_set(a_type: types.Type) -> bool:
    proper = types.get_proper_type(a_type)
    if isinstance(proper, types.UnionType):
        return any(_is_set(item) for item in proper.items)
    return isinstance(proper, types.Instance) and proper.type.fullname in _SETS


def _may_iterate(a_type: types.Type) -> bool:
    """Whether a parameter of this type may iterate: `Iterable` may, `object` and `Container` may not."""
    proper = types.get_proper_type(a_type)
    if isinstance(proper, types.UnionType):
        return any(_may_iterate(item) for item in proper.items)
    return isinstance(proper, types.Instance) and proper.type.has_readable_member("__iter__")

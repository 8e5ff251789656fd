"""`regraft prove`: every interleaving on small trees, with the real brain.

A line for each proof as it ends; meanwhile, on a terminal, which case it has come to. The first promise that is broken
ends everything: its case and a shortest run that breaks it are printed as a golden script would tell them.
"""

import json
import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regraft.proving import Proof

BROKEN = 1
REPORT_EVERY_S = 0.5


class Change(StrEnum):
    BREAK = "break"
    REPLACE = "replace"
    AGAIN = "again"
    EXCHANGE = "exchange"
    OVERLAP = "overlap"
    INTERRUPTED = "interrupted"
    JOIN = "join"
    LEAVE = "leave"


def prove(
    protocol: Annotated[str | None, typer.Option(help="One protocol; else each.")] = None,
    brokers: Annotated[int, typer.Option(min=2, max=6, help="The trees of up to so many brokers.")] = 4,
    change: Annotated[
        Change | None, typer.Option(help="One kind of change; else each that the protocol is for.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each proof as one JSON object.")] = False,
) -> None:
    """Prove what each protocol promises, on every small tree, by every interleaving of all that can happen.

    The exit code is 1 where a promise is broken; a shortest run that breaks it is printed.

    \b
    Example:
        regraft prove --protocol coordinated-fifo --brokers 3
    """
    from regraft.errors import UsageError
    from regraft.proving import CHANGES, PROTOCOLS, prove

    if protocol is not None and protocol not in PROTOCOLS:
        raise UsageError(f"there is no protocol {protocol}; there are {', '.join(PROTOCOLS)}")
    changes = [name for name in CHANGES if change in (None, name)]
    report = _Report()
    proofs = 0
    for name in PROTOCOLS:
        if protocol in (None, name):
            for count in range(2, brokers + 1):
                for proof in prove(name, count, changes, report.progress):
                    report.clear()
                    proofs += 1
                    print(json.dumps(_as_json(proof)) if as_json else _in_words(proof), flush=True)
                    if proof.violation is not None:
                        raise typer.Exit(BROKEN)
    if not proofs:
        raise UsageError(f"nothing to prove: {protocol} is not for the change {change}")


class _Report:
    """One line on a terminal, kept up to date; nothing elsewhere."""

    def __init__(self) -> None:
        self._said_s = time.monotonic()
        self._on_terminal = sys.stderr.isatty()

    def progress(self, done: str) -> None:
        if self._on_terminal and time.monotonic() - self._said_s > REPORT_EVERY_S:
            self._said_s = time.monotonic()
            print(f"\r\033[K{done}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _tree(proof: "Proof") -> str:
    return " ".join("-".join(link) for link in proof.tree)


def _in_words(proof: "Proof") -> str:
    line = (
        f"{proof.protocol:<18}  {proof.change:<11}  {_tree(proof):<19}  {proof.cases:>6,} cases  "
        f"{proof.states:>10,} states  {proof.transitions:>11,} transitions"
    )
    if proof.case is None or proof.violation is None:
        return line
    told = [*proof.case.commands(), "---", *proof.violation.story, f"broken: {proof.violation.reason}"]
    return "\n".join([line, "", f"# {proof.protocol}: {proof.violation.reason}", *told])


def _as_json(proof: "Proof") -> dict[str, object]:
    violation = proof.violation
    return {
        "protocol": proof.protocol,
        "change": proof.change,
        "tree": _tree(proof),
        "cases": proof.cases,
        "states": proof.states,
        "transitions": proof.transitions,
        "broken": violation and violation.reason,
        "case": proof.case and proof.case.commands(),
        "story": violation and list(violation.story),
    }

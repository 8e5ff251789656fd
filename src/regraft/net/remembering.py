"""What a broker remembers of its links when it is started again: those that it is to open, and their incarnations.

An exchange replaces a link, and a broker that was killed after it must not open the one that its configuration names:
that would close a loop. So each change is written into a file before anything that follows from it is sent, beside the
file and then in its place, so that the file is whole at any moment. It counts more than the configuration.

A broker that was killed before it could write is told by the other end, which refuses to open `again` what has been
replaced. One that is killed in the middle of an exchange opens what it had to open before. If the others had come so
far that the old link is gone, the tree is cut, and an operator (`regraft link`) mends it.
"""

import os
from pathlib import Path

import msgspec

from regraft.errors import RegraftError
from regraft.net.talk import BrokerName

FILE = "links.json"


class Remembered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`links` are the broker's to open, by name, with their addresses; `replaced` are brokers that it was linked to
    until an exchange, or an operator, ended that link for good; `neighbours` those that it was linked to last."""

    broker: BrokerName
    links: dict[BrokerName, str]
    incarnations: dict[BrokerName, int]
    replaced: tuple[BrokerName, ...] = ()
    neighbours: tuple[BrokerName, ...] = ()


def recall(folder: Path, broker: str) -> Remembered | None:
    """What was remembered, if anything was; what is damaged is refused and stays as it is."""
    file = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RegraftError(f"{file}: {error.strerror}") from error
    try:
        found = msgspec.json.decode(text, type=Remembered)
    except msgspec.MsgspecError as error:
        raise RegraftError(
            f"{file}: damaged ({error}); without it the broker would open its configured links"
        ) from None
    if found.broker != broker:
        raise RegraftError(f"{file}: belongs to broker {found.broker}, not to {broker}; each needs a folder of its own")
    return found


def remember(folder: Path, what: Remembered) -> None:
    """Raises `OSError`; what was remembered before is then still there."""
    partial = folder / f".{FILE}"
    with partial.open("wb") as output:
        output.write(msgspec.json.encode(what))
        output.flush()
        os.fsync(output.fileno())
    partial.replace(folder / FILE)

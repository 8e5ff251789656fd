"""Runs that no broker made: rows written by hand or by dice, so that every violation can be planted."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from regraft.trace import SCHEMA, TraceBuffer, encode_attributes

# Filters whose meaning is known without parsing them.
FILTERS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "x > 2": lambda event: "x" in event and event["x"] > 2,
    "x = 1": lambda event: event.get("x") == 1,
    "s LIKE 'a%'": lambda event: str(event.get("s", "")).startswith("a"),
    "x IS NULL": lambda event: "x" not in event,
}


class History:
    """A run, row by row."""

    def __init__(self, run: str, level: str = "full") -> None:
        self.run = run
        self.attributes: dict[str, Mapping[str, Any]] = {}
        self._sequences: dict[str, int] = {}
        self._buffer = TraceBuffer(run)
        self._n = 0
        self._write("run", attributes=f'{{"level":"{level}"}}')

    def subscribe(self, client: str, text: str, *, in_force: bool = True) -> "History":
        self._write("subscribe", client=client, filter=text)
        return self.in_force(client, text) if in_force else self

    def in_force(self, client: str, text: str) -> "History":
        return self._write("in_force", client=client, filter=text)

    def unsubscribe(self, client: str, text: str) -> "History":
        return self._write("unsubscribe", client=client, filter=text)

    def publish(self, client: str, **attributes: Any) -> "History":
        sequence = self._sequences[client] = self._sequences.get(client, 0) + 1
        event = f"{client}/{sequence}"
        self.attributes[event] = attributes
        return self._write("publish", client=client, event=event, attributes=encode_attributes(attributes))

    def deliver(self, client: str, *events: str) -> "History":
        for event in events:
            self._write("deliver", client=client, event=event)
        return self

    def hop(
        self, message: str, cause: str, *, size: int, attributes: str | None = None, filter: str | None = None
    ) -> "History":
        return self._write("hop", message=message, cause=cause, bytes=size, attributes=attributes, filter=filter)

    def table(self, **outcome: Any) -> pa.Table:
        """The whole run; a history is over then."""
        return pa.Table.from_batches([self._buffer.finish(self._n, outcome)[0]], schema=SCHEMA)

    def _write(self, kind: str, **cells: Any) -> "History":
        row = {"t_ns": self._n * 1_000_000, "kind": kind, **cells}
        self._buffer.append(tuple(row.get(name) for name in SCHEMA.names[2:]))  # type: ignore[arg-type]
        self._n += 1
        return self


def random_history(seed: int) -> History:
    """Few clients who do everything in any order: deliveries that nobody asked for, too late, twice, or never."""
    dice = random.Random(seed)
    history = History(f"random/{seed}")
    clients = [f"c{number}" for number in range(dice.randint(2, 4))]
    subscribed: list[tuple[str, str]] = []
    for _ in range(dice.randint(10, 60)):
        client, text = dice.choice(clients), dice.choice(list(FILTERS))
        match dice.choices(("subscribe", "in_force", "unsubscribe", "publish", "deliver"), (3, 3, 1, 5, 10))[0]:
            case "subscribe":
                history.subscribe(client, text, in_force=dice.random() < 0.5)
                subscribed.append((client, text))
            case "in_force" if subscribed:
                history.in_force(*dice.choice(subscribed))
            case "unsubscribe" if subscribed:
                history.unsubscribe(*dice.choice(subscribed))
            case "publish":
                attributes = {"x": dice.randint(0, 4)} if dice.random() < 0.7 else {"s": dice.choice(("ab", "b"))}
                history.publish(client, **attributes)
            case "deliver" if history.attributes:
                history.deliver(client, dice.choice(list(history.attributes)))
            case _:
                pass
    return history

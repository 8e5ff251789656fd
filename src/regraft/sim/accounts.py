"""What each reconfiguration cost, counted as the run goes on.

A *reconfiguration* is a planned exchange, or a break with its replacement. Each message that it causes names a change:
a coordinated exchange by the exchange's own name, under the other protocols the end of the old link and the beginning
of the new one by names of their own (`broker/messages.py`). Which names belong to a reconfiguration stands in the
`changes` of its rows, so that whoever reads the trace adds up the same (`pipeline/reconfigurations.py`).

A broker is *touched* if it receives a message that names one of the changes; the two ends of the removed link are left
aside, as they are concerned in any case. It is touched *off the path* if it is not on the cycle of the two links
either. The floor is that of `planning/floor.py`.
"""

from dataclasses import dataclass, field

from regraft.model.trees import Link


@dataclass(slots=True)
class Tally:
    """What was carried in the name of one change."""

    messages: int = 0
    filters: int = 0
    bytes: int = 0
    receivers: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Account:
    """`floor` is None where there is none to compare with: nothing has replaced the link, or the exchange failed."""

    reconfiguration: str
    outcome: str  # of a planned exchange; `replaced` for a break, and empty where nothing has replaced the link
    cycle: int  # its length; 0 where nothing has replaced the link
    floor: int | None
    messages: int
    filters_carried: int
    bytes: int
    touched: int
    touched_off_path: int | None

    @property
    def over_floor(self) -> int | None:
        return None if self.floor is None else self.filters_carried - self.floor


@dataclass(slots=True)
class Entry:
    """A reconfiguration as far as it is known."""

    removed: Link
    changes: tuple[str, ...]
    cycle: tuple[str, ...] = ()
    outcome: str = ""
    floor: int | None = None


class Accounts:
    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._tallies: dict[str, Tally] = {}

    def carried(self, change: str, receiver: str, filters: int, size: int) -> None:
        """A message has crossed a link."""
        tally = self._tallies.get(change)
        if tally is None:
            tally = self._tallies[change] = Tally()
        tally.messages += 1
        tally.filters += filters
        tally.bytes += size
        tally.receivers[receiver] = None

    def settled(self) -> list[Account]:
        """One for each reconfiguration, in the order in which they began."""
        return [self._settle(name, entry) for name, entry in self.entries.items()]

    def _settle(self, name: str, entry: Entry) -> Account:
        tallies = [self._tallies[change] for change in entry.changes if change in self._tallies]
        receivers = {broker: None for tally in tallies for broker in tally.receivers if broker not in entry.removed}
        off_path = sum(broker not in entry.cycle for broker in receivers)
        return Account(
            name,
            entry.outcome,
            len(entry.cycle),
            entry.floor,
            sum(tally.messages for tally in tallies),
            sum(tally.filters for tally in tallies),
            sum(tally.bytes for tally in tallies),
            len(receivers),
            off_path if entry.cycle else None,
        )

"""`deferred`: after a break, unsubscriptions wait for the replacement's subscriptions (icdcs03 §5).

The entries towards the lost link go at once, so that a broker which has the lost link and the new one in common does
not offer them over the new one (§5.2); only the *forwarding* of their unsubscription waits, `withdraw_after_ns`. A
leaf has nobody to tell and waits for nothing. When the time has come, what is withdrawn follows from the table as it
then is: a filter that has come back meanwhile is skipped, and a link that broke and returned has started anew (every
break has a name of its own).

Promises what `strawman` promises. Where we depart from the paper: (1) a neighbour that still holds a filter from
before the break is not told it again when it comes back, because a broker knows what each neighbour has been told;
(2) a filter that two breaks orphaned waits for the later of the two.
"""

from regraft.broker.effects import Effect, SetTimer

TIMER_PREFIX = "withdraw:"


class Deferred:
    """One entry for each break whose time has not come. Where the replacement may be announced, `leaf_waits`: what a
    leaf has lost is what it will ask for."""

    def __init__(self, withdraw_after_ns: int, *, leaf_waits: bool = False) -> None:
        self._withdraw_after_ns = withdraw_after_ns
        self._leaf_waits = leaf_waits
        self._waiting: dict[str, int] = {}  # timer -> the filters that the lost link had asked for

    @property
    def withheld(self) -> int:
        """The filters whose unsubscription must not be sent now."""
        union = 0
        for filters in self._waiting.values():
            union |= filters
        return union

    def link_lost(self, change: str, filters: int, is_leaf: bool) -> list[Effect]:
        if (is_leaf and not self._leaf_waits) or not filters:
            return []
        # A neighbour that begins anew twice (`coordinated`) loses twice under one name; all wait for the later time.
        self._waiting[TIMER_PREFIX + change] = self._waiting.get(TIMER_PREFIX + change, 0) | filters
        return [SetTimer(TIMER_PREFIX + change, self._withdraw_after_ns)]

    def expire(self, timer: str) -> int:
        return self._waiting.pop(timer, 0)

    def take_over(self, change: str) -> int:
        return self._waiting.pop(TIMER_PREFIX + change, 0)

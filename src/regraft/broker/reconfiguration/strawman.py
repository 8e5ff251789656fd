"""`strawman`: a broken link is an unsubscription of everything that came over it (sem02 §4.3, Fig. 9; icdcs03 §4).

Promises that the tables are exact once the last change has been digested, whatever breaks or comes meanwhile. Uses
nothing but the publish/subscribe system's own messages. What it costs: routes are torn down across the whole tree and
laid again when the replacement arrives.
"""

from regraft.broker.effects import Effect


class Strawman:
    """Withholds nothing."""

    @property
    def withheld(self) -> int:
        return 0

    def link_lost(self, change: str, filters: int, is_leaf: bool) -> list[Effect]:
        return []

    def expire(self, timer: str) -> int:
        return 0

    def take_over(self, change: str) -> int:
        return 0

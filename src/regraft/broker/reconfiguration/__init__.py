"""What a broker does when the tree changes under it: one module a protocol.

A protocol does not send (un)subscriptions itself. It says which filters' withdrawal must wait (`withheld`) and until
when; the broker brings each neighbour up to date for everything else. `expire` hands back the filters to look at
again.
"""

from typing import Protocol

from regraft.broker.effects import Effect
from regraft.broker.reconfiguration.coordinated import Coordinated
from regraft.broker.reconfiguration.deferred import Deferred
from regraft.broker.reconfiguration.informed import Informed
from regraft.broker.reconfiguration.path import Path
from regraft.broker.reconfiguration.strawman import Strawman

__all__ = ["Coordinated", "Deferred", "Informed", "Path", "ReconfigurationProtocol", "Strawman"]


class ReconfigurationProtocol(Protocol):
    @property
    def withheld(self) -> int:
        """The filters whose unsubscription must not be sent now."""

    def link_lost(self, change: str, filters: int, is_leaf: bool) -> list[Effect]:
        """The link named by `change` is gone; its far end had asked for `filters`."""

    def expire(self, timer: str) -> int:
        """A timer of this protocol has fired: the filters that need wait no longer."""

    def take_over(self, change: str) -> int:
        """The filters of that break that still wait. They are the caller's from now on; the timer means nothing."""

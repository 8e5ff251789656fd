"""What the hand-off asks of the broker that it is a part of; `broker/attending.py` gives it."""

from typing import Protocol

from regraft.broker.effects import Effect


class Host(Protocol):
    def emit(self, effect: Effect) -> None: ...
    def now_ns(self) -> int: ...
    def has_subscriptions(self, client: str) -> bool: ...
    def confirm(self, client: str, filter: str) -> None:
        """Tell `Handoff.came_in_force` when it is, but not at once."""

    def withdraw(self, client: str) -> None:
        """All that the client has subscribed to."""

    def flush(self, client: str) -> None:
        """Tell `Handoff.flushed` when all that was under way has come; what was asked for the client before is void."""

    def forget_flush(self, client: str) -> None: ...

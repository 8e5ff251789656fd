"""Plans: how to get from one tree of brokers to another while events flow, and what that will cost."""

from regraft.planning.plan import (
    Group,
    LeafAddition,
    LeafRemoval,
    LinkExchange,
    Step,
    carry_out,
    describe,
    exchange_on,
    plan,
)

__all__ = [
    "Group",
    "LeafAddition",
    "LeafRemoval",
    "LinkExchange",
    "Step",
    "carry_out",
    "describe",
    "exchange_on",
    "plan",
]

"""Plans: how to get from one tree of brokers to another while events flow, by which protocol, and what that costs."""

from regraft.planning.choosing import Choice, Knowledge, Known, choose
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
    "Choice",
    "Group",
    "Knowledge",
    "Known",
    "LeafAddition",
    "LeafRemoval",
    "LinkExchange",
    "Step",
    "carry_out",
    "choose",
    "describe",
    "exchange_on",
    "plan",
]

"""How subscriptions and events travel over a tree that stands still."""

from regraft.broker.routing.confirmation import Confirmation
from regraft.broker.routing.forwarding import (
    ForwardingStrategy,
    HierarchicalForwarding,
    MessageForwarding,
    SubscriptionForwarding,
    forwarding_strategy,
)
from regraft.broker.routing.settlement import Settlement
from regraft.broker.routing.table import SubscriptionTable
from regraft.broker.routing.ways import KnownWays, Ways

__all__ = [
    "Confirmation",
    "ForwardingStrategy",
    "HierarchicalForwarding",
    "KnownWays",
    "MessageForwarding",
    "Settlement",
    "SubscriptionForwarding",
    "SubscriptionTable",
    "Ways",
    "forwarding_strategy",
]

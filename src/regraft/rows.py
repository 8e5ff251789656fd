"""Rows of the trace that depend on what brokers say: the same in every world (`trace/schema.py` says what a row is)."""

from regraft.broker.messages import (
    Claim,
    Compare,
    Confirm,
    Control,
    DirectMessage,
    Graft,
    HandoffMessage,
    Informed,
    Kept,
    Lock,
    Membership,
    Reroute,
    Rerouted,
    Settled,
    Signal,
    Subscribe,
    Unsubscribe,
    filters_named,
)
from regraft.trace import schema as row

ControlCells = tuple[str | None, None, str | None, str, str, str | None, int, str | None]


def control_cells(message: Control | DirectMessage, size: int) -> ControlCells:
    """What a row says of a control message, from the client on; the same at each hop."""
    carried = f'{{"filters":{filters_named(message)}}}'
    if isinstance(message, Subscribe | Unsubscribe):
        what = row.MESSAGE_SUBSCRIBE if type(message) is Subscribe else row.MESSAGE_UNSUBSCRIBE
        change = message.reconfiguration
        cause = row.CAUSE_RECONFIGURATION if change else row.CAUSE_CLIENT
        filters = message.filters
        if len(filters) == 1:
            return (None, None, filters[0], what, cause, change or None, size, None)
        return (None, None, None, what, cause, change or None, size, carried)
    if isinstance(message, Lock | Signal):
        what = row.MESSAGE_LOCK if isinstance(message, Lock) else message.step
        return (None, None, None, what, row.CAUSE_RECONFIGURATION, message.exchange, size, None)
    if isinstance(message, Graft):
        return (None, None, None, row.MESSAGE_GRAFT, row.CAUSE_RECONFIGURATION, message.exchange, size, carried)
    if isinstance(message, Compare):
        return (None, None, None, row.MESSAGE_COMPARE, row.CAUSE_RECONFIGURATION, message.exchange, size, None)
    if isinstance(message, Reroute):
        change, what = message.reconfiguration, row.MESSAGE_RECMSG
        return (None, None, None, what, row.CAUSE_RECONFIGURATION, change, size, carried)
    if isinstance(message, Informed):
        change, what = message.reconfiguration, row.MESSAGE_INFORMED
        return (None, None, None, what, row.CAUSE_RECONFIGURATION, change, size, carried)
    if isinstance(message, HandoffMessage):
        kind = {Claim: row.MESSAGE_CLAIM, Kept: row.MESSAGE_KEPT, Settled: row.MESSAGE_SETTLED}[type(message)]
        return (message.client, None, None, kind, row.CAUSE_HANDOFF, None, size, None)
    if isinstance(message, Rerouted):
        change, what = message.reconfiguration, row.MESSAGE_CTRLMSG
        return (None, None, None, what, row.CAUSE_RECONFIGURATION, change, size, None)
    if isinstance(message, Membership):
        return (None, None, None, message.step, row.CAUSE_RECONFIGURATION, None, size, None)
    what = row.MESSAGE_CONFIRM if type(message) is Confirm else row.MESSAGE_CONFIRMED
    return (None, None, None, what, row.CAUSE_CLIENT, None, size, None)

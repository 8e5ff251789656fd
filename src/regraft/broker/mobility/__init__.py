"""Clients that leave one broker and come back at another."""

from regraft.broker.mobility.handoff import TIMERS, Handoff
from regraft.broker.mobility.host import Host

__all__ = ["TIMERS", "Handoff", "Host"]

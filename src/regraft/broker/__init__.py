"""The brain of a broker: a pure state machine, driven by the simulator, by sockets and inside Spark tasks."""

from regraft.broker.catalogue import FilterCatalogue
from regraft.broker.config import BrokerConfig
from regraft.broker.core import Broker
from regraft.broker.record import RecordedStep, frame, read_record, replay
from regraft.broker.snapshot import FixedCatalogue, clone, left_over, state_of

__all__ = [
    "Broker",
    "BrokerConfig",
    "FilterCatalogue",
    "FixedCatalogue",
    "RecordedStep",
    "clone",
    "frame",
    "left_over",
    "read_record",
    "replay",
    "state_of",
]

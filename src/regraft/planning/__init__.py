"""Plans: how to get from one tree of brokers to another while events flow, by which protocol, and what that costs."""

from regraft.planning.choosing import Choice, Knowledge, Known, choose
from regraft.planning.drawing import svg
from regraft.planning.file import TreeFile, parse_tree
from regraft.planning.floor import differing, floor_of
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
from regraft.planning.prediction import Prediction, predict, predict_step

__all__ = [
    "Choice",
    "Group",
    "Knowledge",
    "Known",
    "LeafAddition",
    "LeafRemoval",
    "LinkExchange",
    "Prediction",
    "Step",
    "TreeFile",
    "carry_out",
    "choose",
    "describe",
    "differing",
    "exchange_on",
    "floor_of",
    "parse_tree",
    "plan",
    "predict",
    "predict_step",
    "svg",
]

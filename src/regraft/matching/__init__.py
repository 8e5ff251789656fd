"""Which of many filters does an event satisfy? `FilterIndex` answers, with a bitmap; `slots` reads one."""

from regraft.matching.bitmaps import slots
from regraft.matching.index import FilterIndex

__all__ = ["FilterIndex", "slots"]

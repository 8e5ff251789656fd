"""`auto`: which protocol a reconfiguration is met with, from what is known of it (mobile-chapter §5.2).

The chapter's advice: `path` costs least, needs the path and one reconfiguration at a time; `informed` needs the ends of
the new link and bears overlap; `deferred` needs nothing. Where an exchange is planned and events must not suffer, only
`coordinated` will do. The choice is a pure function of what the overlay manager knows, and comes with its reason.
"""

from dataclasses import dataclass
from typing import Literal

from regraft.broker.messages import Order

Knowledge = Literal["path", "ends", "nothing"]
ChosenName = Literal["deferred", "path", "informed", "coordinated"]


@dataclass(frozen=True, slots=True)
class Known:
    """`planned`: the link goes because somebody wants it to; `order`: what an exchange must keep of events (None:
    nothing need be kept); `knowledge`: what is known of the replacement; `under_way`: how many other reconfigurations
    may not be over."""

    planned: bool
    order: Order | None
    knowledge: Knowledge
    under_way: int


@dataclass(frozen=True, slots=True)
class Choice:
    protocol: ChosenName
    reason: str


def choose(known: Known) -> Choice:
    others = f"{known.under_way} other{'s' if known.under_way > 1 else ''} may be under way"
    if known.planned and known.order is not None:
        kept = "no event may be lost" if known.order == "none" else f"{known.order} order is to be kept"
        return Choice("coordinated", f"it is planned, and {kept}")
    if known.knowledge == "path" and not known.under_way:
        return Choice("path", "the path is known, and no other is under way")
    if known.knowledge == "path":
        return Choice("informed", f"the path is known, but {others}")
    if known.knowledge == "ends":
        return Choice("informed", "the ends of the new link are known, and the path is not")
    return Choice("deferred", "nothing is known of a replacement")

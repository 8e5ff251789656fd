"""Every protocol in turn on a live overlay of seven brokers: what the demo prints and a benchmark measures.

How links are mended that break is a setting of the brokers, so each such protocol gets brokers of its own; what is
planned needs none, and is shown on those of the last.
"""

from collections.abc import Callable
from functools import partial

from regraft.broker.config import Reconfiguration
from regraft.net.processes import Processes
from regraft.net.settings import Topology, on_free_ports
from regraft.net.trial import Trial, trial

LINKS = ("b1-b2", "b1-b3", "b2-b4", "b2-b5", "b3-b6", "b3-b7")
READY_WITHIN_S = 60.0
ALONE, PLANNED = "left alone", ("coordinated", "graft")
PROMISE_NOTHING_LOST = (ALONE, *PLANNED)

# What the brokers are started with, and what is then shown with them.
SHOWS: tuple[tuple[Reconfiguration, tuple[str, ...]], ...] = (
    ("strawman", ("strawman",)),
    ("path", ("path",)),
    ("informed", ("informed",)),
    ("deferred", ("deferred", ALONE, *PLANNED)),
)
ORDER_SHOWN = (ALONE, "strawman", "deferred", "path", "informed", *PLANNED)

Tell = Callable[[str, str], None]  # what is done now, and how far it is


async def all_protocols(*, seed: int, exchanges: int, rate_hz: float, tell: Tell) -> list[Trial]:
    """A trial of each, and one with the links left alone, which comes first."""
    trials: dict[str, Trial] = {}
    for reconfiguration, protocols in SHOWS:
        tell(protocols[0], "starting brokers")
        settings = on_free_ports(Topology(LINKS, reconfiguration=reconfiguration).settings())
        async with Processes(settings, lambda _, line: None) as brokers:
            for protocol in protocols:
                await brokers.whole(READY_WITHIN_S)
                trials[protocol] = await trial(
                    brokers,
                    protocol,
                    "fifo",
                    exchanges=0 if protocol == ALONE else exchanges,
                    rate_hz=rate_hz,
                    seed=seed,
                    tell=partial(_tell, tell, protocol),
                )
    return [trials[protocol] for protocol in ORDER_SHOWN]


def _tell(tell: Tell, protocol: str, done: int, of: int) -> None:
    tell(protocol, f"exchange {done + 1} of {of}")

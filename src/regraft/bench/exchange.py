"""Exchanges under load on the seven-broker overlay: what is lost, and the longest pause of any subscriber.

What `regraft demo` shows, with more exchanges. A pause is the time between two deliveries to one subscriber; with the
links left alone it is what the machine itself makes.
"""

import asyncio

from regraft.net.loops import new_loop
from regraft.net.showing import all_protocols

EXCHANGES = 30
RATE_HZ = 200.0
SEED = 1


def run(quick: bool = False) -> dict[str, float | int | str]:
    """Figures by name, units last; `quick` makes the runs short."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        trials = runner.run(
            all_protocols(seed=SEED, exchanges=2 if quick else EXCHANGES, rate_hz=RATE_HZ, tell=lambda what, far: None)
        )
    figures: dict[str, float | int | str] = {}
    for trial in trials:
        name = f"exchange_{trial.protocol.replace(' ', '_')}"
        figures[f"{name}_owed"] = trial.deliveries_owed
        figures[f"{name}_lost"] = trial.lost
        figures[f"{name}_duplicated"] = trial.duplicated
        figures[f"{name}_out_of_order"] = trial.out_of_order
        figures[f"{name}_pause_ms"] = trial.longest_pause_ms
    return figures

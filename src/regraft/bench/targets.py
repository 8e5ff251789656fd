"""What the design wants of a figure, and the table that holds the measured beside the wanted."""

import os
import platform
from collections.abc import Mapping

from regraft.lab.document import markdown_table
from regraft.lab.record import commit

# figure -> (at least or at most, how much)
TARGETS = {
    "matching_speedup_10k_ratio": (">=", 100.0),
    "matching_speedup_100k_ratio": (">=", 200.0),
    "matching_1m_ms_per_event": ("<", 2.5),
    "matching_churn_100k_us": ("<", 100.0),
    "simulator_event_to_heap_ratio": (">=", 0.25),
    "simulator_control_to_heap_ratio": (">=", 0.125),
    "scale_1k_coordinated_exchange_s": ("<", 1.0),
    "scale_1k_deferred_exchange_s": ("<", 1.0),
    "scale_1k_distinct_coordinated_exchange_s": ("<", 1.0),
    "scale_1k_distinct_deferred_exchange_s": ("<", 1.0),
    "sweep_two_cores_over_one_ratio": (">=", 1.7),
    "audit_full_rows_per_s": (">=", 500_000.0),
    "audit_counted_rows_per_s": (">=", 500_000.0),
    "relay_to_nats_ratio": (">=", 1.5),
    "relay_to_mosquitto_ratio": (">=", 8.0),
    "relay_among_filters_ratio": (">=", 0.5),
    "exchange_coordinated_lost": ("<", 1.0),
    "exchange_coordinated_duplicated": ("<", 1.0),
    "exchange_coordinated_out_of_order": ("<", 1.0),
    "memory_broker_100k_filters_mib": ("<", 300.0),
    "memory_idle_client_kib": ("<", 20.0),
}


def is_reached(figure: str, value: float) -> bool:
    relation, wanted = TARGETS[figure]
    return value >= wanted if relation == ">=" else value < wanted


def benchmark_table(figures: Mapping[str, float | int | str]) -> str:
    """Markdown: every figure as measured, what was wanted of it, and the machine and commit that it is true of."""
    rows = []
    for figure, value in figures.items():
        if isinstance(value, str):
            continue
        relation, wanted = TARGETS.get(figure, ("", None))
        verdict = "" if wanted is None else "yes" if is_reached(figure, value) else "**no**"
        rows.append([f"`{figure}`", f"{value:,.4g}", "" if wanted is None else f"{relation} {wanted:,g}", verdict])
    table = markdown_table(["figure", "measured", "wanted", "reached"], rows)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return f"{table}\n\nMeasured at commit {commit()} on {machine}."

"""The settings of one broker; a world hands them in and they do not change while the broker lives."""

from typing import Literal

import msgspec

Forwarding = Literal["subscription", "hierarchical", "message"]
Reconfiguration = Literal["strawman", "deferred", "path", "informed", "auto"]

MILLISECOND_NS = 1_000_000


class BrokerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`batch` puts all filters that go to one neighbour at one time into one message; the papers send one a message."""

    forwarding: Forwarding = "subscription"
    covering: bool = False
    batch: bool = False
    reconfiguration: Reconfiguration = "deferred"
    withdraw_after_ns: int = 150 * MILLISECOND_NS  # deferred: how long an unsubscription waits after a break
    announced_within_ns: int = (
        200 * MILLISECOND_NS
    )  # path, informed: how long a new link that is announced waits to be used
    reroutes_max: int = 10_000  # path: RECMSGs whose answer a broker waits for; beyond, it does not pass any on
    confirm_again_after_ns: int = 50 * MILLISECOND_NS  # a spoiled confirmation is asked for again
    filters_per_neighbour_max: int = 2_000_000  # beyond: the neighbour misbehaves, the filter is ignored
    lock_again_after_ns: int = 20 * MILLISECOND_NS  # coordinated: the first wait after a lock that collided; it doubles
    lock_attempts_max: int = 40
    held_back_max: int = 1_000_000  # coordinated: events, or messages, that wait behind the new link
    probes_max: int = 100_000  # confirmations remembered; beyond, the oldest is forgotten and asked for again
    kept_per_client_max: int = 100_000  # events for a client that is away, or arriving; beyond, the newest is dropped
    kept_for_ns: int = 7 * 24 * 3_600_000 * MILLISECOND_NS  # a client that is away for longer is forgotten
    kept_part_max: int = 256  # events that are handed over in one message, and
    kept_part_bytes_max: int = 1_048_576  # their size, unless it is one event
    claim_again_after_ns: int = 100 * MILLISECOND_NS  # the broker that a client has left is asked again
    claims_max: int = 300  # unanswered; beyond, it is taken for gone

"""One schema for what happened: every world writes these rows, every question is answered from them.

A row says that at position `n` of a run, `t_ns` nanoseconds after it began, something of one `kind` happened at a
broker. Which of the other columns are filled depends on the kind; what does not apply is null.

Kinds:

- `run`, the first row of every run: its parameters as JSON in `attributes`. `run_end`, the last: JSON with the run's
  `fingerprint`, its `violations` and its counters. A run without its `run_end` was cut off, and the reader says so.
- `publish` (`client`, `event`, the event's attributes as JSON in `attributes`) and `deliver` (`client`, `event`).
- `subscribe` (issued), `in_force` (acknowledged: every route that the subscription needs is laid), `unsubscribe`; all
  with `client` and `filter`.
- `hop`: a message was put on the link from `broker` to `peer`; `message`, `cause` and `bytes` say what, why and how
  large. `attributes` may hold `{"filters": k}`, the number of filters that it carries; where it does not, a message
  with a `filter` carries one. `drop`: a message was lost there.
- `link_up`, `link_down`, `broker_up`, `broker_down`.
- `reconfiguration_begin` and `reconfiguration_end`, of a planned exchange, or of a break and its replacement: its name
  in `reconfiguration`; in `attributes`, as soon as they are known, the `removed` and `added` link, their `cycle`, the
  first `near` of which are on the first end's side, the `outcome`, the `floor` (see `planning/floor.py`; null where
  there is none) and the `changes`: the names that messages carry which this reconfiguration caused.
- `release`: what had waited at `broker` behind the new link to `peer` of the exchange `reconfiguration` goes on.
  `message` says which queue, `event` or `control`; `attributes` is `{"count": n, "waited_ns": t}`: n messages, which
  waited t together.

Levels. A `full` trace has a row for each of these. A `counted` trace has, instead of a row for each hop of an event,
one row for each link, cause and interval of `COUNTED_INTERVAL_NS`: `t_ns` is the interval's start, `bytes` the sum,
and `attributes` is `{"count": n}`. A `summed` trace sums the `publish` and `deliver` rows by broker and interval as
well; it counts, and cannot be audited.

Why a string column and not an enumeration: the Parquet files hold each distinct string once a page anyway, and
whoever opens the trace with another tool reads words. Why not nested columns for what depends on the kind: a flat
table is what `DataFrame.where` reads best.
"""

import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("n", pa.int64(), nullable=False),
        pa.field("t_ns", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("broker", pa.string()),
        pa.field("peer", pa.string()),
        pa.field("client", pa.string()),
        pa.field("event", pa.string()),
        pa.field("filter", pa.string()),
        pa.field("message", pa.string()),
        pa.field("cause", pa.string()),
        pa.field("reconfiguration", pa.string()),
        pa.field("bytes", pa.int32()),
        pa.field("attributes", pa.string()),
    ]
)

KIND_RUN = "run"
KIND_RUN_END = "run_end"
KIND_PUBLISH = "publish"
KIND_DELIVER = "deliver"
KIND_SUBSCRIBE = "subscribe"
KIND_IN_FORCE = "in_force"
KIND_UNSUBSCRIBE = "unsubscribe"
KIND_HOP = "hop"
KIND_DROP = "drop"
KIND_LINK_UP = "link_up"
KIND_LINK_DOWN = "link_down"
KIND_BROKER_UP = "broker_up"
KIND_BROKER_DOWN = "broker_down"
KIND_RECONFIGURATION_BEGIN = "reconfiguration_begin"
KIND_RECONFIGURATION_END = "reconfiguration_end"
KIND_RELEASE = "release"

KINDS = (
    KIND_RUN,
    KIND_PUBLISH,
    KIND_DELIVER,
    KIND_SUBSCRIBE,
    KIND_IN_FORCE,
    KIND_UNSUBSCRIBE,
    KIND_HOP,
    KIND_DROP,
    KIND_LINK_UP,
    KIND_LINK_DOWN,
    KIND_BROKER_UP,
    KIND_BROKER_DOWN,
    KIND_RECONFIGURATION_BEGIN,
    KIND_RECONFIGURATION_END,
    KIND_RELEASE,
    KIND_RUN_END,
)

MESSAGE_EVENT = "event"
MESSAGE_SUBSCRIBE = "subscribe"
MESSAGE_UNSUBSCRIBE = "unsubscribe"
MESSAGE_RECMSG = "recmsg"  # of `path`
MESSAGE_CTRLMSG = "ctrlmsg"
MESSAGE_INFORMED = "informed"  # of the protocol of that name; sent directly, so `broker` and `peer` need no link
MESSAGE_CLAIM = "claim"  # of a client's hand-off; sent directly, too
MESSAGE_KEPT = "kept"
MESSAGE_SETTLED = "settled"
MESSAGE_GRAFT = "graft"
MESSAGE_COMPARE = "compare"
MESSAGE_LOCK = "lock"  # a planned exchange's other messages are called by their step
MESSAGE_CONFIRM = "confirm"
MESSAGE_CONFIRMED = "confirmed"

# That a subscription is in force is told in messages of their own, which the papers' measures leave out.
ACKNOWLEDGEMENT_MESSAGES = (MESSAGE_CONFIRM, MESSAGE_CONFIRMED)

CAUSE_CLIENT = "client"
CAUSE_RECONFIGURATION = "reconfiguration"
CAUSE_MAINTENANCE = "maintenance"
CAUSE_RECOVERY = "recovery"
CAUSE_HANDOFF = "handoff"

CAUSES = (CAUSE_CLIENT, CAUSE_RECONFIGURATION, CAUSE_MAINTENANCE, CAUSE_RECOVERY, CAUSE_HANDOFF)

LEVEL_FULL = "full"
LEVEL_COUNTED = "counted"
LEVEL_SUMMED = "summed"

LEVELS = (LEVEL_FULL, LEVEL_COUNTED, LEVEL_SUMMED)

COUNTED_INTERVAL_NS = 100_000_000

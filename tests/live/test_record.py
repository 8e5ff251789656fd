"""What live brokers write down: a trace that explains and can be counted, and inputs that replay."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import regraft
from live.conftest import Live, overlay
from regraft.broker import read_record, replay
from regraft.net.operating import exchange
from regraft.trace import fingerprint_of, read_run

EVENTS = 100


def test_a_live_overlay_leaves_a_trace_and_inputs_that_replay(live: Live, tmp_path: Path) -> None:
    trace, inputs = tmp_path / "trace", tmp_path / "inputs"

    async def test() -> None:
        async with (
            overlay("a-b b-c", trace=trace, inputs=inputs) as brokers,
            regraft.connect(brokers.url("a"), "p") as publisher,
            regraft.connect(brokers.url("c"), "s") as subscriber,
        ):
            subscription = await subscriber.subscribe("number >= 0").in_force()

            async def publish() -> None:
                for number in range(EVENTS):
                    await publisher.publish({"number": number}, b"payload")
                    await asyncio.sleep(0.002)

            publishing = asyncio.create_task(publish())
            cost = await exchange(brokers.addresses, ("b", "c"), ("a", "c"), "coordinated", "fifo", 30.0)
            assert cost.outcome == "done"
            await publishing
            for _ in range(EVENTS):
                await anext(subscription)

    live(test())

    rows = read_run(trace, "live").to_pylist()
    kinds = Counter(row["kind"] for row in rows)
    assert kinds["publish"] == kinds["deliver"] == EVENTS
    assert kinds["broker_up"] == kinds["broker_down"] == 3
    assert kinds["subscribe"] == kinds["in_force"] == kinds["unsubscribe"] == 1
    assert kinds["reconfiguration_begin"] == kinds["reconfiguration_end"] == 1
    assert [row["n"] for row in rows] == list(range(len(rows)))
    times = [row["t_ns"] for row in rows]
    assert times == sorted(times)
    changes = [(row["kind"], row["broker"], row["peer"]) for row in rows if row["kind"].startswith("link")]
    assert sorted(changes[:2]) == [("link_up", "a", "b"), ("link_up", "b", "c")]
    assert sorted(changes[2:4]) == [("link_down", "b", "c"), ("link_up", "a", "c")]
    messages = {row["message"] for row in rows if row["kind"] == "hop"}
    assert {"event", "subscribe", "confirm", "lock", "separator"} <= messages
    assert json.loads(rows[-1]["attributes"])["fingerprint"] == fingerprint_of(read_run(trace, "live"))

    for name in "abc":
        config, steps = read_record(memoryview((inputs / f"{name}.inputs").read_bytes()), name)
        count, difference = replay(config, steps)
        assert difference is None
        assert count > 10

"""Recorded inputs, given to fresh cores that number their filters themselves, give the recorded effects."""

import pytest

from effort import quick_first
from regraft.broker import RecordedStep, frame, read_record, replay
from regraft.errors import RegraftError
from regraft.sim import simulate
from simulation.random_scenarios import ANNOUNCED, random_scenario


def record(seed: int, protocol: str = "") -> bytes:
    scenario = random_scenario(seed, protocol)
    data = bytearray(frame(scenario.broker_config))
    run = simulate(
        scenario,
        seed,
        name="x",
        trace="summed",
        record=lambda broker, now_ns, given, effects: data.extend(
            frame(RecordedStep(broker, now_ns, given, tuple(effects)))
        ),
    )
    for _ in run.batches():
        pass
    return bytes(data)


@pytest.mark.parametrize("seed", quick_first(range(1, 13), 4))
def test_replay_gives_the_recorded_effects(seed: int) -> None:
    count, difference = replay(*read_record(memoryview(record(seed)), "record"))
    assert difference is None
    assert count > 100


@pytest.mark.parametrize("protocol", ANNOUNCED)
@pytest.mark.parametrize("seed", quick_first(range(1, 5), 1))
def test_replay_gives_the_recorded_effects_where_replacements_are_announced(protocol: str, seed: int) -> None:
    count, difference = replay(*read_record(memoryview(record(seed, protocol)), "record"))
    assert difference is None
    assert count > 50


def test_a_changed_input_is_noticed() -> None:
    config, steps = read_record(memoryview(record(3)), "record")
    kept = [step for number, step in enumerate(steps) if number != 40]
    assert replay(config, kept)[1] is not None


def test_a_record_that_is_cut_off_says_where() -> None:
    data = record(3)
    config, steps = read_record(memoryview(data)[: len(data) - 5], "some.record")
    with pytest.raises(RegraftError, match=r"some\.record: cut off in the frame that begins at byte \d+"):
        replay(config, steps)


def test_no_flipped_bit_is_replayed() -> None:
    data = record(3)[:20_000]
    for place in range(0, len(data), 97):
        damaged = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        with pytest.raises(RegraftError, match=r"some\.record: (damaged|cut off) in the frame that begins at byte \d+"):
            for _ in read_record(memoryview(damaged), "some.record")[1]:
                pass


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(RegraftError, match="no record"):
        read_record(memoryview(b""), "empty")
    with pytest.raises(RegraftError, match="damaged"):
        read_record(memoryview(bytes(7) + b"\x01\xc1"), "noise")
    steps_alone = frame(RecordedStep("a", 1, None, ()))
    with pytest.raises(RegraftError, match="no record"):
        read_record(memoryview(steps_alone), "steps alone")

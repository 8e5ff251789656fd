"""The decoder against inputs without number: seeds, as many as are asked for (`make soak` asks for a million)."""

import gc
import tracemalloc
from random import Random

import pytest

from regraft.net.wire import CONTROL_HEADER_BYTES, FrameSplitter, WireError
from unit.net.test_wire import EXAMPLES, LENGTH_MAX, Decoding

INPUT_BYTES_MAX = 16_000
GROWTH_BYTES_MAX = 1_000_000


def test_no_input_crashes_the_decoder_or_makes_it_grow(request: pytest.FixtureRequest) -> None:
    count = request.config.getoption("--fuzz")
    dice = Random(count)
    frames = [example() for example in EXAMPLES]
    refused = 0
    tracemalloc.start()
    for _ in range(count):
        data = bytearray(dice.choice(frames))
        for _ in range(dice.randrange(4)):
            match dice.randrange(4):
                case 0:
                    data[dice.randrange(len(data))] = dice.randrange(256)
                case 1:
                    del data[dice.randrange(len(data)) :]
                    data += b"\0"
                case 2:
                    at = dice.randrange(len(data))
                    data[at:at] = dice.randbytes(dice.randrange(1, 9))
                case _:
                    data += dice.choice(frames)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        splitter = FrameSplitter(Decoding(), LENGTH_MAX)
        try:
            splitter.feed(bytes(data))
        except WireError as error:
            refused += bool(str(error))
        assert len(splitter._partial) <= LENGTH_MAX + CONTROL_HEADER_BYTES
        _, peak = tracemalloc.get_traced_memory()
        assert peak - before < INPUT_BYTES_MAX
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused > count // 4
    assert kept < GROWTH_BYTES_MAX

"""What a broker was told and what it answered, kept and told again.

A world may record every input of its brokers. As a broker is a function of its inputs, a fresh core that is given
them again must give the recorded effects, byte for byte: a live broker's record explains it in a debugger, and every
record is a test.

A record is a sequence of frames: the configuration first, then a frame for each step, in the order in which the world
carried them out. Each frame is four bytes of length, four of a checksum (CRC-32) and a MessagePack object. What a file
holds is checked when it is read; a frame that is cut off or damaged ends the record with an error that names its place.
"""

import zlib
from collections.abc import Iterable, Iterator

import msgspec

from regraft.broker.catalogue import FilterCatalogue
from regraft.broker.config import BrokerConfig
from regraft.broker.core import Broker
from regraft.broker.effects import Effect
from regraft.broker.inputs import Input
from regraft.errors import RegraftError

LENGTH_BYTES = 4
CHECKSUM_BYTES = 4


class RecordedStep(msgspec.Struct, frozen=True):
    """`given` is None where the broker began anew, knowing nothing."""

    broker: str
    now_ns: int
    given: Input | None
    effects: tuple[Effect, ...]


_step_decoder = msgspec.msgpack.Decoder(RecordedStep)
_config_decoder = msgspec.msgpack.Decoder(BrokerConfig)


def frame(content: BrokerConfig | RecordedStep) -> bytes:
    data = msgspec.msgpack.encode(content)
    return len(data).to_bytes(LENGTH_BYTES, "big") + zlib.crc32(data).to_bytes(CHECKSUM_BYTES, "big") + data


def read_record(data: memoryview, place: str) -> tuple[BrokerConfig, Iterator[RecordedStep]]:
    """The configuration and the steps of a record; `place` is what an error calls it."""
    frames = _frames(data, place)
    try:
        config = _config_decoder.decode(next(frames))
    except StopIteration:
        raise RegraftError(f"{place}: an empty file is no record") from None
    except msgspec.MsgspecError as error:
        raise RegraftError(f"{place}: this is no record: {error}") from error
    return config, _steps(frames, place)


def _frames(data: memoryview, place: str) -> Iterator[memoryview]:
    at = 0
    while at < len(data):
        begin = at + LENGTH_BYTES + CHECKSUM_BYTES
        end = begin + int.from_bytes(data[at : at + LENGTH_BYTES], "big")
        if begin > len(data) or end > len(data):
            raise RegraftError(f"{place}: cut off in the frame that begins at byte {at}")
        if zlib.crc32(data[begin:end]) != int.from_bytes(data[at + LENGTH_BYTES : begin], "big"):
            raise RegraftError(f"{place}: damaged in the frame that begins at byte {at}")
        yield data[begin:end]
        at = end


def _steps(frames: Iterator[memoryview], place: str) -> Iterator[RecordedStep]:
    for number, content in enumerate(frames, start=1):
        try:
            yield _step_decoder.decode(content)
        except msgspec.MsgspecError as error:
            raise RegraftError(f"{place}: step {number} is damaged: {error}") from error


def replay(config: BrokerConfig, steps: Iterable[RecordedStep]) -> tuple[int, str | None]:
    """Give each broker's inputs to a fresh core of its own.

    Returns how many steps gave the recorded effects, and the first that did not, in words.
    """
    cores: dict[str, Broker] = {}
    count = 0
    for step in steps:
        if step.given is None:
            cores[step.broker] = Broker(step.broker, config, FilterCatalogue(config.covering))
            continue
        if step.broker not in cores:
            return count, f"{step.broker} takes an input before it began"
        core = cores[step.broker]
        effects = core.handle(step.now_ns, step.given)
        core.check()
        if msgspec.msgpack.encode(effects) != msgspec.msgpack.encode(step.effects):
            return count, f"step {count + 1}: {step.given} gave {core.name} {effects}, recorded is {list(step.effects)}"
        count += 1
    return count, None

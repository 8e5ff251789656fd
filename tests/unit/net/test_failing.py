"""What a live broker does when its disk is full, and when it meets a bug of its own."""

import asyncio
import time
from pathlib import Path

import pytest

from regraft.broker import BrokerConfig
from regraft.broker.inputs import ClientDetached
from regraft.errors import RegraftError
from regraft.net import talk
from regraft.net.guests import Guests
from regraft.net.server import Recording, serve
from regraft.net.settings import BrokerSettings, on_free_ports, split_address
from regraft.net.wire import control_frame
from regraft.net.witness import InputRecord, Witness


def test_a_broker_that_meets_a_bug_of_its_own_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("planted")

    monkeypatch.setattr(Guests, "arrive", broken)
    (settings,) = on_free_ports([BrokerSettings("a")])

    async def test() -> None:
        serving = asyncio.create_task(serve(settings, asyncio.Event(), Recording()))
        await asyncio.sleep(0.2)
        _, writer = await asyncio.open_connection(*split_address(settings.listen))
        writer.write(control_frame(talk.ClientHello("guest", 1, time.time_ns())))
        with pytest.raises(AssertionError, match="planted"):
            await asyncio.wait_for(serving, 10.0)
        writer.close()

    asyncio.run(test())


def test_a_trace_that_cannot_be_written_is_given_up_and_named(tmp_path: Path) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    directory = tmp_path / "trace"
    witness = Witness(directory, "a", 0, BrokerConfig())

    def write() -> None:
        with witness:
            witness._write = full
            for number in range(40_000):
                witness.subscription(number, "subscribe", "c", "price > 1")

    with pytest.raises(RegraftError, match=r"trace: cannot be written: .*No space left"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_inputs_that_cannot_be_written_are_given_up_and_named(tmp_path: Path) -> None:
    record = InputRecord(tmp_path / "inputs", "a", BrokerConfig(), 0)

    def write() -> None:
        with record:
            record._output.close()
            record._output = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
            record(1, ClientDetached("c"), [])
            record(2, ClientDetached("c"), [])

    with pytest.raises(RegraftError, match="inputs: cannot be written: No space left"):
        write()
    assert list(tmp_path.iterdir()) == []

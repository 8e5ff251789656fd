"""What a user would take instead, and ours, each behind the same few words: a server, a publisher, a subscriber.

Each publisher and each subscriber is a process of its own, `python -m regraft.bench.contestants SYSTEM ROLE PORT …`,
and a Python client throughout. An event has a payload of 100 bytes, which begins with the time at which it was
published, and three attributes; only Regraft's broker evaluates a filter (two constraints), as the others have none on
content.

A contestant whose server or client is not installed says so, and is left out.
"""

import asyncio
import importlib.util
import json
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

PAYLOAD_BYTES = 100
SYMBOLS = ("IBM", "SAP")
FILTER = "symbol = 'IBM' AND price > 100"
TOPIC = "quotes/ibm"
QUIET_S = 3.0  # a subscriber that gets nothing for so long has lost the rest
STARTED_WITHIN_S = 20.0
BURST_S = 0.002
SAMPLES_MAX = 200_000

Take = Callable[[bytes], None]
SYSTEMS = ("regraft", "nats", "mosquitto", "zenoh")


def missing(system: str) -> str:
    """Why this contestant cannot run here, or nothing."""
    program = {"nats": "nats-server", "mosquitto": "mosquitto"}.get(system)
    module = {"nats": "nats", "mosquitto": "paho", "zenoh": "zenoh"}.get(system)
    if program and not shutil.which(program) and not shutil.which(program, path="/usr/sbin:/usr/local/sbin"):
        return f"{program} is not installed (apt-get install {program})"
    if module and importlib.util.find_spec(module) is None:
        return f"its Python client is not installed (pip install 'regraft[compare]'): no module {module}"
    return ""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def server(system: str, port: int) -> Iterator[int]:
    """The server of that system, on that port of loopback; its process."""
    path = "/usr/sbin:/usr/local/sbin"
    if system == "nats":
        program = shutil.which("nats-server") or shutil.which("nats-server", path=path)
        command = [str(program), "-a", "127.0.0.1", "-p", str(port)]
    elif system == "mosquitto":
        program = shutil.which("mosquitto") or shutil.which("mosquitto", path=path)
        command = [str(program), "-p", str(port)]
    else:  # a router of Zenoh comes with its binding
        command = [sys.executable, "-m", "regraft.bench.contestants", system, "server", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} does not listen on port {port}")


def race(system: str, count: int, rate_hz: float, *, subscribers: int = 1, ports: tuple[int, int]) -> dict[str, float]:
    """One publisher, so many subscribers; `ports` are the publisher's and the subscribers'. Messages a second at the
    slowest subscriber, microseconds from publisher to subscriber at the median and the 99th percentile, and lost."""
    takers = [_worker(system, "sub", ports[1], count) for _ in range(subscribers)]
    try:
        for taker in takers:
            assert taker.stdout is not None
            assert taker.stdout.readline() == b"ready\n"
        giver = _worker(system, "pub", ports[0], count, rate_hz)
        takers.append(giver)
        answers = [json.loads(taker.communicate(timeout=300)[0]) for taker in takers]
    finally:
        for taker in takers:
            if taker.poll() is None:
                taker.kill()
            taker.wait()
    answers.pop()
    return {
        "per_s": min(answer["per_s"] for answer in answers),
        "p50_us": max(answer["p50_us"] for answer in answers),
        "p99_us": max(answer["p99_us"] for answer in answers),
        "lost": sum(count - answer["count"] for answer in answers),
    }


def _worker(system: str, role: str, port: int, count: int, rate_hz: float = 0.0) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "regraft.bench.contestants", system, role, str(port), str(count), str(rate_hz)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


# --- the worker processes


class Counting:
    """What a subscriber does with each payload, whoever brought it."""

    def __init__(self, count: int) -> None:
        self.wanted = count
        self.count = 0
        self.began_ns = self.last_ns = 0
        self.every = max(1, count // SAMPLES_MAX)
        self.latencies_ns: list[int] = []
        self.done: Callable[[], None] = lambda: None

    def take(self, payload: bytes) -> None:
        self.count = count = self.count + 1
        if count % self.every == 0 or count == 1:
            now_ns = time.monotonic_ns()
            self.latencies_ns.append(now_ns - int.from_bytes(payload[:8], "big"))
            self.last_ns = now_ns
            if count == 1:
                self.began_ns = now_ns
        if count == self.wanted:
            self.last_ns = time.monotonic_ns()
            self.done()

    def answer(self) -> dict[str, float]:
        ordered = sorted(self.latencies_ns) or [0]
        seconds = max(self.last_ns - self.began_ns, 1) / 1e9
        return {
            "count": self.count,
            "per_s": self.count / seconds,
            "p50_us": ordered[len(ordered) // 2] / 1e3,
            "p99_us": ordered[len(ordered) * 99 // 100] / 1e3,
        }


def payload() -> bytes:
    return struct.pack(">Q", time.monotonic_ns()) + bytes(PAYLOAD_BYTES - 8)


async def _paced(count: int, rate_hz: float, publish: Callable[[int], Any], *, waits: bool) -> None:
    """As fast as may be where no rate is given; else so many a second, in small bursts."""
    began, sent = time.monotonic(), 0
    while sent < count:
        due = min(count, int((time.monotonic() - began) * rate_hz) + 1) if rate_hz else count
        for number in range(sent, due):
            if waits:
                await publish(number)
            else:
                publish(number)
        sent = due
        if rate_hz:
            await asyncio.sleep(BURST_S)


async def _until_done(counting: Counting, before: "asyncio.Event") -> None:
    """Or until nothing has come for a while."""
    print("ready", flush=True)
    while not before.is_set():
        count = counting.count
        try:
            async with asyncio.timeout(QUIET_S if count else STARTED_WITHIN_S):
                await before.wait()
        except TimeoutError:
            if counting.count == count:
                return


def _from_a_thread(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    loop.call_soon_threadsafe(stop.set)


async def regraft_worker(role: str, port: int, count: int, rate_hz: float) -> None:
    from regraft.net.bus import Bus
    from regraft.net.server import Recording, serve
    from regraft.net.settings import BrokerSettings

    url, stop = f"regraft://127.0.0.1:{port}", asyncio.Event()
    if role == "server":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await serve(BrokerSettings("a", f"127.0.0.1:{port}"), stop, Recording())
        return
    async with Bus(url, "", STARTED_WITHIN_S) as bus:
        if role == "sub":
            counting = Counting(count)
            counting.done = stop.set
            take = counting.take
            await bus.subscribe(FILTER, callback=lambda event: take(event.payload)).in_force()
            await _until_done(counting, stop)
            print(json.dumps(counting.answer()))
            return

        def publish(number: int) -> Any:
            return bus.publish({"symbol": "IBM", "price": 120.5, "size": number}, payload())

        await _paced(count, rate_hz, publish, waits=True)
        await bus.flush()
        print("{}")


async def nats_worker(role: str, port: int, count: int, rate_hz: float) -> None:
    import nats

    client = await nats.connect(f"nats://127.0.0.1:{port}", pending_size=64 * 1_048_576)
    stop = asyncio.Event()
    if role == "sub":
        counting = Counting(count)
        counting.done = stop.set

        async def take(message: Any) -> None:
            counting.take(message.data)

        await client.subscribe(TOPIC, cb=take, pending_msgs_limit=-1, pending_bytes_limit=-1)
        await client.flush()
        await _until_done(counting, stop)
        print(json.dumps(counting.answer()))
    else:
        await _paced(count, rate_hz, lambda number: client.publish(TOPIC, payload()), waits=True)
        await client.flush(timeout=60)
        print("{}")
    await client.close()


async def mosquitto_worker(role: str, port: int, count: int, rate_hz: float) -> None:
    from paho.mqtt.client import CallbackAPIVersion, Client

    client = Client(CallbackAPIVersion.VERSION2)
    loop, stop, ready = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    counting = Counting(count)
    counting.done = partial(_from_a_thread, loop, stop)
    client.on_message = lambda _client, _data, message: counting.take(message.payload)
    client.on_subscribe = lambda *_: loop.call_soon_threadsafe(ready.set)
    client.connect("127.0.0.1", port)
    client.loop_start()
    if role == "sub":
        client.subscribe(TOPIC)
        await ready.wait()
        await _until_done(counting, stop)
        print(json.dumps(counting.answer()))
    else:
        await _paced(count, rate_hz, lambda number: client.publish(TOPIC, payload()), waits=False)
        last = client.publish("end", b"", qos=1)
        await asyncio.to_thread(last.wait_for_publish, 120)
        print("{}")
    client.disconnect()
    client.loop_stop()


async def zenoh_worker(role: str, port: int, count: int, rate_hz: float) -> None:
    import zenoh

    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    config = zenoh.Config()
    config.insert_json5("mode", '"router"' if role == "server" else '"client"')
    config.insert_json5("scouting/multicast/enabled", "false")
    place = "listen/endpoints" if role == "server" else "connect/endpoints"
    config.insert_json5(place, f'["tcp/127.0.0.1:{port}"]')
    session: Any = zenoh.open(config)
    if role == "server":
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        await stop.wait()
    elif role == "sub":
        counting = Counting(count)
        counting.done = partial(_from_a_thread, loop, stop)
        session.declare_subscriber(TOPIC, lambda sample: counting.take(sample.payload.to_bytes()))
        await asyncio.sleep(1.0)
        await _until_done(counting, stop)
        print(json.dumps(counting.answer()))
    else:
        publisher = session.declare_publisher(TOPIC, congestion_control=zenoh.CongestionControl.BLOCK)
        await asyncio.sleep(0.5)
        await _paced(count, rate_hz, lambda number: publisher.put(payload()), waits=False)
        await asyncio.sleep(0.5)
        print("{}")
    session.close()


def main() -> None:
    from regraft.net.loops import new_loop

    system, role, port, count, rate_hz = [*sys.argv[1:], "0", "0"][:5]
    worker = {"regraft": regraft_worker, "nats": nats_worker, "mosquitto": mosquitto_worker, "zenoh": zenoh_worker}
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(worker[system](role, int(port), int(count), float(rate_hz)))


if __name__ == "__main__":
    main()

"""What a live broker is configured with, and a whole overlay: TOML, checked when it is read.

A mistake is refused with the file, the line and the key. `tomllib` forgets where a key stood, so the line is looked up
in the text again; where that finds nothing (a key in an inline table, say), the line of what holds it is named.
"""

import re
import socket
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from regraft.broker import BrokerConfig
from regraft.broker.config import Reconfiguration
from regraft.errors import RegraftError, ScenarioError, UsageError
from regraft.model.trees import adjacency_of, split_link
from regraft.net.talk import BrokerName
from regraft.store import Fsync

PORT_MAX = 65_535
UDP = "udp://"

Positive = Annotated[int, msgspec.Meta(gt=0)]
PositiveS = Annotated[float, msgspec.Meta(gt=0)]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the TOML file; a key that no field has is refused."""


class LinkSetting(_Table, frozen=True):
    """A link that this broker opens, and opens again when it is lost; the other end only accepts. An `address` that
    begins with `udp://` is a link over UDP."""

    to: BrokerName
    address: str


class Limits(_Table, frozen=True):
    """What a broker takes from others at most, and how long it waits for them."""

    frame_bytes_max: Positive = 1_048_576  # of a client or an operator
    link_frame_bytes_max: Positive = 16_777_216  # of another broker
    queue_bytes_max: Positive = 4_194_304  # what waits for one connection before others are made to wait
    stalled_after_s: PositiveS = 30.0  # then a client that takes nothing is cut off, a link after four times that
    clients_max: Positive = 20_000
    subscriptions_per_client_max: Positive = 100_000
    publishers_max: Positive = 100_000  # whose last sequence number is remembered
    unacknowledged_max: Positive = 20_000  # events of one client that are to be acknowledged and are not settled
    unacknowledged_bytes_max: Positive = 67_108_864
    greeting_within_s: PositiveS = 5.0
    clock_off_max_s: PositiveS = 300.0


class Beacons(_Table, frozen=True):
    """A link is lost when, of the last `of` intervals, `missed` passed without a sign of life (sem02 §5.1)."""

    every_s: PositiveS = 0.5
    missed: Positive = 3
    of: Positive = 5


class SessionSettings(_Table, frozen=True):
    """Of durable clients, and of events that are to be acknowledged. `fsync` is when sessions are written to the disk
    itself (`store/journal.py`)."""

    fsync: Fsync = "always"
    fsync_every_s: PositiveS = 1.0  # where it is `periodic`
    sessions_max: Positive = 10_000
    events_max: Positive = 100_000  # of one session; beyond, its oldest go
    bytes_max: Positive = 268_435_456
    expires_after_s: PositiveS = 604_800.0  # a session that nobody has used for so long is dropped
    returns_within_s: PositiveS = 10.0  # how long acknowledged events wait for a neighbour that was lost


class BrokerSettings(_Table, frozen=True):
    """One broker. `when_slow` is what happens when a client does not take its events fast enough: all wait for it, or
    it loses some and is told how many."""

    name: BrokerName
    listen: str = "127.0.0.1:4270"
    udp: bool = False  # take links over UDP, too, at the same port
    link: tuple[LinkSetting, ...] = ()
    when_slow: Literal["slow", "lose"] = "slow"
    metrics: str = ""  # where Prometheus asks; empty: nowhere
    state: str = ""  # a folder of its own, where it remembers links and sessions; empty: it remembers nothing
    limits: Limits = Limits()
    beacons: Beacons = Beacons()
    sessions: SessionSettings = SessionSettings()
    core: BrokerConfig = BrokerConfig(batch=True)

    @property
    def link_address(self) -> str:
        """Where other brokers open links."""
        return f"{UDP}{self.listen}" if self.udp else self.listen


class Topology(_Table, frozen=True):
    """An overlay on this machine: a process for each broker, listening on ports of their own from `port` on."""

    links: tuple[str, ...]
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=1, le=PORT_MAX)] = 4270
    transport: Literal["tcp", "udp"] = "tcp"
    when_slow: Literal["slow", "lose"] = "slow"
    reconfiguration: Reconfiguration = "deferred"
    state: str = ""  # a folder with one of each broker's own in it; empty: what they remember goes when they stop
    limits: Limits = Limits()
    beacons: Beacons = Beacons()
    sessions: SessionSettings = SessionSettings()
    core: BrokerConfig = BrokerConfig(batch=True)

    def brokers(self) -> list[str]:
        return list(adjacency_of([split_link(link, "links") for link in self.links], "links"))

    def addresses(self) -> dict[str, str]:
        return {name: f"{self.host}:{self.port + number}" for number, name in enumerate(self.brokers())}

    def settings(self) -> list[BrokerSettings]:
        """Of each broker; of a link, the end that is named first opens it."""
        addresses = self.addresses()
        udp = self.transport == "udp"
        links: dict[str, list[LinkSetting]] = {name: [] for name in addresses}
        for text in self.links:
            one, other = split_link(text, "links")
            links[one].append(LinkSetting(other, f"{UDP if udp else ''}{addresses[other]}"))
        core = msgspec.structs.replace(self.core, reconfiguration=self.reconfiguration)
        return [
            BrokerSettings(
                name=name,
                listen=address,
                udp=udp,
                link=tuple(links[name]),
                when_slow=self.when_slow,
                state=str(Path(self.state) / name) if self.state else "",
                limits=self.limits,
                beacons=self.beacons,
                sessions=self.sessions,
                core=core,
            )
            for name, address in addresses.items()
        ]


def on_free_ports(settings: list[BrokerSettings]) -> list[BrokerSettings]:
    """The same brokers on loopback, at ports that nobody has at this moment."""
    sockets = [socket.socket() for _ in settings]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
    address = {each.name: f"127.0.0.1:{port}" for each, port in zip(settings, ports, strict=True)}
    return [
        msgspec.structs.replace(
            each,
            listen=address[each.name],
            link=tuple(
                LinkSetting(link.to, f"{UDP if link.address.startswith(UDP) else ''}{address[link.to]}")
                for link in each.link
            ),
        )
        for each in settings
    ]


def read_broker(path: Path) -> BrokerSettings:
    text, table = _read(path)
    settings: BrokerSettings = _converted(path, text, table, BrokerSettings)
    _check(path, text, "listen", settings.listen)
    if settings.metrics:
        _check(path, text, "metrics", settings.metrics)
    for number, link in enumerate(settings.link):
        _check(path, text, f"link[{number}].address", link.address.removeprefix(UDP))
        if link.to == settings.name:
            raise _mistake(path, text, f"link[{number}].to", "a broker cannot be linked to itself")
        if link.to in [other.to for other in settings.link[:number]]:
            raise _mistake(path, text, f"link[{number}].to", f"there is a link to {link.to} already")
    _check_beacons(path, text, settings.beacons)
    return settings


def read_topology(path: Path) -> Topology:
    text, table = _read(path)
    topology: Topology = _converted(path, text, table, Topology)
    try:
        brokers = topology.brokers()
    except ScenarioError as error:
        raise _mistake(path, text, "links", error.reason) from None
    for name in brokers:
        try:
            msgspec.convert(name, BrokerName)
        except msgspec.ValidationError:
            raise _mistake(path, text, "links", f"{name!r} is no name for a broker") from None
    if topology.port + len(brokers) - 1 > PORT_MAX:
        raise _mistake(path, text, "port", f"{len(brokers)} ports from {topology.port} on go beyond {PORT_MAX}")
    _check_beacons(path, text, topology.beacons)
    return topology


def write_settings(settings: BrokerSettings) -> str:
    """As TOML, such that `read_broker` gives the same again."""
    lines: list[str] = []
    tables: list[str] = []
    for key, value in msgspec.to_builtins(settings).items():
        if isinstance(value, dict):
            tables += ["", f"[{key}]", *(f"{name} = {_literal(each)}" for name, each in value.items())]
        elif key == "link":
            for link in value:
                tables += ["", "[[link]]", *(f"{name} = {_literal(each)}" for name, each in link.items())]
        else:
            lines.append(f"{key} = {_literal(value)}")
    return "\n".join([*lines, *tables, ""])


def split_address(text: str) -> tuple[str, int]:
    """The host and the port of `host:port`."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= PORT_MAX:
        raise UsageError(f"{text!r} is no address; write host:port, as in 127.0.0.1:4270")
    return host.removeprefix("[").removesuffix("]"), int(port)


def split_link_address(text: str) -> tuple[bool, str, int]:
    """Whether a link there is over UDP, the host and the port."""
    return (text.startswith(UDP), *split_address(text.removeprefix(UDP)))


def _literal(value: object) -> str:
    return msgspec.json.encode(value).decode()  # what TOML and JSON write alike: strings, numbers, true and false


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise RegraftError(f"{path}: {reason}") from error
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None


def _converted(path: Path, text: str, table: dict[str, Any], kind: Any) -> Any:
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        key = place.rstrip("`").removeprefix(".")
        unknown = re.search(r"contains unknown field `(.*)`", reason)
        if unknown:
            key, reason = f"{key}.{unknown[1]}".removeprefix("."), "there is no such key"
        raise _mistake(path, text, key, reason) from None


def _check(path: Path, text: str, key: str, address: str) -> None:
    try:
        split_address(address)
    except UsageError as error:
        raise _mistake(path, text, key, str(error)) from None


def _check_beacons(path: Path, text: str, beacons: Beacons) -> None:
    if beacons.missed > beacons.of:
        raise _mistake(path, text, "beacons.missed", f"{beacons.missed} of {beacons.of} intervals cannot be missed")


def _mistake(path: Path, text: str, key: str, reason: str) -> UsageError:
    return UsageError(f"{path}, line {line_of(text, key)}, key {key or '(top level)'}: {reason}")


def line_of(text: str, key: str) -> int:
    """The line that sets `key`, such as `limits.clients_max` or `link[1].to`; else that of what holds it."""
    *tables, name = key.split(".")
    name, _, index = name.partition("[")
    wanted = ".".join(tables)
    if index and f"[[{name}]]" in text:
        wanted, name = ".".join([*tables, f"{name}[{index}"]), ""
    counts: dict[str, int] = {}
    table, found = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?", line)
        if header:
            table = header[2]
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{counts[table]}]"
            if table in (wanted, key):
                found = number
            continue
        sets = (wanted, name) if table == wanted else ("", key)
        if table == sets[0] and sets[1] and re.match(rf"\s*[\"']?{re.escape(sets[1])}[\"']?\s*=", line):
            return number
    return found

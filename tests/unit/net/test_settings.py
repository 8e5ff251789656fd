"""Configuration: what is written is read again, and a mistake is refused with file, line and key."""

from pathlib import Path

import msgspec
import pytest

from regraft.errors import RegraftError, UsageError
from regraft.net.settings import (
    BrokerSettings,
    LinkSetting,
    Topology,
    read_broker,
    read_topology,
    split_address,
    write_settings,
)

BROKER = """\
name = "a"
listen = "127.0.0.1:4270"

[[link]]
to = "b"
address = "127.0.0.1:4271"

[[link]]
to = "c"
address = "127.0.0.1:4272"

[limits]
clients_max = 10
"""


def test_a_broker_is_read_as_it_is_written(tmp_path: Path) -> None:
    settings = BrokerSettings("a", udp=True, link=(LinkSetting("b", "udp://127.0.0.1:1"),), when_slow="lose")
    file = tmp_path / "a.toml"
    file.write_text(write_settings(settings))
    assert read_broker(file) == settings


@pytest.mark.parametrize(
    ("before", "after", "line", "key", "reason"),
    [
        ('name = "a"', 'name = "a-b"', 1, "name", "regex"),
        ('name = "a"', "name = 7", 1, "name", "Expected `str`, got `int`"),
        ('listen = "127.0.0.1:4270"', 'listen = "nowhere"', 2, "listen", "is no address"),
        ('listen = "127.0.0.1:4270"', 'listne = "127.0.0.1:4270"', 2, "listne", "there is no such key"),
        ('to = "b"', 'to = "a"', 5, "link[0].to", "linked to itself"),
        ('to = "c"', 'to = "b"', 9, "link[1].to", "there is a link to b already"),
        ('address = "127.0.0.1:4272"', 'address = "127.0.0.1:99999"', 10, "link[1].address", "is no address"),
        ('address = "127.0.0.1:4272"', 'adress = "x"', 10, "link[1].adress", "no such key"),
        ("clients_max = 10", "clients_max = 0", 13, "limits.clients_max", "Expected `int` >= 1"),
        ("[limits]\nclients_max = 10", "[beacons]\nmissed = 9", 13, "beacons.missed", "cannot be missed"),
        ("[limits]\nclients_max = 10", "[limit]\nclients_max = 10", 12, "limit", "no such key"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    tmp_path: Path, before: str, after: str, line: int, key: str, reason: str
) -> None:
    assert before in BROKER
    file = tmp_path / "a.toml"
    file.write_text(BROKER.replace(before, after, 1))
    with pytest.raises(UsageError) as caught:
        read_broker(file)
    assert str(caught.value).startswith(f"{file}, line {line}, key {key}: ")
    assert reason in str(caught.value)


def test_what_is_no_toml_and_what_is_no_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    with pytest.raises(RegraftError, match="No such file"):
        read_broker(file)
    file.write_text("name = \n")
    with pytest.raises(UsageError, match="line 1"):
        read_broker(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(RegraftError, match="not UTF-8"):
        read_broker(file)


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        ('["a-b", "b-c", "c-a"]', "closes a loop"),
        ('["a-b", "c-d"]', "is not connected"),
        ("[]", "no links"),
        ('["ab"]', "is no link"),
        ('["a-b!"]', "no name for a broker"),
    ],
)
def test_an_overlay_that_is_no_tree_is_refused(tmp_path: Path, links: str, reason: str) -> None:
    file = tmp_path / "overlay.toml"
    file.write_text(f"port = 5000\nlinks = {links}\n")
    with pytest.raises(UsageError, match=reason) as caught:
        read_topology(file)
    assert str(caught.value).startswith(f"{file}, line 2, key links: ")


def test_each_link_of_an_overlay_is_opened_by_the_end_named_first() -> None:
    settings = msgspec.convert({"links": ["b-a", "b-c"], "port": 5000}, Topology).settings()
    assert {each.name: [(link.to, link.address) for link in each.link] for each in settings} == {
        "b": [("a", "127.0.0.1:5001"), ("c", "127.0.0.1:5002")],
        "a": [],
        "c": [],
    }


def test_an_overlay_over_udp_takes_and_opens_its_links_there() -> None:
    settings = msgspec.convert({"links": ["a-b"], "port": 5000, "transport": "udp"}, Topology).settings()
    assert [(each.udp, each.link_address, [link.address for link in each.link]) for each in settings] == [
        (True, "udp://127.0.0.1:5000", ["udp://127.0.0.1:5001"]),
        (True, "udp://127.0.0.1:5001", []),
    ]


@pytest.mark.parametrize("text", ["", "host", ":1", "host:", "host:0", "host:65536", "host:x", "host:²"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no address"):
        split_address(text)


def test_an_address_is_a_host_and_a_port() -> None:
    assert split_address("localhost:4270") == ("localhost", 4270)
    assert split_address("[::1]:4270") == ("::1", 4270)

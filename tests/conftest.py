"""What all tests share.

Tests marked `jvm` run on one worker, one after the other (`--dist loadgroup`): a second Java virtual machine would cost
more start-up time and memory than two cores can win back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the golden scripts' stories anew")
    parser.addoption("--fuzz", type=int, default=5_000, help="how many inputs the decoder of the wire format gets")
    parser.addoption("--kills", type=int, default=2, help="how many brokers are killed under acknowledged load")


# An example that takes long on a busy machine is no mistake.
settings.register_profile("regraft", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)
settings.load_profile("regraft")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("jvm"):
            item.add_marker(pytest.mark.xdist_group("jvm"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The pipeline's own session (loopback, no UI), once for all tests: its start takes longer than most of them."""
    from regraft.pipeline.session import spark_session  # here, so that tests without Spark do not wait for its import

    with spark_session("local[2]", name="regraft-tests") as session:
        # Tables in tests have few rows; a task for each of the 200 partitions that Spark would make costs more.
        session.conf.set("spark.sql.shuffle.partitions", "2")
        yield session

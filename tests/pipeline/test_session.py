"""A session is had in bounded time, or the user is told what is missing."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.cluster import standalone_cluster
from regraft.errors import UsageError
from regraft.pipeline import spark_session

WITHOUT_A_SESSION = """
import sys
from regraft.errors import RegraftError
from regraft.pipeline import session
session.EXECUTOR_WAIT_S = 2.0
for master in sys.argv[1:]:
    try:
        with session.spark_session(master):
            print("a session")
    except RegraftError as error:
        print(type(error).__name__, error)
"""


def in_a_process_of_its_own(*masters: str) -> str:
    command = [sys.executable, "-c", WITHOUT_A_SESSION, *masters]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


def test_a_master_that_does_not_answer_is_named_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = taken.getsockname()[1]
        begin_s = time.monotonic()
        said = in_a_process_of_its_own(f"spark://127.0.0.1:{port}")
        assert f"RegraftError Spark master spark://127.0.0.1:{port} does not answer" in said
        assert time.monotonic() - begin_s < 60


def test_what_is_no_master_is_a_mistake() -> None:
    masters = ["spark://", "sparc://host:7077", "spark://host", "local[some]", "localhost:7077"]
    said = in_a_process_of_its_own(*masters).splitlines()
    assert len(said) == len(masters)
    for master, line in zip(masters, said, strict=True):
        assert line.startswith(f"UsageError master {master!r}: ")
        assert "expected local[N]" in line


@pytest.mark.jvm
def test_a_master_without_workers_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    with standalone_cluster(tmp_path, workers=0) as url:
        assert f"RegraftError Spark master {url} answers, but gave no executor within 2 s" in in_a_process_of_its_own(
            url
        )


@pytest.mark.jvm
def test_an_active_session_is_used_and_left_running(spark: SparkSession) -> None:
    with spark_session() as again:
        assert again is spark
    assert spark.range(1).count() == 1
    with pytest.raises(UsageError, match=r"a session on 'local\[2\]' is active"), spark_session("local[1]"):
        pytest.fail("there is a session already")

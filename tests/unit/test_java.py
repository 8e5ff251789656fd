"""Which Java Spark gets."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regraft.errors import RegraftError
from regraft.java import java_version, provide_java

# What Spark's launch scripts call, found before a test takes the PATH away.
TOOLS_OF_SPARK = [Path(found) for tool in ("bash", "dirname", "env", "ps") if (found := shutil.which(tool))]


def install(home: Path, version: str) -> Path:
    """A home whose `java` only says its version."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java, with an environment of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return tmp_path


def test_java_home_comes_before_the_path(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = install(bare / "named", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(named))
    monkeypatch.setenv("PATH", str(install(bare / "other", "21.0.1") / "bin"))
    assert provide_java() == named
    assert os.environ["JAVA_HOME"] == str(named)


@pytest.mark.parametrize("too_old", ["1.8.0_292", "11.0.2", "16"])
def test_java_that_is_too_old_is_passed_over(too_old: str, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(bare / "old", too_old)))
    newer = install(bare / "newer", "21.0.1")
    monkeypatch.setenv("PATH", str(newer / "bin"))
    assert provide_java() == newer


def test_a_java_home_without_java_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(bare / "gone"))
    on_path = install(bare / "on_path", "17")
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert provide_java() == on_path


def test_a_link_on_the_path_leads_to_its_home(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = install(bare / "real", "17.0.1")
    (bare / "links").mkdir()
    (bare / "links" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(bare / "links"))
    assert provide_java() == home


def test_an_environment_that_cannot_be_written_is_named(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = bare / "blocked"
    blocked.write_text("a file, where a folder should be")
    monkeypatch.setattr(sys, "prefix", str(blocked))
    with pytest.raises(RegraftError, match=r"no Java 17 or newer found, and .*blocked"):
        provide_java()


@pytest.mark.jvm
def test_the_packaged_java_ignores_the_module_that_it_lacks(bare: Path) -> None:
    java = provide_java() / "bin" / "java"
    assert java.is_relative_to(bare)
    assert java_version(java) == 21
    told = [java, "--add-modules=jdk.incubator.vector", "-Dtwo=a b", "-XshowSettings:properties", "-version"]
    started = subprocess.run(told, capture_output=True, text=True, check=True)
    assert "two = a b" in started.stderr
    assert provide_java() == java.parent.parent, "the second time it is found as it was left"


@pytest.mark.jvm
def test_spark_runs_on_the_packaged_java(bare: Path) -> None:
    program = f"""
import sys
sys.prefix = {str(bare)!r}
from regraft.java import provide_java
provide_java()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
print(spark.range(10).selectExpr("sum(id)").first()[0], spark._jvm.System.getProperty("java.version").split(".")[0])
"""
    no_java = bare / "bin"
    no_java.mkdir()
    for tool in TOOLS_OF_SPARK:
        (no_java / tool.name).symlink_to(tool)
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")}
    environment["PATH"] = str(no_java)
    ran = subprocess.run([sys.executable, "-c", program], env=environment, cwd=bare, capture_output=True, text=True)
    assert ran.stdout.split() == ["45", "21"], ran.stderr

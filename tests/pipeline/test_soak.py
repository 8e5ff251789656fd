"""What a soak makes in Spark is what it makes here."""

import pytest
from pyspark.sql import SparkSession

from regraft.pipeline import soak_round
from regraft.sim.soaking import SoakTask, soak_run

pytestmark = pytest.mark.jvm


def test_a_round_gives_the_results_of_its_runs(spark: SparkSession) -> None:
    tasks = [SoakTask(number, "", 3, 8) for number in range(1, 7)]
    assert soak_round(spark, tasks) == [soak_run(task) for task in tasks]

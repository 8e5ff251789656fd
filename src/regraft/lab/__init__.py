"""The papers' experiments: declared here, run as Spark sweeps, reported beside what the papers say.

`find_experiment(name)` gives a declaration; `run_experiment` fills a directory with its trace, results and report;
`read_run` opens such a directory again, for a report made anew or a document's region (`put_in_document`).
"""

from regraft.lab.catalogue import EXPERIMENTS, find_experiment
from regraft.lab.document import around_region, put_region
from regraft.lab.experiment import Experiment, Settings
from regraft.lab.fit import HEADER as FIT_HEADER
from regraft.lab.fit import Fit, fit_experiment, fit_markdown, is_default, ranking
from regraft.lab.fit import table_rows as fit_rows
from regraft.lab.record import Record, read_record
from regraft.lab.report import provenance, put_in_document, region_of, write_report
from regraft.lab.results import Result, read_results
from regraft.lab.running import run_experiment

__all__ = [
    "EXPERIMENTS",
    "FIT_HEADER",
    "Experiment",
    "Fit",
    "Record",
    "Result",
    "Settings",
    "around_region",
    "find_experiment",
    "fit_experiment",
    "fit_markdown",
    "fit_rows",
    "is_default",
    "provenance",
    "put_in_document",
    "put_region",
    "ranking",
    "read_record",
    "read_results",
    "region_of",
    "run_experiment",
    "write_report",
]

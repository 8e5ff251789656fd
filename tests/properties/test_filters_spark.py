"""The same text given to Spark selects the same rows.

Hypothesis draws filters and rows one by one; Spark is asked about all of them at once, because a Spark job costs more
than a thousand answers. Hence nothing is made smaller when a test fails: the message gives the filter and the row.
"""

import re
from collections.abc import Callable
from functools import reduce
from typing import TypeVar

import pytest
import sqlglot
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from regraft.errors import FilterError
from regraft.model.events import Value
from regraft.model.filters import Filter
from regraft.model.filters.lexing import RESERVED
from strategies import BOOLEANS, FLOATS, INTEGERS, STRINGS, attributes_of, conditions

pytestmark = pytest.mark.jvm

COLUMNS = (
    *((name, "STRING") for name in STRINGS),
    *((name, "BIGINT") for name in INTEGERS),
    *((name, "DOUBLE") for name in FLOATS),
    *((name, "BOOLEAN") for name in BOOLEANS),
)
SCHEMA = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in COLUMNS)

# Spark makes one function of the filters that it is asked at once; beyond this it gives up compiling it.
FILTERS_AT_ONCE = 40

T = TypeVar("T")
Rows = list[dict[str, Value]]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session in which `price` and `Price` are two columns, as they are two attributes."""
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")
    return session


@pytest.fixture(scope="module")
def rows() -> Rows:
    return drawn(attributes_of(), 300)


@pytest.fixture(scope="module")
def table(session: SparkSession, rows: Rows) -> DataFrame:
    return table_of(session, rows)


def table_of(session: SparkSession, rows: Rows) -> DataFrame:
    values = [(number, *(row.get(name) for name, _ in COLUMNS)) for number, row in enumerate(rows)]
    return session.createDataFrame(values, f"row INT, {SCHEMA}").cache()


def drawn(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """So many examples, the same ones each time."""
    examples: list[T] = []

    @settings(max_examples=count, derandomize=True, database=None, phases=[Phase.generate], deadline=None)
    @given(strategy)
    def collect(example: T) -> None:
        examples.append(example)

    collect()
    return examples


def selected_by_spark(table: DataFrame, texts: list[str]) -> dict[str, list[int]]:
    """The numbers of the rows for which each text is true."""
    out: dict[str, list[int]] = {text: [] for text in texts}
    distinct = list(out)
    for start in range(0, len(distinct), FILTERS_AT_ONCE):
        batch = distinct[start : start + FILTERS_AT_ONCE]
        answers = table.select("row", *(F.expr(text).alias(f"f{place}") for place, text in enumerate(batch))).collect()
        for answer in sorted(answers):
            for text, worth in zip(batch, answer[1:], strict=True):
                if worth:
                    out[text].append(answer[0])
    return out


def disagreements(table: DataFrame, rows: Rows, subjects: dict[str, Filter]) -> list[str]:
    """Where Spark answers a text otherwise than the filter does."""
    by_spark = selected_by_spark(table, list(subjects))
    return [
        f"{text!r} is {subject.matches(row)} for {row}, not so in Spark"
        for text, subject in subjects.items()
        for number, row in enumerate(rows)
        if subject.matches(row) != (number in by_spark[text])
    ]


def test_spark_selects_the_same_rows_by_the_text_as_it_was_given(table: DataFrame, rows: Rows) -> None:
    texts = [condition.text for condition in drawn(conditions(), 300)]
    subjects = {text: Filter.parse(text) for text in texts}
    assert disagreements(table, rows, subjects) == []
    # Not because everything or nothing is selected.
    shares = [sum(map(subject.matches, rows)) / len(rows) for subject in subjects.values()]
    assert sum(0.02 < share < 0.98 for share in shares) > len(shares) / 4


def test_spark_selects_the_same_rows_by_the_canonical_text(table: DataFrame, rows: Rows) -> None:
    subjects = [Filter.parse(condition.text) for condition in drawn(conditions(), 300)]
    assert disagreements(table, rows, {subject.text: subject for subject in subjects}) == []


def test_spark_selects_the_same_rows_in_a_where(table: DataFrame, rows: Rows) -> None:
    """A condition in WHERE takes another way through Spark's optimizer than one in SELECT."""
    subjects = [Filter.parse(condition.text) for condition in drawn(conditions(), 30)]
    selected = reduce(
        DataFrame.unionAll,
        (
            table.where(subject.text).select(F.lit(number).alias("filter"), "row")
            for number, subject in enumerate(subjects)
        ),
    )
    ours = [(number, row) for number, s in enumerate(subjects) for row, event in enumerate(rows) if s.matches(event)]
    assert sorted((answer["filter"], answer["row"]) for answer in selected.collect()) == ours


PARTS = [
    part.split()
    for part in (
        "i = 5",
        "5 >= i",
        "- 1 < d",
        "d BETWEEN - 1 AND 2.5",
        "i NOT BETWEEN 0 AND 1e0",
        "i IN ( 1 , - 1 )",
        "s NOT IN ( 'a' , NULL )",
        "s LIKE 'a/%' ESCAPE '/'",
        "s NOT LIKE 'a%'",
        "s IS NOT NULL",
        "NOT b",
        "b = TRUE",
        "( b OR d < 0 )",
        "NULL",
    )
]
WORDS = sorted({word for part in PARTS for word in part} | {"AND", "IS", "<>", "text", "`i`", "'a''b'", ";", "."})


@st.composite
def garbled(draw: st.DrawFn) -> str:
    """A condition in which a few words were lost, put in or exchanged."""
    words = draw(st.sampled_from(PARTS)).copy()
    for part in draw(st.lists(st.sampled_from(PARTS), max_size=2)):
        words += [draw(st.sampled_from(["AND", "OR", "AND NOT"])), *part]
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(words)))
        words[start : start + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(WORDS), max_size=1))
    return " ".join(words)


def test_whatever_is_accepted_means_the_same_to_spark(table: DataFrame, rows: Rows) -> None:
    """What Spark groups in another way, or does not take at all, must not get past the parser."""
    accepted = {text: Filter.parse(text) for text in drawn(garbled(), 2000) if fits_the_columns(text)}
    assert len(accepted) > 200
    assert disagreements(table, rows, accepted) == []


def fits_the_columns(text: str) -> bool:
    """Whether a text is accepted, and gives no attribute another type than its column has."""
    try:
        Filter.parse(text)
        Filter.parse(f"({text}) OR i = 0 OR d = 0 OR s = '' OR text = '' OR b")
    except FilterError:
        return False
    return True


PLACES_OF_A_NAME = "{0} AND NOT NOT {0} AND TRUE = {0} AND {0} IS NOT NULL AND ({0} IN (TRUE) OR {0} IS NULL OR {0})"


def test_a_word_that_may_stand_bare_is_a_name_to_spark(session: SparkSession) -> None:
    """Keywords of both parsers as attributes, in every place of a condition where an attribute can stand."""
    keywords = [row[0] for row in session.sql("SELECT keyword FROM sql_keywords()").collect()]
    tokenizer = sqlglot.Dialect.get_or_raise("spark").tokenizer_class
    words = sorted({word.lower() for word in [*keywords, *tokenizer.KEYWORDS] if re.fullmatch(r"[A-Za-z_]\w*", word)})
    assert len(words) > 400
    table = session.createDataFrame([tuple(True for _ in words)], ", ".join(f"`{word}` BOOLEAN" for word in words))
    texts = []
    for word in words:
        text = PLACES_OF_A_NAME.format(f"`{word}`" if word.upper() in RESERVED else word)
        subject = Filter.parse(text)
        assert subject.matches({word: True})
        texts += [text, subject.text]
    answers = table.select(*(F.expr(text) for text in texts)).first()
    assert answers is not None
    assert [text for text, worth in zip(texts, answers, strict=True) if not worth] == []


def test_spark_too_takes_exactly_the_patterns_that_are_taken_here(session: SparkSession) -> None:
    table = session.createDataFrame([("a",)], "s STRING")
    pieces = st.lists(st.sampled_from(["\\\\", "%", "_", "a", "/", "\\'"]), max_size=4).map("".join)
    for pattern, escape in sorted(set(drawn(st.tuples(pieces, st.sampled_from(["\\\\", "/", "%", "a"])), 60))):
        text = f"s LIKE '{pattern}' ESCAPE '{escape}'"
        assert taken(lambda text=text: Filter.parse(text).matches({"s": "a"})) == taken(
            lambda text=text: table.where(text).count() > 0
        ), text


def taken(ask: Callable[[], bool]) -> bool | None:
    try:
        return ask()
    except (FilterError, PySparkException):
        return None

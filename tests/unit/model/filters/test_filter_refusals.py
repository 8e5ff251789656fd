"""What is no filter is refused in one sentence that says where and why."""

import pytest

from regraft.errors import FilterError
from regraft.model.filters import Filter, Limits


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "the filter is empty"),
        ("   ", 0, "the filter is empty"),
        ("a >", 2, "lacks something beside it"),
        ("a = 1 AND", 6, "lacks something beside it"),
        ("(a = 1", 5, "a closing parenthesis is missing"),
        ("a = 1)", 5, "out of place"),
        ("a = 1 b", 6, "out of place"),
        ("a BETWEEN 1 2", 2, "lacks its AND"),
        ("a IN ()", 0, "IN needs a list"),
        ("a IN (1,)", 7, "out of place"),
        ("a IN (, 1)", 6, "out of place"),
        ("a IN 5", 0, "IN needs a list"),
        ("a = 'x", 4, "has no end"),
        ("a = `b", 4, "has no end"),
        ("\na = 1 AND\n b = r'x\ny", 16, "has no end"),
        ("`` = 1", 0, "must not be empty"),
        ("a = 1; b = 2", 5, "one condition, not several statements"),
        ("a = 1 -- why", 6, "no comments"),
        ("a = /* why */ 1", 4, "no comments"),
        ("a\x0c= 1", 1, "is not part of the filter language"),
        ("a\u3000= 1", 1, "not part of the filter language"),
        ("upper(a) = 'X'", 0, "looks like a function"),
        ("a = 1 AND CAST(b AS INT) = 2", 10, "looks like a function"),
        ("a::int = 5", 1, "a cast"),
        ("a + 1 = 2", 2, "arithmetic"),
        ("a - 1 = 2", 0, "arithmetic"),
        ("a = - - 5", 4, "arithmetic"),
        ("-a = 5", 0, "arithmetic"),
        ("a = b", 4, "not with another attribute"),
        ("a IN (1, b)", 9, "not another attribute"),
        ("a BETWEEN 1 AND b", 16, "not another attribute"),
        ("5 BETWEEN a AND 7", 0, "BETWEEN tests an attribute"),
        ("5 IN (a)", 0, "IN tests an attribute"),
        ("1 = 1", 0, "these are two literals"),
        ("NULL IS NULL", 0, "IS NULL tests an attribute"),
        ("a IN (SELECT 1)", 6, "word of SQL"),
        ("a.b = 1", 1, "a name with a dot stands in backquotes"),
        ("a = 5abc", 4, "neither a number nor a name"),
        ("größe = 5", 0, "for an attribute write `größe`"),
        ("call = 5", 0, "for an attribute write `call`"),
        ("a = 'x' 'y'", 8, "two strings stand in a row"),
        ("a == 1", 2, "write ="),
        ("!a", 0, "write NOT"),
        ("a <=> 1", 2, "not part of the filter language"),
        ("a RLIKE 'x'", 2, "out of place"),
        ("a IS TRUE", 0, "IS tests for NULL"),
        ("(a = 5) IS NULL", 1, "only an attribute and a literal"),
        ("(a, b) IN (1)", 1, "only an attribute and a literal"),
        ("a < b < c", 0, "only an attribute and a literal"),
        ("5", 0, "a literal is no condition"),
        ("a LIKE 5", 7, "LIKE takes a string"),
        ("a LIKE b", 7, "not another attribute"),
        (r"a LIKE 'x\\'", 7, "must not end with its escape character"),
        (r"a LIKE '\\x'", 7, "must stand before %, _ or itself"),
        ("a LIKE 'x' ESCAPE '//'", 18, "a single character"),
        ("a = 9223372036854775808L", 4, "is not an int64"),
        ("a = 1e999", 4, "too large for a double"),
        ("a = 0.1234567890123456789", 4, "too many digits"),
        ("a = 0x1F", 4, "neither a number nor a name"),
        (r"a = '\uD83D'", 4, "surrogate"),
        (r"a = '\U00110000'", 4, "no Unicode character"),
        ("a = 1 OR a = 'x'", 13, "mixed types: 'a' is used as a string here and as a number before"),
        ("a AND a > 1", 10, "mixed types"),
        ("a = TRUE AND a IN (1, 2)", 19, "mixed types"),
        ("a = 1 AND FALSE AND a LIKE 'x'", 20, "mixed types"),
    ],
)
def test_it_is_refused_where_it_goes_wrong(text: str, position: int, reason: str) -> None:
    with pytest.raises(FilterError) as refusal:
        Filter.parse(text)
    assert reason in refusal.value.reason
    assert refusal.value.position == position
    assert refusal.value.text == text
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = '" + "x" * 70_000 + "'", "at most 65536 characters"),
        ("a <> '" + "\x01" * 10_000 + "'", "canonical text has more than 65536 characters"),
        ("(" * 21 + "a" + ")" * 21, "nested more than 20 deep"),
        ("NOT " * 5_000 + "a", "nested more than 20 deep"),
        ("a = " + "- " * 5_000 + "5", "a minus stands before a number"),
        ("a IN (" + ", ".join(map(str, range(2_000))) + ")", "at most 1024 terms"),
        (" OR ".join(f"a{i} = 1" for i in range(65)), "more than 64 conjunctions"),
        (" AND ".join(f"(a{i} = 1 OR b{i} = 2)" for i in range(7)), "more than 64 conjunctions"),
        (" AND ".join(f"a LIKE '%{i}%{i}%'" for i in range(500)), "too much work"),
        (" OR ".join(f"a{i} = 1" for i in range(1_000)), "too much work"),
        ("a LIKE '" + "_a" * 200 + "'", "at most 256 characters"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_too_large_is_refused(text: str, reason: str) -> None:
    with pytest.raises(FilterError) as refusal:
        Filter.parse(text)
    assert reason in refusal.value.reason


def test_limits_are_the_callers_to_set() -> None:
    text = " OR ".join(f"a{i} = 1" for i in range(65))
    assert len(Filter.parse(text, Limits(conjunctions=65)).conjunctions) == 65
    with pytest.raises(FilterError, match="at most 2 terms"):
        Filter.parse("a = 1 AND b = 2 AND c = 3", Limits(terms=2))


def test_what_stays_small_in_the_end_is_not_refused_for_its_length() -> None:
    assert len(Filter.parse(" OR ".join(f"a = {2 * i}" for i in range(1_000))).conjunctions) == 1
    assert len(Filter.parse(" AND ".join(f"a <> {2 * i}" for i in range(500))).conjunctions) == 1
    assert len(Filter.parse(" AND ".join(f"a{i} = 1" for i in range(300))).conjunctions) == 1
    assert Filter.parse("(" * 20 + "a" + ")" * 20).text == "a"


def test_a_long_filter_is_quoted_where_it_is_wrong() -> None:
    text = " OR ".join(["a = 1"] * 100) + " OR b >" + " OR a = 1" * 100
    with pytest.raises(FilterError) as refused:
        Filter.parse(text)
    assert len(str(refused.value)) < 300
    assert "OR b > OR" in str(refused.value)
    assert text[refused.value.position :].startswith("OR a = 1")

"""What the language says, one claim at a time; that Spark agrees is shown in tests/properties."""

import math

import pytest

from regraft.model.filters import Filter, covers


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("symbol='IBM'and price>100", "price > 100 AND symbol = 'IBM'"),
        ("5 < a", "a > 5"),
        ("a != 5 or a != 5", "a <> 5"),
        ("NOT (a > 5 OR b)", "NOT b AND a <= 5"),
        ("a BETWEEN 1 AND 2", "a <= 2 AND a >= 1"),
        ("a NOT BETWEEN 1 AND 2", "a < 1 OR a > 2"),
        ("a IN (3, 1, 2, 1)", "a IN (1, 2, 3)"),
        ("a IN (3)", "a = 3"),
        ("a IN (1, 2.50, 3e0)", "a IN (1.0D, 2.5D, 3.0D)"),
        ("a NOT IN (1, NULL)", "FALSE"),
        ("a IN (1, NULL)", "a = 1"),
        ("a = NULL OR NOT (a = NULL)", "FALSE"),
        ("b = TRUE", "b"),
        ("b < TRUE", "NOT b"),
        ("b > TRUE", "FALSE"),
        ("b IN (TRUE, FALSE)", "b IN (FALSE, TRUE)"),
        ("TRUE AND (b OR FALSE)", "b"),
        ("a = 007.500", "a = 7.5"),
        ("a = 5BD AND c = -5L", "a = 5 AND c = -5"),
        ("a = -0.0D", "a = 0.0D"),
        ("a = 1.5e300", "a = 1.5e300"),
        ("s LIKE 'abc'", "s = 'abc'"),
        ("s LIKE 'a%%_%'", "s LIKE 'a_%'"),
        ("s LIKE '50/%%' ESCAPE '/'", r"s LIKE '50\\%%'"),
        ("s = 'it''s' AND t = \"it's\"", r"s = 'it\'s' AND t = 'it\'s'"),
        (r"s = r'\n' AND t = '\n'", r"s = '\\n' AND t = '\n'"),
        (r"s = '\0'", r"s = '\U00000000'"),
        ("`a b` = 1 AND `c` = 1", "`a b` = 1 AND c = 1"),
        ("`select` = 1 AND date = 1", "`select` = 1 AND date = 1"),
        ("a = 1 AND (b OR (c AND d))", "a = 1 AND (b OR c AND d)"),
    ],
)
def test_there_is_one_text_for_what_is_said_in_several_ways(text: str, canonical: str) -> None:
    assert Filter.parse(text).text == canonical


def matches(text: str, **attributes: str | float | bool) -> bool:
    return Filter.parse(text).matches(attributes)


def test_a_missing_attribute_satisfies_neither_a_test_nor_its_negation() -> None:
    for test in ("a = 1", "a IN (1, 2)", "s LIKE 'x%'", "b", "a BETWEEN 0 AND 9"):
        assert not matches(test)
        assert not matches(f"NOT ({test})")
    assert matches("a IS NULL")
    assert matches("a = 1 OR a IS NULL")


def test_a_value_of_another_type_counts_as_missing() -> None:
    assert not matches("a > 5", a="6")
    assert not matches("NOT (a > 5)", a="6")
    assert matches("a > 5 OR a IS NULL", a="6")
    assert not matches("a > 5 AND a IS NOT NULL", a="6")
    assert not matches("a = 1", a=True)
    assert not matches("b", b=1)
    assert not matches("s = '1'", s=1)


def test_an_attribute_that_is_only_tested_for_null_may_be_of_any_type() -> None:
    for value in ("", 0, 0.0, False, math.nan):
        assert matches("a IS NOT NULL", a=value)
        assert not matches("a IS NULL", a=value)


def test_names_differ_by_case() -> None:
    assert matches("Price = 1 AND price = 2", Price=1, price=2)
    assert not matches("Price = 1", price=1)


def test_keywords_do_not() -> None:
    assert Filter.parse("a bEtWeEn 1 aNd 2 oR b iS nOt nUlL") == Filter.parse("a BETWEEN 1 AND 2 OR b IS NOT NULL")


def test_an_integer_is_compared_exactly_with_an_exact_literal_and_as_a_double_with_a_double() -> None:
    odd = 2**53 + 1
    assert not matches(f"a = {2**53}", a=odd)
    assert matches(f"a = {2**53}D", a=odd)
    assert matches(f"a IN ({2**53}, 1.5D)", a=odd), "one double makes doubles of all in the list"
    assert not matches(f"a IN ({2**53}, 1.5)", a=odd)
    assert matches(f"a = {odd}", a=float(2**53)), "a float is a double on both sides"
    assert matches("a < 9223372036854775808 AND a > 9223372036854775806.5", a=2**63 - 1)


def test_nan_is_equal_to_itself_and_greater_than_any_number() -> None:
    assert matches("a > 1e308 AND a <> 5 AND NOT (a <= 5)", a=math.nan)
    assert not matches("a < 5 OR a = 5 OR a <= 1e308", a=math.nan)


def test_zero_has_no_sign() -> None:
    assert matches("a = 0 AND a >= -0.0D AND a IN (0, 1)", a=-0.0)
    assert not matches("a < 0 OR a > 0", a=-0.0)


def test_strings_are_ordered_by_code_point() -> None:
    assert matches("s > 'Z' AND s < 'a\0'", s="a")
    assert matches("s > '\uffff'", s="\U00010000"), "and not by UTF-16 unit"
    assert matches("s LIKE '\U0010ffff%'", s="\U0010ffff\U0010ffff")


def test_an_underscore_is_one_code_point() -> None:
    assert matches("s LIKE '_'", s="😀")
    assert matches("s LIKE '__'", s="e\u0301")
    assert not matches("s LIKE '_'", s="")
    assert matches("s LIKE 'a%z'", s="a\n\0z"), "a line's end is a character like any other"


def test_a_filter_that_nothing_satisfies_is_a_filter() -> None:
    for text in ("a > 5 AND a < 3", "a IS NULL AND a = 1", "s LIKE 'a%' AND s LIKE 'b%'", "FALSE", "NULL"):
        assert Filter.parse(text).conjunctions == ()
        assert not matches(text, a=4, s="a")


def test_a_long_text_does_not_make_a_pattern_backtrack() -> None:
    assert not matches("s LIKE '" + "%a" * 100 + "%b'", s="a" * 100_000)
    assert not matches("s LIKE '" + "%a_" * 80 + "%b'", s="a" * 10_000)


def test_the_normal_form_can_be_read() -> None:
    subject = Filter.parse("symbol = 'IBM' AND price > 100 AND (venue IN ('N', 'Q') OR note NOT LIKE '%x%')")
    assert subject.explain() == (
        "1. all of\n"
        "   note: any string NOT LIKE '%x%'\n"
        "   price: int 101..9223372036854775807 | float 100.00000000000001..inf | NaN\n"
        "   symbol: string 'IBM'\n"
        "2. all of\n"
        "   price: int 101..9223372036854775807 | float 100.00000000000001..inf | NaN\n"
        "   symbol: string 'IBM'\n"
        "   venue: string 'N' | string 'Q'"
    )
    assert Filter.parse("TRUE").explain() == "everything"
    assert Filter.parse("FALSE").explain() == "nothing"
    assert Filter.parse("a IS NULL OR b").explain() == "1. all of\n   a: missing\n2. all of\n   b: true"


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("a > 5", "a > 6"),
        ("a > 5.5", "a >= 6 AND a IS NOT NULL"),
        ("a IS NOT NULL", "a = 'x'"),
        ("TRUE", "a = 1"),
        ("a = 1", "FALSE"),
        ("s LIKE 'a%'", "s LIKE 'ab%'"),
        ("s LIKE 'a%'", "s = 'abc'"),
        ("s LIKE '%b%'", "s LIKE '%abc%'"),
        ("s LIKE '%b%'", "s LIKE 'a%' AND s LIKE '%b%'"),
        ("s LIKE '%b%'", "s IN ('abc', 'b')"),
        ("s LIKE '_%'", "s LIKE 'a%'"),
        ("s NOT LIKE '%abc%'", "s NOT LIKE '%b%'"),
        ("a < 5 OR a >= 5", "a IS NOT NULL AND a = 7"),
        ("a < 5 OR b", "a BETWEEN 0 AND 9 AND b OR a BETWEEN 0 AND 4"),
        ("a < 5 AND b OR a >= 5 AND NOT b OR b", "a > 7 AND b IN (TRUE, FALSE)"),
    ],
)
def test_it_covers(f: str, g: str) -> None:
    assert covers(Filter.parse(f), Filter.parse(g))


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("a > 6", "a > 5"),
        ("a > 5", "a > 5 OR b"),
        ("a > 5", "TRUE"),
        ("a IS NULL", "b IS NULL"),
        ("s LIKE '%abc%'", "s LIKE '%b%'"),
        ("s LIKE 'ab%'", "s LIKE 'a%'"),
        ("s NOT LIKE '%b%'", "s NOT LIKE '%abc%'"),
        ("s LIKE '%b%'", "s IN ('abc', 'c')"),
        (f"a = {2**53}", f"a = {2**53}D"),
        ("a <= 1.7976931348623157e308", "a > 0"),
        ("b OR a > 5", "NOT b AND a > 4"),
        ("b OR NOT b AND a > 7", "a > 7"),
    ],
)
def test_it_does_not_cover(f: str, g: str) -> None:
    assert not covers(Filter.parse(f), Filter.parse(g))

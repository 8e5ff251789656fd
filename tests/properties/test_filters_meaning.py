"""A filter means what its condition says: the normal form, the fast path and the canonical text agree with it.

The condition's worth comes with it from `strategies.py`, by another way than the filter's own.
"""

import pickle

from hypothesis import given
from hypothesis import strategies as st

from regraft.model.events import Value
from regraft.model.filters import Filter
from regraft.model.filters.literals import render_literal
from regraft.model.filters.normal import admits
from strategies import Condition, attributes_of, conditions, filters, like, strings


@given(conditions(), st.lists(attributes_of(), min_size=1, max_size=20))
def test_a_filter_selects_what_its_condition_is_true_for(condition: Condition, rows: list[dict[str, Value]]) -> None:
    subject = Filter.parse(condition.text)
    for attributes in rows:
        assert subject.matches(attributes) == (condition.worth(attributes) is True), attributes


@given(conditions(), st.lists(attributes_of(mixed=True), min_size=1, max_size=20))
def test_the_fast_path_answers_as_the_normal_form_does(condition: Condition, rows: list[dict[str, Value]]) -> None:
    subject = Filter.parse(condition.text)
    for attributes in rows:
        assert subject.matches(attributes) == admits(subject.conjunctions, attributes), attributes


@given(filters())
def test_the_canonical_text_is_that_of_an_equal_filter(subject: Filter) -> None:
    again = Filter.parse(subject.text)
    assert again.text == subject.text
    assert again == subject
    assert hash(again) == hash(subject)
    assert again.conjunctions == subject.conjunctions


@given(filters(), attributes_of(mixed=True))
def test_a_filter_survives_pickling(subject: Filter, attributes: dict[str, Value]) -> None:
    copy = pickle.loads(pickle.dumps(subject))
    assert copy == subject
    assert copy.conjunctions == subject.conjunctions
    assert copy.matches(attributes) == subject.matches(attributes)


@given(st.text(st.characters(exclude_categories=["Cs"])) | strings)
def test_any_text_can_be_asked_for(text: str) -> None:
    subject = Filter.parse(f"s = {render_literal(text)}")
    assert subject.matches({"s": text})
    assert not subject.matches({"s": text + "\0"})


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_can_be_asked_for(name: str) -> None:
    subject = Filter.parse("`" + name.replace("`", "``") + "` = 5")
    assert subject.matches({name: 5})
    assert Filter.parse(subject.text).matches({name: 5})


@given(st.text("ab\n", max_size=12), st.text("ab%_", max_size=12))
def test_a_pattern_matches_as_its_regular_expression_does(text: str, pattern: str) -> None:
    subject = Filter.parse(f"s LIKE '{pattern}'")
    assert subject.matches({"s": text}) == like(text, pattern, "\\")

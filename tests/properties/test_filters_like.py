"""LIKE on every short string: what patterns say together, what they say about each other.

Residual patterns are where the algebra is not exact, so here each answer is checked on all strings that a small
alphabet has, and not on drawn ones.
"""

from dataclasses import dataclass
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from regraft.model.filters import Filter, covers
from regraft.model.filters.like import implies, read_pattern
from strategies import like

TEXTS = ["".join(letters) for length in range(6) for letters in product("ab", repeat=length)]

patterns = st.text("aab%%_", max_size=5)


@dataclass(frozen=True)
class Likenesses:
    """LIKE and NOT LIKE tests of one attribute, joined by AND or by OR."""

    tests: list[tuple[str, bool]]
    word: str

    @property
    def text(self) -> str:
        return f" {self.word} ".join(
            f"s {'NOT ' if negated else ''}LIKE '{pattern}'" for pattern, negated in self.tests
        )

    def holds(self, text: str) -> bool:
        answers = [like(text, pattern, "\\") != negated for pattern, negated in self.tests]
        return all(answers) if self.word == "AND" else any(answers)


likenesses = st.builds(
    Likenesses, st.lists(st.tuples(patterns, st.booleans()), min_size=1, max_size=4), st.sampled_from(["AND", "OR"])
)


def selected(subject: Filter) -> list[str]:
    return [text for text in TEXTS if subject.matches({"s": text})]


@given(patterns, patterns)
@example("%_b", "%ab")
@example("_%", "__%")
def test_an_implied_pattern_matches_wherever_the_other_does(stronger: str, weaker: str) -> None:
    if implies(read_pattern(stronger), read_pattern(weaker)):
        for text in TEXTS:
            assert like(text, weaker, "\\") or not like(text, stronger, "\\"), text


@given(patterns)
def test_a_pattern_implies_itself_and_what_has_a_wildcard_more(pattern: str) -> None:
    for place in range(len(pattern) + 1):
        assert implies(read_pattern(pattern), read_pattern(pattern[:place] + "%" + pattern[place:]))


@given(likenesses, likenesses)
@example(Likenesses([("%b%", False), ("%ab%", True)], "AND"), Likenesses([("a%", False)], "AND"))
def test_patterns_together_select_what_each_of_them_says(f: Likenesses, g: Likenesses) -> None:
    either = Filter.parse(f"({f.text}) OR ({g.text})")
    both = Filter.parse(f"({f.text}) AND ({g.text}) AND s > 'a'")
    assert selected(Filter.parse(f.text)) == [text for text in TEXTS if f.holds(text)]
    assert selected(either) == [text for text in TEXTS if f.holds(text) or g.holds(text)]
    assert selected(both) == [text for text in TEXTS if f.holds(text) and g.holds(text) and text > "a"]


@given(likenesses, likenesses)
@example(Likenesses([("%b%", False)], "AND"), Likenesses([("%b%", True)], "AND"))
def test_covers_is_never_wrongly_yes_about_patterns(f: Likenesses, g: Likenesses) -> None:
    if covers(Filter.parse(f.text), Filter.parse(g.text)):
        assert [text for text in TEXTS if g.holds(text) and not f.holds(text)] == []

"""An event's attributes survive the trace with their types."""

import math

from hypothesis import given
from hypothesis import strategies as st

from regraft.model.events import INT64_MAX, INT64_MIN, Value
from regraft.trace import decode_attributes, encode_attributes

values = (
    st.text(st.characters(), max_size=5)
    | st.integers(INT64_MIN, INT64_MAX)
    | st.floats(allow_nan=False)
    | st.booleans()
)


@given(st.dictionaries(st.text(min_size=1, max_size=5), values, max_size=5))
def test_attributes_come_back_with_their_types(attributes: dict[str, Value]) -> None:
    back = decode_attributes(encode_attributes(attributes))
    assert back == attributes
    assert [type(value) for value in back.values()] == [type(value) for value in attributes.values()]


def test_nan_and_half_a_surrogate_pair_survive() -> None:
    back = decode_attributes(encode_attributes({"x": math.nan, "y": -math.inf, "z": "\ud800"}))
    assert math.isnan(back["x"])  # type: ignore[arg-type]
    assert back["y"] == -math.inf
    assert back["z"] == "\ud800"
    assert encode_attributes({"z": "\ud800é"}).isascii()

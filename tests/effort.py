"""What `make test-quick` leaves to `make test`: the same checks on more seeds, more cases, more examples.

Tests that are `long` are left out there, and Hypothesis tries fewer examples (the profile `quick`, see conftest.py). A
test that wants another share of the examples than the usual says so in terms of `EXAMPLES`.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings

EXAMPLES = settings().max_examples


def quick_first(values: Sequence[Any], count: int) -> list[Any]:
    """All values, for `parametrize`; those after the first so many are long."""
    return [*values[:count], *(pytest.param(value, marks=pytest.mark.long) for value in values[count:])]

"""The interval around a mean is Student's."""

import pytest

from regraft.pipeline.results import student_quantile


@pytest.mark.parametrize(
    ("degrees_of_freedom", "quantile"),
    # From the table in any textbook.
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (24, 2.064), (29, 2.045), (30, 2.042), (1000, 1.962)],
)
def test_students_quantile_is_that_of_the_table(degrees_of_freedom: int, quantile: float) -> None:
    assert student_quantile(degrees_of_freedom) == pytest.approx(quantile, abs=5e-4)

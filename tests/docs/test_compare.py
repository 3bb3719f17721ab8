"""docs/compare.md says of torchplug only what a test proves."""

import pytest
from named_tests import assert_names_a_test, cells_of, rows_of


@pytest.mark.parametrize("row", rows_of("compare.md"), ids=lambda row: cells_of(row)[0])
def test_every_row_names_a_test_that_exists(row):
    assert_names_a_test(cells_of(row)[1])

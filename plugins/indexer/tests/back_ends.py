"""The back ends of an index, as parameters of the fixture ``settings``."""

import pytest

WITH_TRANSACTIONS = ["duckdb", pytest.param("postgres", marks=pytest.mark.services)]
BACK_ENDS = [
    *WITH_TRANSACTIONS,
    pytest.param("clickhouse", marks=[pytest.mark.services, pytest.mark.slow]),
]

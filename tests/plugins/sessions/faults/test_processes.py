"""Processes that append to one session at once lose and double nothing, also where some of them are killed.

For half a minute, and with 64 of them, where NEWEL_EXAMPLES is set.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

ALL = "NEWEL_EXAMPLES" in os.environ
SECONDS, EVERY, MANY = (30, 1, 64) if ALL else (1.5, 0.4, 12)
#: For how long each waits for its store, in seconds; and with what a busy machine adds to it.
PATIENCE, LONGEST = 2, 20


@pytest.mark.parametrize("store", ["sqlite", "postgres", "mariadb"] if ALL else ["sqlite", "postgres"])
@pytest.mark.parametrize(("count", "every"), [(4, 0), (4, EVERY), (MANY, 0)])
def test_each_event_is_there_once_and_in_order(
    count: int, every: float, store: str, store_uri: Callable[[str], str], report: Callable[..., dict[str, Any]]
) -> None:
    found = report("processes.py", store_uri(store), count, SECONDS, every, PATIENCE)
    assert found["acknowledged"] >= count
    assert found["longest"] < LONGEST

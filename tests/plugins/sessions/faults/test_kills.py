"""A worker that is killed, stopped or cut off from its store at the N-th point of a run: another one goes on.

For N = 1, 2, 3 … until there is no such point, on each store and for both answers to what is asked, with NEWEL_EXAMPLES
set. Without it for some N, in a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

ALL = "NEWEL_EXAMPLES" in os.environ
STRIDE = 1 if ALL else 19


@pytest.mark.parametrize("store", ["sqlite", "postgres", "mariadb"] if ALL else ["sqlite"])
@pytest.mark.parametrize("repeat", ["no", "yes"] if ALL else ["yes"])
@pytest.mark.parametrize("way", ["kill", "stop", "cut"])
@pytest.mark.parametrize(("shape", "points"), [("tools", 20), ("branches", 40), ("pauses", 25), ("graph", 25)])
def test_another_worker_goes_on(
    shape: str,
    points: int,
    way: str,
    repeat: str,
    store: str,
    store_uri: Callable[[str], str],
    report: Callable[..., dict[str, Any]],
) -> None:
    assert report("kills.py", shape, way, store_uri(store), repeat, STRIDE)["points"] >= points

"""The kit for model providers catches each planted bug, by the check that says what was promised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.contrib.testkit.wire.planted import BUGS, PROTOCOL, Planted, Right

from newel_testkit import WIRE_KEY, model_checks


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def checks(kind: Any) -> Mapping[str, Callable[[], None]]:
    return model_checks(lambda url, name: kind(model=name, base_url=url, api_key=WIRE_KEY), protocol=PROTOCOL)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.faulty.__name__)
def test_a_planted_bug_is_caught(bug: Planted) -> None:
    with pytest.raises(AssertionError):
        checks(bug.faulty)[bug.check]()


@pytest.mark.parametrize("name", sorted({bug.check for bug in BUGS}))
def test_what_is_right_passes(name: str) -> None:
    checks(Right)[name]()

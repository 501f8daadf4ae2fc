"""The catalogue of models: what newel names by itself still answers, and what ends is told in time."""

from __future__ import annotations

import logging
import re
import warnings
from datetime import date, timedelta
from pathlib import Path

import pytest

from newel.models import catalogue
from newel.models.catalogue import CHECKED, CLAUDE, ENDS, GEMINI, OPENAI, end_of, ending
from newel.models.kinds import model_of
from newel_compose import compose

_ROOT = Path(__file__).parents[3]
_NAME = re.compile(r"\b(?:gemini-\d|claude-[a-z]+-\d|gpt-\d|o\d-(?:mini|pro))[\w.-]*\w")


def _named() -> dict[str, str]:
    """The models that the README and the docs tell people to use -> a page."""
    pages = [_ROOT / "README.md", *(_ROOT / "docs").rglob("*.md"), *(_ROOT / "docs").rglob("*.y*ml")]
    pages = [page for page in pages if page.parent.name not in ("decisions", "reference")]
    return {name: page.name for page in pages for name in _NAME.findall(page.read_text())}


def test_no_model_that_newel_names_had_an_end_in_sight_when_the_table_was_checked() -> None:
    """What has come into sight since is a warning: an old checkout is not wrong because time passes."""
    named = {**_named(), **dict.fromkeys((GEMINI, CLAUDE, OPENAI), "catalogue.py")}
    soon = [f"{page}: {told}" for name, page in named.items() if (told := ending(name, CHECKED))]
    assert not soon
    for told in filter(None, map(ending, named)):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.warn(f"{told}; see plugins/newel/models/catalogue.py", stacklevel=1)


@pytest.mark.parametrize(
    ("address", "day"),
    [
        ("gemini-2.5-flash", date(2026, 12, 1)),
        ("gemini:gemini-2.5-pro", date(2026, 12, 1)),
        ("litellm:anthropic/claude-sonnet-4-5", date(2026, 11, 30)),
        ("projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929", date(2026, 11, 30)),
        ("openai:gpt-5-mini-2025-08-07", date(2026, 12, 11)),
        ("gpt-4o", date(2027, 1, 14)),
    ],
)
def test_an_end_is_known_by_the_models_name(address: str, day: date) -> None:
    end = end_of(address)
    assert end is not None
    assert end.day == day
    assert ending(address, day - timedelta(days=61)) is None
    assert f"is shut down on {day}; its provider recommends {end.instead!r}" in (
        ending(address, day - timedelta(1)) or ""
    )
    assert "was shut down on" in (ending(address, day) or "")


@pytest.mark.parametrize(
    "name", ["gemini-2.5-flash-lite", "gpt-5.6-sol", "gpt-6-luna", "claude-sonnet-4-6", "", "demo:"]
)
def test_other_models_go_on(name: str) -> None:
    assert end_of(name) is None


def test_what_is_recommended_does_not_end_before() -> None:
    for end in ENDS:
        after = end_of(end.instead)
        assert after is None or after.day > end.day, end


def test_an_agent_with_a_model_that_ends_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    end = catalogue.End(r"gemini-9-test", date(2020, 1, 1), "gemini-10")
    monkeypatch.setattr(catalogue, "ENDS", (end,))
    composed = compose("standard")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            model_of(composed, "gemini-9-test")
    told = "the model 'gemini-9-test' was shut down on 2020-01-01; its provider recommends 'gemini-10'"
    assert [record.getMessage() for record in caplog.records] == [told]

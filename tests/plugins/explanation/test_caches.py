"""What a session's events say of the providers' caches: hits, what was paid twice, and what broke a prefix."""

from __future__ import annotations

from typing import Any

import pytest

from newel.explanation.caches import cache_reports
from newel.flows.context_budget.edits import EDITS
from newel_kernel import Event, EventActions, EventCompaction
from newel_types import Content, GenerateContentResponseUsageMetadata, Part

START = 1_700_000_000.0


def answer(tokens: int, cached: int, at: float = 0.0, author: str = "a", **fields: Any) -> Event:
    usage = GenerateContentResponseUsageMetadata(prompt_token_count=tokens, cached_content_token_count=cached)
    event = Event(author=author, invocation_id="e-1", timestamp=START + at, usage_metadata=usage)
    for name, value in fields.items():
        setattr(event, name, value)
    return event


def cleared(count: int, author: str = "a") -> Event:
    one = {"event": "x", "call": "c", "as": "r1", "by": "clear", "response": {"cleared": "..."}}
    return Event(author=author, invocation_id="e-1", custom_metadata={EDITS: {"tokens": 1, "results": [one] * count}})


def summary() -> Event:
    content = Content(role="model", parts=[Part(text="...")])
    compaction = EventCompaction(start_timestamp=START, end_timestamp=START, compacted_content=content)
    return Event(author="user", invocation_id="e-2", actions=EventActions(compaction=compaction))


def test_a_prefix_that_holds_is_paid_once() -> None:
    (report,) = cache_reports([answer(4_000, 0), answer(6_000, 3_900), answer(8_000, 5_800)])
    assert (report.tokens, report.cached, report.paid_twice, report.breaks) == (18_000, 9_700, 0, [])
    assert report.hit_ratio == pytest.approx(9_700 / 18_000)


@pytest.mark.parametrize(
    ("between", "late", "told"),
    [
        ([cleared(8)], {}, "context_budget: 8 results cleared"),
        ([cleared(1)], {}, "context_budget: 1 result cleared"),
        ([summary()], {}, "compaction: earlier events became a summary"),
        ([], {"at": 900.0}, "15 minutes passed, after which a provider may have forgotten it"),
        ([], {}, "no event says why"),
        ([cleared(8, author="b")], {}, "no event says why"),
    ],
)
def test_what_broke_a_prefix_is_told_with_what_was_paid_again(
    between: list[Event], late: dict[str, Any], told: str
) -> None:
    (report,) = cache_reports([answer(10_000, 0), *between, answer(8_000, 1_000, **late)])
    assert report.cleared == (1 if between and between[0].author == "a" else 0)  # the same result each time
    (broken,) = report.breaks
    assert (broken.broken_by, broken.paid_twice) == (told, 7_000)


def test_another_model_has_another_cache() -> None:
    first, second = answer(5_000, 0, model_version="m-1"), answer(6_000, 0, model_version="m-2")
    (report,) = cache_reports([first, second])
    assert [one.broken_by for one in report.breaks] == ["another model: m-1, then m-2"]


def test_agents_and_branches_have_prefixes_of_their_own() -> None:
    events = [answer(9_000, 0), answer(9_000, 0, author="b"), answer(9_000, 0, branch="x"), answer(9_500, 9_000)]
    assert [(one.agent, one.branch, one.paid_twice) for one in cache_reports(events)] == [
        ("a", None, 0),
        ("b", None, 0),
        ("a", "x", 0),
    ]


def test_short_requests_and_those_without_counts_are_left_alone() -> None:
    silent = Event(author="a", invocation_id="e-1")
    (report,) = cache_reports([answer(500, 0), silent, answer(600, 0)])
    assert report.paid_twice == 0
    assert cache_reports([silent]) == []


def test_money_is_counted_by_the_prices_of_the_model() -> None:
    first = answer(10_000, 0, model_version="claude-sonnet-4-5")
    held = answer(20_000, 10_000, model_version="claude-sonnet-4-5")
    again = answer(20_000, 0, at=900.0, model_version="claude-sonnet-4-5")
    (report,) = cache_reports([first, held, again])
    # 3 dollars for a million tokens, 0.3 for those that come from the cache
    assert [one.cost for one in report.requests] == [pytest.approx(n) for n in (0.03, 0.033, 0.06)]
    assert [one.saved for one in report.requests] == [pytest.approx(n) for n in (0, 0.027, 0)]
    assert [one.lost for one in report.requests] == [pytest.approx(n) for n in (0, 0, 0.054)]
    assert (report.cost, report.saved, report.lost) == (
        pytest.approx(0.123),
        pytest.approx(0.027),
        pytest.approx(0.054),
    )


def test_what_is_written_to_a_cache_costs_more() -> None:
    written = answer(10_000, 0, model_version="claude-sonnet-4-5")
    assert written.usage_metadata is not None
    written.usage_metadata = written.usage_metadata.model_copy(update={"cache_write_token_count": 10_000})
    (report,) = cache_reports([written])
    assert report.saved == pytest.approx(-0.0075)


def test_a_model_without_a_price_has_no_sums() -> None:
    (report,) = cache_reports([answer(5_000, 0), answer(5_000, 0)])
    assert (report.cost, report.saved, report.lost) == (None, None, None)

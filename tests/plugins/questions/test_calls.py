"""Requests and answers in a log: what waits for the user, and what the user said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.kernel.test_log import LOGS, ONE, answered_ids, call_ids, standing

from newel.questions.calls import answers, open_requests, requests
from newel_kernel import Event, Log


@given(LOGS, st.sets(ONE))
def test_a_request_is_a_call_that_the_runtime_marked(events: list[Event], ids: set[str | None]) -> None:
    wanted = [
        (i, call_id)
        for i in reversed(standing(events))
        for call_id in call_ids(events[i])
        if call_id in ids and call_id in (events[i].long_running_tool_ids or ())
    ]
    assert [(position, call.id) for position, _, call in requests(Log(events), ids)] == wanted


@given(LOGS, ONE, st.integers(0, 5))
def test_answers_are_the_user_s(events: list[Event], call_id: str, since: int) -> None:
    assert answers(Log(events), call_id, since) == [
        i for i in standing(events) if i >= since and events[i].author == "user" and call_id in answered_ids(events[i])
    ]


@given(LOGS)
def test_a_request_is_open_until_the_user_answers_it(events: list[Event]) -> None:
    count = standing(events)
    wanted = {
        call_id: events[i]
        for i in count
        for call_id in call_ids(events[i])
        if events[i].author != "user"
        and call_id in (events[i].long_running_tool_ids or ())
        and not any(j > i and events[j].author == "user" and call_id in answered_ids(events[j]) for j in count)
    }
    assert {call.id: one for one, call in open_requests(Log(events))} == wanted

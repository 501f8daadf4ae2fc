"""Cache causes: turns of a stored session, rehearsed to find the step that broke a prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from newel.cli.agent_sessions import AgentSessions
from newel.cli.conversation import runner_of
from newel.explanation import Explanation, copied, rehearse
from newel.explanation.caches import UNKNOWN, CacheReport, cause_of
from newel_kernel import Session


async def name_causes(reports: Sequence[CacheReport], session: Session, stored: AgentSessions) -> None:
    """Name the step of each break whose cause the events do not tell, if a rehearsal of its turn shows it.

    The turn before is rehearsed, too. If both requests were in one turn, that is rehearsed twice: a step whose result
    changes by itself, such as an instruction with the time, shows.
    """
    for report in reports:
        for place, request in enumerate(report.requests):
            if request.broken_by != UNKNOWN:
                continue
            before = await _first_request(report, report.requests[place - 1].invocation_id, session, stored)
            after = await _first_request(report, request.invocation_id, session, stored)
            if before is not None and after is not None:
                report.requests[place] = replace(request, broken_by=cause_of(before, after))


async def _first_request(
    report: CacheReport, invocation_id: str, session: Session, stored: AgentSessions
) -> Explanation | None:
    """The first request of a turn, rehearsed on a copy of the session as it was; None: it is another agent's."""
    start = next(place for place, event in enumerate(session.events) if event.invocation_id == invocation_id)
    message = session.events[start].content
    if session.events[start].author != "user" or message is None:
        return None
    past = session.model_copy(update={"events": session.events[:start]})
    store = await copied(past, stored.app, session.user_id, session.id)
    runner = runner_of(stored.source, stored.composition, store)
    try:
        rehearsal = await rehearse(runner, session.user_id, session.id, message)
    finally:
        await runner.close()
    explained = [one for one in rehearsal.explanations if one.called]
    return next((one for one in explained if (one.agent, one.branch) == (report.agent, report.branch)), None)

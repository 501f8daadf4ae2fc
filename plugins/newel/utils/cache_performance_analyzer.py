"""CachePerformanceAnalyzer: what context caching saved in a session."""

from __future__ import annotations

from newel.contexts.usages import answers_of
from newel_kernel import BaseSessionService, Event, Json, SessionNotFoundError, brief
from newel_types import CacheMetadata


class CachePerformanceAnalyzer:
    """Reads the cache metadata and the token counts of a session's events."""

    def __init__(self, session_service: BaseSessionService) -> None:
        self.session_service = session_service

    async def analyze_agent_cache_performance(
        self, session_id: str, user_id: str, app_name: str, agent_name: str
    ) -> Json:
        """Counts and ratios of an agent's requests; ``{"status": "no_cache_data"}`` if none used a cache."""
        events = await self._events(session_id, user_id, app_name)
        history = _history(events, agent_name)
        if not history:
            return {"status": "no_cache_data"}
        used = [usage for position, usage in answers_of(events) if events[position].author == agent_name]
        prompt = sum(one.prompt_token_count or 0 for one in used)
        cached = sum(one.cached_content_token_count or 0 for one in used)
        hits = sum(1 for one in used if one.cached_content_token_count)
        invocations = [one.invocations_used for one in history if one.invocations_used is not None]
        return {
            "status": "active",
            "requests_with_cache": len(history),
            "avg_invocations_used": sum(invocations) / len(invocations) if invocations else 0,
            "latest_cache": history[-1].cache_name,
            "cache_refreshes": len({one.cache_name for one in history if one.cache_name is not None}),
            "total_invocations": sum(invocations),
            "total_prompt_tokens": prompt,
            "total_cached_tokens": cached,
            "cache_hit_ratio_percent": cached / prompt * 100 if prompt else 0.0,
            "cache_utilization_ratio_percent": hits / len(used) * 100 if used else 0.0,
            "avg_cached_tokens_per_request": cached / len(used) if used else 0.0,
            "total_requests": len(used),
            "requests_with_cache_hits": hits,
        }

    async def _get_agent_cache_history(
        self, session_id: str, user_id: str, app_name: str, agent_name: str | None = None
    ) -> list[CacheMetadata]:
        """The cache metadata of an agent's events (of every agent's if none is named), in order."""
        return _history(await self._events(session_id, user_id, app_name), agent_name)

    async def _events(self, session_id: str, user_id: str, app_name: str) -> list[Event]:
        session = await self.session_service.get_session(app_name=app_name, user_id=user_id, session_id=session_id)
        if session is None:
            where = f"(app {app_name!r}, user {brief(user_id)!r})"
            raise SessionNotFoundError(f"Session not found: {brief(session_id)} {where}")
        return session.events


def _history(events: list[Event], agent_name: str | None) -> list[CacheMetadata]:
    return [
        event.cache_metadata
        for event in events
        if event.cache_metadata is not None and agent_name in (None, event.author)
    ]

import asyncio
from newel.apps.app import App
from newel.agents.context_cache_config import ContextCacheConfig
from newel.agents import LlmAgent
from newel.sessions import InMemorySessionService
from newel.runners import Runner
from newel.utils.cache_performance_analyzer import CachePerformanceAnalyzer
from newel import types

LARGE_SYSTEM_PROMPT = "..." * 500  # > 4096 tokens

agent = LlmAgent(
    name="researcher",
    model="gemini-2.5-flash",
    instruction=LARGE_SYSTEM_PROMPT,
)

session_svc = InMemorySessionService()

app = App(
    name="researcher",
    agent=agent,
    session_service=session_svc,
    context_cache_config=ContextCacheConfig(
        cache_intervals=5,     # cache every 5 turns
        ttl_seconds=3600,
    ),
)

runner = Runner(app=app, session_service=session_svc)

async def main():
    session = await session_svc.create_session(app_name="demo", user_id="u1")
    for msg in ["Tell me about LLMs.", "What is RAG?", "Explain embeddings."]:
        async for _ in runner.run_async(
            user_id="u1",
            session_id=session.session_id,
            new_message=types.Content(parts=[types.Part.from_text(msg)]),
        ):
            pass

    analyzer = CachePerformanceAnalyzer(session_service=session_svc)
    report = await analyzer.analyze_agent_cache_performance(
        session_id=session.session_id,
        user_id="u1",
        app_name="demo",
        agent_name="researcher",
    )
    if report["status"] == "active":
        print(f"Cache hit ratio: {report['cache_hit_ratio_percent']:.1f}%")
        print(f"Cache util ratio: {report['cache_utilization_ratio_percent']:.1f}%")
        print(f"Tokens saved: {report['total_cached_tokens']}")
    else:
        print("No cache data recorded — check ContextCacheConfig min_tokens threshold.")

asyncio.run(main())

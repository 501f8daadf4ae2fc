"""The specification's example of context caching, as printed except for the import root and the prompt's size.

See docs/reference/behaviour.md#context-caching.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from newel_testkit import GeminiServer

EXAMPLE = """
import asyncio
from google.adk.apps.app import App
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService
from google.adk.runners import Runner
from google.adk.utils.cache_performance_analyzer import CachePerformanceAnalyzer
from google.adk import types

LARGE_SYSTEM_PROMPT = "..." * 500   # > 4096 tokens

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
        cache_intervals=5,      # cache every 5 turns
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
"""


@pytest.fixture
def run(
    gemini_server: GeminiServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """Runs the example against the wire server; gives what it printed.

    In `standard` no cache is made for what the service caches by itself.
    """
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "adk")
    for text in ("Large models.", "Retrieval.", "Vectors."):
        gemini_server.reply(text, usage={"promptTokenCount": 6000})

    def _run(source: str) -> str:
        names: dict[str, Any] = {}
        exec(source.replace("google.adk", "newel"), names)
        return capsys.readouterr().out

    return _run


def test_it_runs_as_printed(run: Callable[[str], str], gemini_server: GeminiServer) -> None:
    # Its session is one of the app "demo", its runner's app is "researcher": the analyser looks where nothing was said.
    assert run(EXAMPLE) == "No cache data recorded — check ContextCacheConfig min_tokens threshold.\n"
    assert [c["parts"][0]["text"] for c in gemini_server.requests[-1].body["contents"]][-1] == "Explain embeddings."


def test_it_reports_once_it_names_one_app(run: Callable[[str], str]) -> None:
    printed = run(EXAMPLE.replace('"demo"', '"researcher"').replace('"..." * 500', '"Be kind. " * 2000'))
    assert [line.split(":")[0] for line in printed.splitlines()] == [
        "Cache hit ratio",
        "Cache util ratio",
        "Tokens saved",
    ]
    assert "Cache util ratio: 66.7%" in printed
    assert int(re.findall(r"Tokens saved: (\d+)", printed)[0]) > 8000

"""App and its settings; the spellings of the specification's examples."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from newel.agents import LlmAgent
from newel.agents.context_cache_config import ContextCacheConfig
from newel.apps import App, EventsCompactionConfig, ResumabilityConfig
from newel.models.cache_metadata import CacheMetadata
from newel.models.scripted import ScriptedModel
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.utils.cache_performance_analyzer import CachePerformanceAnalyzer
from newel_kernel import AgentConfigError, LlmResponse, SessionNotFoundError
from newel_types import Content, Part


def agent(*steps: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(steps))


@pytest.mark.parametrize("key", ["agent", "root_agent"])
def test_an_app_has_an_agent_under_either_name(key: str) -> None:
    clerk = agent()
    assert App(**{"name": "desk", key: clerk}).root_agent is clerk


def test_an_apps_services_are_its_runners() -> None:
    sessions, registry = InMemorySessionService(), object()
    app = App(name="desk", agent=agent(), session_service=sessions, auth_provider_registry=registry)  # type: ignore[call-arg]
    assert Runner(app=app).session_service is sessions
    assert app.auth_provider_registry is registry
    others = InMemorySessionService()
    assert Runner(app=app, session_service=others).session_service is others


@pytest.mark.parametrize("name", ["user", "", "a b", "a/b", "1a"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        App(name=name, root_agent=agent())


def test_a_misspelt_setting_is_refused() -> None:
    with pytest.raises(ValidationError):
        App(name="desk", root_agent=agent(), resumable=True)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        ResumabilityConfig(resumable=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"compaction_interval": 2},
        {"overlap_size": 1},
        {"token_threshold": 100},
        {"compaction_interval": 2, "overlap_size": 0, "event_retention_size": 1},
        {"compaction_interval": 0, "overlap_size": 0},
        {"token_threshold": 0, "event_retention_size": 1},
    ],
)
def test_settings_of_compaction_come_in_pairs(settings: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        EventsCompactionConfig(**settings)


def test_an_app_from_an_agent_file(tmp_path: Path) -> None:
    (tmp_path / "root_agent.yaml").write_text("name: helper\nmodel: echo:x\ninstruction: Help.\n")
    app = App.from_config(tmp_path / "root_agent.yaml")
    assert (app.name, app.root_agent.name) == ("helper", "helper")


def test_an_app_from_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "helper.yaml").write_text("name: helper\nmodel: echo:x\ninstruction: Help.\n")
    (tmp_path / "app.yaml").write_text(
        "name: desk\nroot_agent: helper.yaml\nresumability_config:\n  is_resumable: true\n"
    )
    app = App.from_config(tmp_path / "app.yaml")
    assert (app.name, app.root_agent.name) == ("desk", "helper")
    assert app.resumability_config is not None
    assert app.resumability_config.is_resumable


def test_an_apps_agent_file_is_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text("name: desk\nroot_agent: ../helper.yaml\n")
    with pytest.raises(AgentConfigError, match=r"app\.yaml:2: root_agent '\.\./helper\.yaml' leaves the app's folder"):
        App.from_config(tmp_path / "app.yaml")


def test_the_settings_of_a_context_cache() -> None:
    config = ContextCacheConfig(ttl_seconds=60)
    assert (config.cache_intervals, config.ttl_string, config.min_tokens) == (10, "60s", 0)
    assert str(config) == "ContextCacheConfig(cache_intervals=10, ttl=60s, min_tokens=0)"
    with pytest.raises(ValidationError):
        ContextCacheConfig(cache_intervals=101)


def test_the_metadata_of_a_cache_is_whole() -> None:
    bare = CacheMetadata(fingerprint="f" * 20, contents_count=2)
    assert not bare.expire_soon
    assert str(bare) == "no cache, 2 contents, fingerprint ffffffff"
    active = {"cache_name": "x/caches/7", "expire_time": 1.0, "invocations_used": 3}
    used = CacheMetadata(**active, fingerprint="f", contents_count=2)  # type: ignore[arg-type]
    assert used.expire_soon
    assert str(used).startswith("cache 7: 2 contents, used 3 times")
    with pytest.raises(ValidationError):
        CacheMetadata(cache_name="x", fingerprint="f", contents_count=2)


def test_the_analyser_counts_what_was_cached() -> None:
    def answer(cached: int | None, name: str | None) -> LlmResponse:
        metadata = None
        if name is not None:
            metadata = CacheMetadata(
                cache_name=name, expire_time=9.0, invocations_used=2, fingerprint="f", contents_count=1
            )
        return LlmResponse(
            content=Content(role="model", parts=[Part(text="x")]),
            cache_metadata=metadata,
            usage_metadata={"prompt_token_count": 100, "cached_content_token_count": cached},  # type: ignore[arg-type]
        )

    async def main() -> None:
        runner = Runner(
            app=App(name="desk", root_agent=agent(answer(None, None), answer(50, "c1"), answer(None, "c2"))),
            session_service=InMemorySessionService(),
            auto_create_session=True,
        )
        analyzer = CachePerformanceAnalyzer(runner.session_service)
        where = {"session_id": "s1", "user_id": "ada", "app_name": "desk", "agent_name": "clerk"}
        with pytest.raises(SessionNotFoundError):
            await analyzer.analyze_agent_cache_performance(**where)
        for number in range(3):
            async for _ in runner.run_async(user_id="ada", session_id="s1", new_message="hi"):
                pass
            report = await analyzer.analyze_agent_cache_performance(**where)
            assert report["status"] == ("active" if number else "no_cache_data")
        assert report["latest_cache"] == "c2"
        assert report["cache_refreshes"] == 2
        assert report["total_prompt_tokens"] == 300
        assert report["cache_hit_ratio_percent"] == pytest.approx(16.67, abs=0.01)
        assert report["requests_with_cache_hits"] == 1
        history = await analyzer._get_agent_cache_history(session_id="s1", user_id="ada", app_name="desk")
        assert [one.cache_name for one in history] == ["c1", "c2"]

    asyncio.run(main())

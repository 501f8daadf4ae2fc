"""Budgets of the distribution in an evaluation: agents and judges share the accounts of its session store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from newel.budgets import ledger_of
from newel.evaluation import evaluate
from newel.evaluation.eval_config import EvalConfig
from newel.evaluation.eval_metrics import EvalStatus
from newel.evaluation.metrics.criteria import LlmAsAJudgeCriterion
from newel.sessions import SqliteSessionService
from newel_compose import compose

VALID = '{"reasoning": "it fits", "is_the_agent_response_valid": "valid"}'


def configured(folder: Path, monkeypatch: pytest.MonkeyPatch, calls: int) -> str:
    """A distribution with this limit, which the evaluation uses."""
    file = folder / "d.yaml"
    settings = {"budgets": {"limits": [{"per": "app", "calls": calls}]}}
    services = {"session": f"sqlite:///{folder}/s.db"}
    file.write_text(json.dumps({"name": "d", "extends": "standard", "services": services, "settings": settings}))
    monkeypatch.setenv("NEWEL_DISTRIBUTION", str(file))
    return str(file)


def evaluated(kit: Any, cases: int) -> tuple[Any, Any]:
    """A run of so many cases, each with a call of the agent and one of the judge."""
    judge = kit.Judge(VALID)
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=judge.options())
    config = EvalConfig(criteria={"final_response_match_v2": criterion})
    sets = kit.eval_set(*(kit.case(f"c{number}", kit.turn("hello", "hi there")) for number in range(cases)))
    return asyncio.run(evaluate(kit.agent(), sets, config)), judge


def spent(composed: str, folder: Path) -> list[int]:
    async def look() -> list[int]:
        store = SqliteSessionService(folder / "s.db")
        accounts = await ledger_of(compose(composed), store).accounts()
        await store.close()
        return [account.spent for account in accounts]

    return asyncio.run(look())


def test_agents_and_judges_count(kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    composed = configured(tmp_path, monkeypatch, 100)
    done, judge = evaluated(kit, 2)
    assert [result.final_eval_status for result in done.results] == [EvalStatus.PASSED] * 2
    assert len(judge.prompts) == 2
    assert spent(composed, tmp_path) == [4]


def test_nothing_is_asked_once_nothing_is_left(kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    composed = configured(tmp_path, monkeypatch, 3)
    done, judge = evaluated(kit, 4)
    assert any(result.final_eval_status is not EvalStatus.PASSED for result in done.results)
    assert len(judge.prompts) <= 3
    assert spent(composed, tmp_path) == [3]

"""The tree of agents: walking it, and what is made of its fields."""

from __future__ import annotations

from typing import Any

import pytest

from newel.agents import RunConfig
from newel.agents.run_config import ToolThreadPoolConfig
from newel_kernel import BaseAgent, FeatureUnavailableError


def tree() -> tuple[BaseAgent, BaseAgent, BaseAgent]:
    leaf = BaseAgent(name="leaf")
    inner = BaseAgent(name="inner", sub_agents=[leaf])
    return BaseAgent(name="root", sub_agents=[inner, BaseAgent(name="last")]), inner, leaf


def test_a_walk_names_each_agent_before_those_below_it() -> None:
    root, inner, _ = tree()
    assert [one.name for one in root.walk()] == ["root", "inner", "leaf", "last"]
    assert [one.name for one in inner.walk()] == ["inner", "leaf"]


def test_an_edit_counts_for_its_own_tree_only() -> None:
    root, _, leaf = tree()
    other, *_ = tree()
    before = root.edits, other.edits
    leaf.description = "new"
    assert (root.edits, other.edits) == (before[0] + 1, before[1])


def test_an_agent_that_moves_is_an_edit_of_both_trees() -> None:
    root, _, leaf = tree()
    other, *_ = tree()
    before = root.edits, other.edits
    leaf.parent_agent = other
    assert (root.edits, other.edits) == (before[0] + 1, before[1] + 1)


@pytest.mark.parametrize("field", [{"support_cfc": True}, {"tool_thread_pool_config": ToolThreadPoolConfig()}])
def test_a_field_that_nobody_reads_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(FeatureUnavailableError, match=next(iter(field))):
        RunConfig(**field)
    assert RunConfig(support_cfc=False, tool_thread_pool_config=None).support_cfc is False

"""The tree of agents: walking it, and what is made of its fields."""

from __future__ import annotations

import pytest

from newel_kernel import BaseAgent, subtree


def tree() -> tuple[BaseAgent, BaseAgent, BaseAgent]:
    leaf = BaseAgent(name="leaf")
    inner = BaseAgent(name="inner", sub_agents=[leaf])
    return BaseAgent(name="root", sub_agents=[inner, BaseAgent(name="last")]), inner, leaf


def test_a_walk_names_each_agent_before_those_below_it() -> None:
    root, inner, _ = tree()
    assert [one.name for one in subtree(root)] == ["root", "inner", "leaf", "last"]
    assert [one.name for one in subtree(inner)] == ["inner", "leaf"]


def test_an_edit_counts_for_its_own_tree_only() -> None:
    root, _, leaf = tree()
    other, *_ = tree()
    before = root.__newel__.edits, other.__newel__.edits
    leaf.description = "new"
    assert (root.__newel__.edits, other.__newel__.edits) == (before[0] + 1, before[1])


def test_an_agent_that_moves_is_an_edit_of_both_trees() -> None:
    root, _, leaf = tree()
    other, *_ = tree()
    before = root.__newel__.edits, other.__newel__.edits
    leaf.parent_agent = other
    assert (root.__newel__.edits, other.__newel__.edits) == (before[0] + 1, before[1] + 1)


@pytest.mark.parametrize("name", ["1st", "tea room", "tea-room", ""])
def test_a_name_is_an_identifier_that_starts_with_a_letter(name: str) -> None:
    with pytest.raises(ValueError, match=f"invalid agent name {name!r}: use letters, digits and underscores"):
        BaseAgent(name=name)


def test_the_user_s_name_is_the_user_s() -> None:
    with pytest.raises(ValueError, match="cannot be named 'user': that is the author"):
        BaseAgent(name="user")


def test_an_agent_has_one_parent() -> None:
    leaf = BaseAgent(name="leaf")
    first = BaseAgent(name="first", sub_agents=[leaf])
    with pytest.raises(ValueError, match=r"agent 'leaf' already has the parent 'first'; .* of 'second' as well"):
        BaseAgent(name="second", sub_agents=[leaf])
    assert leaf.parent_agent is first


def test_an_agent_s_children_have_different_names() -> None:
    with pytest.raises(ValueError, match="agent 'root' has two sub-agents named 'twin'"):
        BaseAgent(name="root", sub_agents=[BaseAgent(name=name) for name in ("twin", "other", "twin")])

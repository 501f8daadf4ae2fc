"""What is read off an agent: boxes, frames, links."""

from __future__ import annotations

from typing import Any

from newel.agents import BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from newel.drawing import Picture, picture_of
from newel.drawing.picture import Kind, Relation, plain
from newel.testing import ScriptedModel
from newel.tools import AgentTool
from newel.workflow import BaseNode, Node, ParallelWorker, Workflow


def links(picture: Picture) -> list[tuple[str, str, str, str]]:
    names = {box.id: box.name for box in picture.boxes.values()}
    return [(names[link.source], link.relation.value, names[link.target], link.label) for link in picture.links]


def frames(picture: Picture) -> dict[str, str | None]:
    return {box.name: picture.boxes[box.frame].name if box.frame else None for box in picture.boxes.values()}


def details(picture: Picture) -> dict[str, str]:
    return {box.name: box.detail for box in picture.boxes.values()}


def test_a_team(team: LlmAgent) -> None:
    picture = picture_of(team)
    assert links(picture) == [
        ("coordinator", "sub-agent", "pipeline", ""),
        ("coordinator", "sub-agent", "billing", "single_turn"),
        ("gather", "next", "refine", ""),
        ("refine", "next", "publisher", ""),
        ("writer", "next", "critic", ""),
        ("critic", "again", "writer", "again"),
        ("publisher", "tool", "proofreader", "as a tool"),
        ("researcher", "tool", "search", ""),
        ("researcher", "tool", "CrmToolset", ""),
    ]
    assert frames(picture) == {
        "coordinator": None,
        "billing": None,
        "pipeline": None,
        "gather": "pipeline",
        "refine": "pipeline",
        "publisher": "pipeline",
        "proofreader": "pipeline",
        "researcher": "gather",
        "archive": "gather",
        "search": "gather",
        "CrmToolset": "gather",
        "writer": "refine",
        "critic": "refine",
    }
    assert details(picture)["coordinator"] == "LlmAgent, gemini-2.5-flash"
    assert details(picture)["refine"] == "LoopAgent, at most 3 rounds"
    assert details(picture)["CrmToolset"] == "toolset, crm_…"
    kinds = {box.name: box.kind for box in picture.boxes.values()}
    assert (kinds["search"], kinds["CrmToolset"], kinds["gather"]) == (Kind.TOOL, Kind.TOOLSET, Kind.AGENT)


def test_a_workflow(support: Workflow) -> None:
    picture = picture_of(support)
    assert links(picture) == [
        ("START", "next", "classify", ""),
        ("classify", "next", "handle_refund", "refund"),
        ("classify", "next", "answer", "other"),
        ("classify", "next", "expert", "True"),
        ("classify", "default", "escalate", "default"),
        ("handle_refund", "next", "together", ""),
        ("answer", "next", "together", ""),
        ("together", "next", "summarize", ""),
        ("escalate", "next", "classify", "again, retry"),
        ("START", "next", "validate", ""),
        ("validate", "next", "refund", ""),
        ("expert", "tool", "search", ""),
    ]
    assert [box.name for box in picture.boxes.values() if box.is_group] == ["support", "handle_refund"]
    assert frames(picture)["validate"] == "handle_refund"
    assert [box.frame for box in picture.boxes.values() if box.kind is Kind.START] == ["n1", "n4"]
    assert details(picture)["summarize"] == "function, for each item, at most 4 at once"
    assert details(picture)["together"] == "join"


def test_nodes_of_other_kinds() -> None:
    class Mine(Node):
        pass

    inner = Workflow(name="inner", edges=[("START", BaseNode(name="last"))])
    tool = AgentTool(LlmAgent(name="helper"))
    worker = ParallelWorker(inner, name="all_of_them")
    picture = picture_of(Workflow(name="w", edges=[("START", Mine(name="mine", parallel_worker=True), tool, worker)]))
    assert details(picture) == {
        "w": "Workflow",
        "START": "",
        "mine": "Mine, for each item",
        "helper": "tool",
        "inner": "Workflow, as all_of_them, for each item",
        "last": "BaseNode",
    }
    assert links(picture)[:3] == [
        ("START", "next", "mine", ""),
        ("mine", "next", "helper", ""),
        ("helper", "next", "inner", ""),
    ]


def test_composites_with_nothing_in_them_are_boxes() -> None:
    empty = SequentialAgent(name="s", sub_agents=[LoopAgent(name="l"), Workflow(name="w")])
    boxes = picture_of(empty).boxes.values()
    assert [(box.name, box.is_group) for box in boxes] == [("s", True), ("l", False), ("w", False)]


def test_what_is_met_again_is_drawn_once() -> None:
    helper = LlmAgent(name="helper")
    root = LlmAgent(name="root", sub_agents=[LlmAgent(name=n, tools=[AgentTool(helper)]) for n in ("a", "b")])
    helper.tools = [AgentTool(root)]  # and round it goes
    assert links(picture_of(root)) == [
        ("root", "sub-agent", "a", ""),
        ("root", "sub-agent", "b", ""),
        ("a", "tool", "helper", "as a tool"),
        ("b", "tool", "helper", "as a tool"),
        ("helper", "tool", "root", "as a tool"),
    ]


def test_foreign_agents_tools_and_models() -> None:
    class Mine(BaseAgent):
        tools: Any = None

    class Odd:
        name = None

    child = LlmAgent(name="child", model=ScriptedModel(["Hi."]), tools=[Odd(), {"a": 1}])
    picture = picture_of(Mine(name="mine", sub_agents=[child]))
    assert details(picture) == {
        "mine": "Mine",
        "child": f"LlmAgent, {child.model.model}",
        "Odd": "tool",
        "dict": "tool",
    }
    assert [link.relation for link in picture.links] == [Relation.SUB_AGENT, Relation.TOOL, Relation.TOOL]


def test_the_same_agent_gives_the_same_picture(team: LlmAgent) -> None:
    assert picture_of(team) == picture_of(team) == picture_of(team.clone())


def test_text_is_plain() -> None:
    assert plain(" a\n\tb\x00\u202e\ud800 ", 20) == "a b\ufffd\ufffd\ufffd"
    assert plain("x" * 1000, 5) == "xxxx…"
    assert plain("می\u200cخواهم 👩\u200d💻", 20) == "می\u200cخواهم 👩\u200d💻"
    assert plain(None, 5) == "None"

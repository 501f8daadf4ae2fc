"""Edits of agents in place: the next turn sees them, as an agent made from scratch with the same fields would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.agents import LlmAgent, SequentialAgent
from newel.models import BaseLlm
from newel.planners import BuiltInPlanner, PlanReActPlanner
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import Conversation, ScriptedModel
from newel.tools import BaseTool, FunctionTool
from newel.tools.base_toolset import BaseToolset
from newel_compose import compose_once
from newel_kernel import BaseAgent, ConfigurationError, LlmRequest, LlmResponse, subtree
from newel_types import Content, FunctionCall, GenerateContentConfig, Part, ThinkingConfig

#: What each model call and callback of the current turn saw.
SEEN: list[Any] = []


class Moving(BaseLlm):
    """Notes each request. At the first one of a turn it moves to an agent that is offered, if there is one."""

    async def generate_content_async(
        self, request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        offers = request.tools_dict.get("transfer_to_agent")
        SEEN.append(
            (self.model, request.config.model_dump(exclude_none=True), [*request.tools_dict], len(request.contents))
        )
        part = Part(text='{"where": "here"}')
        if offers is not None and len([one for one in SEEN if one[0] == "request"]) == 0:
            names = offers._get_declaration().parameters_json_schema["properties"]["agent_name"]["enum"]
            part = Part(
                function_call=FunctionCall(name="transfer_to_agent", args={"agent_name": names[len(names) // 2]})
            )
        SEEN.append(("request",))
        yield LlmResponse(content=Content(role="model", parts=[part]))


class Equal:
    """A tool's function that equals every other one."""

    def __init__(self, number: int) -> None:
        self.__name__ = f"equal_{number}"
        self.__doc__ = f"Tool {number}."

    def __call__(self) -> str:
        return self.__name__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    __hash__ = None


class Few(BaseToolset):
    """One tool."""

    def __init__(self, number: int) -> None:
        super().__init__(tool_name_prefix=f"few_{number}")

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return [FunctionTool(Equal(0))]


def noting(number: int) -> Callable[..., None]:
    def note(**_: Any) -> None:
        SEEN.append(("callback", number))

    return note


class Tree:
    """The agents of a tree that is edited, and those that were taken out of it."""

    def __init__(self) -> None:
        self.made = 0
        self.spare: list[LlmAgent] = []
        self.root = self.agent(sub_agents=[self.agent(), self.agent()])

    def number(self) -> int:
        self.made += 1
        return self.made

    def agent(self, **fields: Any) -> LlmAgent:
        name = f"agent_{self.number()}"
        return LlmAgent(
            name=name,
            description=f"The one named {name}.",
            model=Moving(model=name),
            instruction="Be brief.",
            static_instruction=Content(parts=[Part(text="Static.")]),
            tools=[Equal(self.number())],
            generate_content_config=GenerateContentConfig(temperature=0.0, stop_sequences=["."]),
            planner=BuiltInPlanner(thinking_config=ThinkingConfig(thinking_budget=1)),
            before_model_callback=[noting(0)],
            before_agent_callback=[noting(0)],
            **fields,
        )

    def tool(self) -> Any:
        number = self.number()
        return Few(number) if number % 3 == 0 else Equal(number)


def replace(items: list[Any], place: int, item: Any) -> None:
    if items:
        items[place % len(items)] = item
    else:
        items.append(item)


def remove(items: list[Any], place: int) -> Any:
    return items.pop(place % len(items)) if items else None


def move_in(tree: Tree, agent: LlmAgent, _: int) -> None:
    agent.sub_agents.append(tree.spare.pop() if tree.spare else tree.agent())


def move_out(tree: Tree, agent: LlmAgent, place: int) -> None:
    if (gone := remove(agent.sub_agents, place)) is not None:
        tree.spare.append(gone)


def set_planner(tree: Tree, agent: LlmAgent, place: int) -> None:
    if isinstance(agent.planner, BuiltInPlanner):
        agent.planner.thinking_config.thinking_budget = tree.number()
        if place % 3 == 0:
            agent.planner = PlanReActPlanner()
    else:
        agent.planner = None if place % 2 else BuiltInPlanner(thinking_config=ThinkingConfig(thinking_budget=place))


def set_schema(tree: Tree, agent: LlmAgent, place: int) -> None:
    if isinstance(agent.output_schema, dict):
        agent.output_schema["title"] = f"Schema {tree.number()}"
    else:
        agent.output_schema = {"type": "object", "title": "Schema"}


def set_mode(_: Tree, agent: LlmAgent, place: int) -> None:
    if agent.parent_agent is not None:
        agent.mode = (None, "single_turn", "task")[place % 3]


Edit = Callable[[Tree, LlmAgent, int], Any]
EDITS: dict[str, Edit] = {
    "append a tool": lambda tree, agent, place: agent.tools.append(tree.tool()),
    "insert a tool": lambda tree, agent, place: agent.tools.insert(place, tree.tool()),
    "replace a tool": lambda tree, agent, place: replace(agent.tools, place, tree.tool()),
    "delete a tool": lambda tree, agent, place: remove(agent.tools, place),
    "reverse the tools": lambda tree, agent, place: agent.tools.reverse(),
    "assign tools": lambda tree, agent, place: setattr(agent, "tools", [tree.tool()]),
    "append a sub-agent": move_in,
    "remove a sub-agent": move_out,
    "replace a sub-agent": lambda tree, agent, place: replace(agent.sub_agents, place, tree.agent()),
    "reverse the sub-agents": lambda tree, agent, place: agent.sub_agents.reverse(),
    "clear the sub-agents": lambda tree, agent, place: agent.sub_agents.clear(),
    "append a callback": lambda tree, agent, place: agent.before_model_callback.append(noting(tree.number())),
    "replace a callback": lambda tree, agent, place: replace(agent.before_model_callback, place, noting(tree.number())),
    "delete a callback": lambda tree, agent, place: remove(agent.before_model_callback, place),
    "replace an agent's callback": lambda tree, agent, place: replace(
        agent.before_agent_callback, place, noting(tree.number())
    ),
    "delete an agent's callback": lambda tree, agent, place: remove(agent.before_agent_callback, place),
    "set the temperature": lambda tree, agent, place: setattr(
        agent.generate_content_config, "temperature", float(place)
    ),
    "append a stop sequence": lambda tree, agent, place: agent.generate_content_config.stop_sequences.append(
        str(place)
    ),
    "append a static part": lambda tree, agent, place: agent.static_instruction.parts.append(Part(text=str(place))),
    "set the planner": set_planner,
    "set the schema": set_schema,
    "set the mode": set_mode,
    "set the instruction": lambda tree, agent, place: setattr(agent, "instruction", f"Instruction {place}."),
    "set the description": lambda tree, agent, place: setattr(agent, "description", f"Description {place}."),
    "bar the parent": lambda tree, agent, place: setattr(agent, "disallow_transfer_to_parent", bool(place % 2)),
    "bar the peers": lambda tree, agent, place: setattr(agent, "disallow_transfer_to_peers", bool(place % 2)),
}


async def turn(agent: BaseAgent, service: InMemorySessionService, session: str) -> list[Any]:
    """What the agent's models and callbacks see in one turn, and who speaks."""
    SEEN.clear()
    runner = Runner(agent=agent, app_name="app", session_service=service, composition=compose_once("standard"))
    return await run(runner, session)


async def run(runner: Runner, session: str) -> list[Any]:
    SEEN.clear()
    events = [event async for event in runner.run_async(user_id="ada", session_id=session, new_message="hi")]
    return [*SEEN, *[event.author for event in events]]


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=4
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_turn_after_edits_is_that_of_an_agent_made_from_scratch(rounds: list[list[tuple[str, int, int]]]) -> None:
    async def check() -> None:
        tree, service = Tree(), InMemorySessionService()
        runner = Runner(agent=tree.root, app_name="app", session_service=service, composition=compose_once("standard"))
        await service.create_session(app_name="app", user_id="ada", session_id="s0")
        await run(runner, "s0")
        for number, edits in enumerate(rounds):
            for name, which, place in edits:
                agents = list(subtree(tree.root))
                EDITS[name](tree, agents[which % len(agents)], place)
            now, copy = f"s{number}", f"s{number + 1}"
            await runner.fork_session(user_id="ada", session_id=now, new_session_id=copy)
            expected = await turn(tree.root.clone(), service, now)
            assert await run(runner, copy) == expected

    asyncio.run(check())


class Learning(BaseLlm):
    """Calls `learn`, then does what it has learnt."""

    calls: list[str]

    async def generate_content_async(
        self, request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        SEEN.append({name: _enum(tool) for name, tool in request.tools_dict.items()})
        name = self.calls.pop(0)
        part = (
            Part(text="done") if name == "done" else Part(function_call=FunctionCall(name=name, args={"request": "x"}))
        )
        yield LlmResponse(content=Content(role="model", parts=[part]))


def _enum(tool: BaseTool) -> Any:
    declaration = tool._get_declaration()
    schema = declaration.parameters_json_schema if declaration is not None else None
    return ((schema or {}).get("properties") or {}).get("agent_name", {}).get("enum")


@pytest.mark.parametrize("place", ["own", "peer"])
def test_the_next_step_of_a_run_sees_what_a_tool_appended(place: str) -> None:
    SEEN.clear()

    def learn() -> str:
        """Learn more."""
        agent.tools.append(Equal(1))
        (agent if place == "own" else root).sub_agents.append(LlmAgent(name="new", model=ScriptedModel(["new"])))
        return "learnt"

    agent = LlmAgent(name="agent", model=Learning(model="m", calls=["learn", "equal_1", "done"]), tools=[learn])
    root = LlmAgent(name="root", model=ScriptedModel([transfer("agent")]), sub_agents=[agent])
    assert Conversation(root).say("hi").text == "done"
    assert SEEN[0] == {"transfer_to_agent": ["root"], "learn": None}
    new = ["new", "root"] if place == "own" else ["root", "new"]
    assert SEEN[1] == SEEN[2] == {"transfer_to_agent": new, "learn": None, "equal_1": None}


def transfer(name: str) -> FunctionCall:
    return FunctionCall(name="transfer_to_agent", args={"agent_name": name})


def test_an_agent_that_was_appended_can_be_transferred_to_and_back() -> None:
    root = LlmAgent(name="root", model=ScriptedModel(["alone", transfer("leaf"), "root again"]))
    conversation = Conversation(root, distribution="adk")  # in `standard` a model gets only to its own targets
    assert conversation.say("hi").text == "alone"
    leaf = LlmAgent(name="leaf", model=ScriptedModel(["leaf", transfer("root")]))
    root.sub_agents.append(SequentialAgent(name="line"))
    root.sub_agents[0].sub_agents.append(leaf)
    assert conversation.say("hi").text == "leaf"
    assert leaf.root_agent is root
    root.sub_agents.clear()
    assert conversation.say("hi").text == "root again"
    assert root.sub_agents == []


def test_an_agent_that_was_taken_out_has_no_parent_and_can_go_elsewhere() -> None:
    leaf = LlmAgent(name="leaf")
    first = LlmAgent(name="first", model=ScriptedModel(["one", "two"]), sub_agents=[leaf])
    second = LlmAgent(name="second", model=ScriptedModel(["three"]))
    conversation = Conversation(first)
    conversation.say("hi")
    first.sub_agents.remove(leaf)
    conversation.say("hi")
    assert leaf.parent_agent is None
    second.sub_agents.append(leaf)
    Conversation(second).say("hi")
    assert leaf.parent_agent is second


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (lambda root, leaf: root.sub_agents.append(LlmAgent(name="leaf")), "two sub-agents named 'leaf'"),
        (lambda root, leaf: root.sub_agents.append(leaf), "two sub-agents named 'leaf'"),
        (lambda root, leaf: leaf.sub_agents.append(root), "the agent 'root' is in two places of the tree 'root'"),
        (lambda root, leaf: leaf.sub_agents.append(leaf), "the agent 'leaf' is in two places of the tree 'root'"),
        (
            lambda root, leaf: leaf.sub_agents.append(LlmAgent(name="root")),
            "two agents of the tree 'root' are named 'root'",
        ),
        (
            lambda root, leaf: root.sub_agents.append("leaf"),
            r"sub_agents\[1\] of the agent 'root' is 'leaf', not an agent",
        ),
        (
            lambda root, leaf: root.sub_agents.append(
                LlmAgent(name="other", sub_agents=[LlmAgent(name="x")]).sub_agents[0]
            ),
            "agent 'x' already has the parent 'other'",
        ),
    ],
)
def test_an_edit_that_makes_no_tree_is_an_error_of_each_turn_until_it_is_mended(edit: Any, error: str) -> None:
    leaf = LlmAgent(name="leaf")
    root = LlmAgent(name="root", model=ScriptedModel(["before", transfer("leaf"), transfer("leaf")]), sub_agents=[leaf])
    conversation = Conversation(root)
    conversation.say("hi")
    before = [list(root.sub_agents), list(leaf.sub_agents)]
    edit(root, leaf)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=error):
            conversation.say("hi")
    root.sub_agents[:], leaf.sub_agents[:] = before
    root.model = ScriptedModel(["after"])
    assert conversation.say("hi").text == "after"


def test_a_mode_that_is_set_later_gives_the_parent_its_tool() -> None:
    helper = LlmAgent(name="helper", model=ScriptedModel(["helped"]))
    root = LlmAgent(
        name="root",
        sub_agents=[helper],
        model=ScriptedModel([FunctionCall(name="helper", args={"request": "x"}), "ok", "no"]),
    )
    helper.mode = "single_turn"
    turn = Conversation(root).say("hi")
    assert (turn.results, turn.text) == ([{"result": "helped"}], "ok")
    helper.mode = None
    assert "helper" not in Conversation(root).say("hi").text
    assert root.tools == []

"""LangGraphAgent over graphs of our own that look like LangGraph's."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from newel.agents import LangGraphAgent, LlmAgent, SequentialAgent
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import Conversation, ScriptedModel
from newel_compose import compose
from newel_kernel import ModelError
from newel_types import Part

_ROLES = {"human": "user", "ai": "assistant"}


@pytest.fixture(autouse=True, params=["with LangChain", "without LangChain"])
def _messages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph gets LangChain's messages, or dicts if it is not installed; whether it is installed must not matter."""
    module: Any = None
    if request.param == "with LangChain":
        kinds = {"SystemMessage": "system", "HumanMessage": "human", "AIMessage": "ai"}
        module = SimpleNamespace(**{name: partial(SimpleNamespace, type=kind) for name, kind in kinds.items()})
    monkeypatch.setitem(sys.modules, "langchain_core.messages", module)


def _pair(message: Any) -> tuple[str, Any]:
    if isinstance(message, dict):
        return message["role"], message["content"]
    return _ROLES.get(message.type, message.type), message.content


class Graph:
    checkpointer: Any = None

    def __init__(self) -> None:
        self.inputs: list[list[tuple[str, str]]] = []
        self.threads: dict[str, list[Any]] = {}

    def invoke(self, state: dict[str, Any], config: dict[str, Any]) -> Any:
        pairs = [_pair(message) for message in state["messages"]]
        self.inputs.append(pairs)
        answer = SimpleNamespace(content=f"answer {len(self.inputs)}")
        self.threads.setdefault(config["configurable"]["thread_id"], []).extend([*pairs, answer])
        return {"messages": [*state["messages"], answer]}


class Remembering(Graph):
    checkpointer = object()

    async def ainvoke(self, state: dict[str, Any], config: dict[str, Any]) -> Any:
        return self.invoke(state, config)

    def get_state(self, config: dict[str, Any]) -> Any:
        return SimpleNamespace(values={"messages": self.threads.get(config["configurable"]["thread_id"], [])})


def talk(graph: Any, *messages: str, **fields: Any) -> list[Any]:
    agent = LangGraphAgent(name="graph", graph=graph, **fields)
    runner = Runner(
        agent=agent,
        app_name="x",
        session_service=InMemorySessionService(),
        auto_create_session=True,
        composition=compose("adk"),
    )

    async def go() -> list[Any]:
        events = []
        for message in messages:
            events += [e async for e in runner.run_async(user_id="u", session_id="s", new_message=message)]
        return events

    return asyncio.run(go())


def test_a_graph_without_memory_gets_the_whole_dialogue() -> None:
    graph = Graph()
    events = talk(graph, "one", "two", instruction="Be brief.")
    assert [(event.author, event.content.parts[0].text) for event in events] == [
        ("graph", "answer 1"),
        ("graph", "answer 2"),
    ]
    assert graph.inputs[1] == [
        ("system", "Be brief."),
        ("user", "one"),
        ("assistant", "answer 1"),
        ("user", "two"),
    ]


def test_a_graph_with_memory_gets_what_is_new() -> None:
    graph = Remembering()
    talk(graph, "one", "two", instruction="Be brief.")
    assert graph.inputs == [[("system", "Be brief."), ("user", "one")], [("user", "two")]]


def test_blocks_of_an_answer_are_joined() -> None:
    class Blocks(Graph):
        def invoke(self, state: Any, config: Any) -> Any:
            return {"messages": [{"content": [{"type": "text", "text": "a"}, "b"]}]}

    assert talk(Blocks(), "x")[0].content.parts[0].text == "ab"


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="pip install langgraph"):
        LangGraphAgent(name="graph", graph=object())
    with pytest.raises(ModelError, match="returned no `messages`"):
        talk(SimpleNamespace(invoke=lambda state, config: {}), "x")


class Asking(Remembering):
    """Asks before it does something, and ends with what it was told."""

    def __init__(self, question: Any = "delete all?") -> None:
        super().__init__()
        self.question, self.waiting, self.resumed = question, False, []

    def get_state(self, config: dict[str, Any]) -> Any:
        interrupts = [SimpleNamespace(id="i1", value=self.question)] if self.waiting else []
        return SimpleNamespace(values={"messages": []}, tasks=[SimpleNamespace(interrupts=interrupts)])

    def invoke(self, state: Any, config: dict[str, Any]) -> Any:
        if self.waiting:
            self.waiting = False
            self.resumed.append(state.resume)
            return {"messages": [{"role": "assistant", "content": f"told {state.resume}"}]}
        self.waiting = True
        return {"messages": state["messages"], "__interrupt__": [SimpleNamespace(id="i1", value=self.question)]}


@pytest.mark.parametrize(("question", "asked"), [("delete all?", "delete all?"), ({"q": "ä"}, '{"q": "ä"}')])
def test_a_question_reaches_the_user_and_the_answer_the_graph(
    question: Any, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = SimpleNamespace(Command=lambda resume: SimpleNamespace(resume=resume))
    monkeypatch.setitem(sys.modules, "langgraph.types", types)
    graph = Asking(question)
    events = talk(graph, "clean up", "yes", "clean up again")
    assert [event.content.parts[0].text for event in events] == [asked, "told yes", asked]
    assert graph.resumed == ["yes"]


def test_the_users_own_words_are_no_answer() -> None:
    asking = Asking()
    asking.checkpointer = None
    with pytest.raises(ModelError, match=r"called interrupt\(\) and has no checkpointer"):
        talk(asking, "clean up")
    with pytest.raises(ModelError, match="ended without an answer"):
        talk(SimpleNamespace(invoke=lambda state, config: state), "x")


def rewind(chat: Conversation, invocation_id: str) -> None:
    going = chat.runner.rewind_async(
        user_id=chat.user_id, session_id=chat.session_id, rewind_before_invocation_id=invocation_id
    )
    asyncio.run(going)


def test_a_graph_sees_what_stands_after_a_rewind_with_media_and_other_agents_words() -> None:
    for graph in (Graph(), Remembering()):
        clerk = LlmAgent(name="clerk", model=ScriptedModel(["c1", "c2", "c3"]))
        root = SequentialAgent(name="both", sub_agents=[clerk, LangGraphAgent(name="graph", graph=graph)])
        chat = Conversation(root)
        chat.say("one")
        rewind(chat, chat.say("two")[0].invocation_id)
        chat.say([Part(text="three"), Part.from_bytes(data=b"x", mime_type="image/png")])
        told = str(graph.inputs[-1])
        assert "one" in told
        assert "answer 1" in told
        assert "two" not in told
        assert "answer 2" not in told
        assert "data:image/png;base64,eA==" in told
        assert "[clerk] said: c3" in told


def test_a_thread_goes_on_after_a_rewind_with_what_is_new() -> None:
    graph = Remembering()
    chat = Conversation(LangGraphAgent(name="graph", graph=graph))
    chat.say("one")
    rewind(chat, chat.say("two")[0].invocation_id)
    chat.say("three")
    chat.say("four")
    assert graph.inputs[2:] == [[("user", "one"), ("assistant", "answer 1"), ("user", "three")], [("user", "four")]]


def test_a_real_graph_remembers_each_user_apart_and_goes_on_with_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # its own messages
    graphs, memory = pytest.importorskip("langgraph.graph"), pytest.importorskip("langgraph.checkpoint.memory")
    ask = pytest.importorskip("langgraph.types").interrupt

    def answer(state: Any) -> Any:
        words = [message.content for message in state["messages"]]
        if words[-1] == "delete":
            words.append(ask("all?"))
        return {"messages": [{"role": "assistant", "content": " ".join(words)}]}

    answer.__annotations__["state"] = graphs.MessagesState
    builder = graphs.StateGraph(graphs.MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(graphs.START, "answer")
    agent = LangGraphAgent(name="graph", graph=builder.compile(checkpointer=memory.InMemorySaver()))
    store = InMemorySessionService()
    said = {}
    for user in ("ann", "bob"):
        runner = Runner(agent=agent, app_name="x", session_service=store, auto_create_session=True)
        events = [
            event
            for word in ("hello", "delete", user)
            for event in runner.run(user_id=user, session_id="s", new_message=word)
        ]
        said[user] = [event.content.parts[0].text for event in events]
    assert said == {user: ["hello", "all?", f"hello hello delete {user}"] for user in ("ann", "bob")}

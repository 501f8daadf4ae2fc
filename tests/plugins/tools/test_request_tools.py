"""Tools that shape the request: artifacts, memory, examples, the service's own tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel import tools
from newel.agents import LlmAgent
from newel.examples import BaseExampleProvider, Example
from newel.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from newel.memory.memory_entry import MemoryEntry
from newel.models.scripted import ScriptedModel
from newel.tools import ExampleTool, GoogleSearchTool, VertexAiSearchTool, load_artifacts, load_memory, preload_memory
from newel_kernel import ConfigurationError
from newel_types import Blob, Content, FunctionCall, FunctionResponse, Part

WHERE = {"app_name": "tearoom", "user_id": "ada", "session_id": "s1"}


def agent(*steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedModel(steps), **fields)


def requests(root: LlmAgent) -> Any:
    return root.model.requests  # type: ignore[union-attr]


def system(root: LlmAgent) -> str:
    return str(requests(root)[0].config.system_instruction)


# --- artifacts --------------------------------------------------------------------------------------------------------


def reading(talk: Any, names: Any, artifacts: dict[str, Part]) -> tuple[LlmAgent, Any]:
    root = agent(FunctionCall(name="load_artifacts", args={"artifact_names": names}), "read", tools=[load_artifacts])
    started = talk(root)

    async def save() -> None:
        for name, part in artifacts.items():
            await started.runner.artifact_service.save_artifact(**WHERE, filename=name, artifact=part)

    asyncio.run(save())
    started.say("tea")
    return root, started


def data(kind: str, value: bytes) -> Part:
    return Part(inline_data=Blob(mime_type=kind, data=value))


def test_the_artifacts_asked_for_are_in_the_next_request_only(talk: Any) -> None:
    root, started = reading(talk, ["a.txt"], {"a.txt": Part(text="body"), "b.txt": Part(text="other")})
    assert '["a.txt", "b.txt"]' in system(root)
    words = requests(root)[1].contents[-1].parts
    assert [part.text for part in words] == ["The artifact a.txt:", "body"]
    assert len(requests(root)[0].contents) == 1
    assert not any("body" in event.model_dump_json() for event in started.session.events)


@pytest.mark.parametrize(
    ("artifact", "text"),
    [
        (data("text/csv; charset=utf-8", b"1,2"), "1,2"),
        (data("application/json", b"{}"), "{}"),
        (data("application/zip", b"x" * 2000), "[f is binary data (application/zip, 2,000 bytes) and cannot be shown]"),
    ],
)
def test_data_that_models_do_not_take_goes_as_text(talk: Any, artifact: Part, text: str) -> None:
    root, _ = reading(talk, ["f"], {"f": artifact})
    assert requests(root)[1].contents[-1].parts[1].text == text


def test_pictures_go_as_they_are_and_a_users_artifact_needs_no_prefix(talk: Any) -> None:
    root, _ = reading(talk, ["cat"], {"user:cat": data("image/png", b"png")})
    assert requests(root)[1].contents[-1].parts[1].inline_data.data == b"png"


def test_a_name_that_does_not_exist_is_left_out(talk: Any, caplog: pytest.LogCaptureFixture) -> None:
    root, _ = reading(talk, ["nope"], {"a": Part(text="x")})
    assert requests(root)[1].contents[-1].parts[0].function_response is not None
    assert "'nope' does not exist" in caplog.text


@pytest.mark.parametrize("names", ["a", None, [1, {}]])
def test_names_that_are_none_do_no_harm(talk: Any, names: Any) -> None:
    root, _ = reading(talk, names, {"a": Part(text="x")})
    assert len(requests(root)) == 2


# --- memory -----------------------------------------------------------------------------------------------------------


class Memory(BaseMemoryService):
    def __init__(self, *texts: str, fault: Exception | None = None) -> None:
        self.texts, self.fault, self.queries = texts, fault, list[str]()

    async def add_session_to_memory(self, session: Any) -> None:
        raise NotImplementedError

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> Any:
        self.queries.append(query)
        if self.fault is not None:
            raise self.fault
        said = [Content(parts=[Part(text=text)] if text else []) for text in self.texts]
        found = [MemoryEntry(author="ada", timestamp="2026-01-01", content=content) for content in said]
        return SearchMemoryResponse(memories=found)


def test_what_is_remembered_is_in_the_instruction(talk: Any) -> None:
    root = agent("ok", tools=[preload_memory])
    memory = Memory("likes green tea", "")
    talk(root, memory_service=memory).say("tea?")
    assert memory.queries == ["tea?"]
    assert "<PAST_CONVERSATIONS>\nTime: 2026-01-01\nada: likes green tea\n</PAST_CONVERSATIONS>" in system(root)
    assert requests(root)[0].config.tools is None


@pytest.mark.parametrize("memory", [Memory(), Memory(fault=OSError("down"))], ids=["empty", "down"])
def test_without_a_memory_the_agent_goes_on(talk: Any, memory: Memory) -> None:
    root = agent("ok", tools=[preload_memory])
    talk(root, memory_service=memory).say("tea")
    assert "PAST_CONVERSATIONS" not in system(root)


def test_load_memory_searches_when_the_model_asks(talk: Any) -> None:
    root = agent(FunctionCall(name="load_memory", args={"query": "tea"}), "ok", tools=[load_memory])
    memory = Memory("green")
    found = talk(root, memory_service=memory).say("tea")[1].get_function_responses()[0].response["result"]
    assert memory.queries == ["tea"]
    assert found.memories[0].author == "ada"
    assert "load_memory" in system(root)


# --- examples ---------------------------------------------------------------------------------------------------------


def example(question: str, *answer: Any) -> Example:
    output = [Content(role="model" if index % 2 == 0 else "user", parts=[part]) for index, part in enumerate(answer)]
    return Example(input=Content(parts=[Part(text=question)]), output=output)


def test_examples_are_shown_as_conversations(talk: Any) -> None:
    shown = example(
        "roll",
        Part(function_call=FunctionCall(name="roll", args={"sides": 6})),
        Part(function_response=FunctionResponse(name="roll", response={"n": 4})),
        Part(text="a 4"),
    )
    root = agent("ok", tools=[ExampleTool([shown, {"input": "bye", "output": "see you"}])])
    talk(root).say("tea")
    assert (
        'EXAMPLE 1\n[user]\nroll\n[model]\n```\nroll(sides=6)\n```\n[user]\n```\nroll returned {"n": 4}\n```\n'
        "[model]\na 4\n\nEXAMPLE 2\n[user]\nbye\n[model]\nsee you\n\n</EXAMPLES>"
    ) in system(root)
    assert requests(root)[0].config.tools is None


class Finder(BaseExampleProvider):
    def get_examples(self, query: str) -> list[Example]:
        return [example(query, Part(text="found"))] if query == "tea" else []


@pytest.mark.parametrize(("message", "shown"), [("tea", True), ("milk", False)])
def test_a_provider_is_asked_with_the_users_text(talk: Any, message: str, shown: bool) -> None:
    root = agent("ok", tools=[ExampleTool(Finder())])
    talk(root).say(message)
    assert ("found" in system(root)) is shown


def test_examples_must_be_examples() -> None:
    with pytest.raises(ConfigurationError, match="needs a list of examples"):
        ExampleTool("mine")  # type: ignore[arg-type]


# --- the service's own tools ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("google_search", "google_search"),
        ("url_context", "url_context"),
        ("code_execution", "code_execution"),
        ("enterprise_web_search", "enterprise_web_search"),
        ("google_maps_grounding", "google_maps"),
    ],
)
def test_a_service_tool_is_an_entry_of_its_own(talk: Any, name: str, field: str) -> None:
    def own() -> str:
        return "x"

    tool = getattr(tools, name)
    root = agent("ok", tools=[tool, own, tool])
    talk(root).say("tea")
    first, second = requests(root)[0].config.tools
    assert first.model_dump(exclude_none=True) == {field: {}}
    assert [declared.name for declared in second.function_declarations] == ["own"]


def test_google_search_may_choose_the_model(talk: Any) -> None:
    root = agent("ok", tools=[GoogleSearchTool(model="searcher")])
    talk(root).say("tea")
    assert requests(root)[0].model == "searcher"


def test_vertex_ai_search_names_its_store(talk: Any) -> None:
    class Mine(VertexAiSearchTool):
        def _build_vertex_ai_search_config(self, readonly_context: Any) -> Any:
            built = super()._build_vertex_ai_search_config(readonly_context)
            return built.model_copy(update={"filter": f"user = {readonly_context.user_id!r}"})

    root = agent("ok", tools=[Mine(data_store_id="stores/teas", max_results=3)])
    talk(root).say("tea")
    search = requests(root)[0].config.tools[0].retrieval.vertex_ai_search
    assert search.model_dump(exclude_none=True) == {
        "datastore": "stores/teas",
        "max_results": 3,
        "filter": "user = 'ada'",
    }


@pytest.mark.parametrize(
    "options", [{}, {"data_store_id": "a", "search_engine_id": "b"}, {"data_store_id": "a", "data_store_specs": []}]
)
def test_vertex_ai_search_needs_one_place_to_search(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        VertexAiSearchTool(**options)

"""What the kernel promises of the objects that plugins pass around: requests, responses, sessions, stores, errors."""

from __future__ import annotations

import asyncio
import pickle
import re
from typing import Any

import pytest
from tests.kernel.stores import DictSessionService

from newel_kernel import (
    BaseSessionService,
    BaseTool,
    BaseToolset,
    CompositionError,
    ConfigurationError,
    DuplicateToolError,
    Effect,
    Event,
    EventActions,
    Key,
    LlmRequest,
    LlmResponse,
    ModelError,
    Session,
    brief,
    did_you_mean,
    seam,
)
from newel_types import Content, FinishReason, FunctionDeclaration, GenerateContentConfig, Part, Tool

COUNT = Key[int]("count")


class Named(BaseTool):
    """A tool that declares its name, or nothing."""

    def __init__(self, name: str, *, hidden: bool = False) -> None:
        super().__init__(name=name, description=f"the tool {name}")
        self.hidden = hidden

    def _get_declaration(self) -> FunctionDeclaration | None:
        return None if self.hidden else FunctionDeclaration(name=self.name, description=self.description)


def declared(request: LlmRequest) -> list[list[str | None]]:
    return [[one.name for one in tool.function_declarations or ()] for tool in request.config.tools or ()]


def made(*, early: bool) -> LlmRequest:
    """A request whose configuration was made before anything is added to it, or is not yet."""
    return LlmRequest("m", config=GenerateContentConfig() if early else None)


@pytest.mark.parametrize("early", [False, True])
class TestRequest:
    """A request is the same whether its configuration is there from the start or is put together at the end."""

    def test_instructions_are_paragraphs_and_empty_ones_are_none(self, early: bool) -> None:
        request = made(early=early)
        request.append_instructions(["", "one", "", "two"])
        request.append_instruction("three")
        assert request.config.system_instruction == "one\n\ntwo\n\nthree"

    def test_without_instructions_there_is_none(self, early: bool) -> None:
        request = made(early=early)
        request.append_instructions([])
        request.append_instruction("")
        assert request.config.system_instruction is None

    def test_tools_are_declared_in_one_entry_and_dispatched_by_name(self, early: bool) -> None:
        request, tools = made(early=early), [Named(name) for name in ("a", "b", "c")]
        request.append_tools([tools[0], Named("secret", hidden=True), tools[0], tools[1]])
        request.append_tools([Named("secret", hidden=True)])
        request.append_tools([tools[2]])
        assert declared(request) == [["a", "b", "c"]]
        assert request.tools_dict == {"a": tools[0], "b": tools[1], "c": tools[2]}

    def test_two_tools_of_one_name_are_refused_and_named(self, early: bool) -> None:
        request, one, other = made(early=early), Named("a"), Named("a")
        request.append_tools([one])
        with pytest.raises(DuplicateToolError, match=r"two tools are named 'a': .*Named and .*Named; rename") as raised:
            request.append_tools([other])
        assert raised.value.tools == (one, other)
        assert request.tools_dict == {"a": one}

    def test_labels_are_defaults_and_outlive_a_new_configuration(self, early: bool) -> None:
        request = made(early=early)
        request.set_default_label("who", "clerk")
        request.set_default_label("who", "nobody")
        request.set_default_label("where", "here")
        assert request.config.labels == {"who": "clerk", "where": "here"}
        request.set_default_label("when", "now")
        assert request.config.labels == {"who": "clerk", "where": "here", "when": "now"}
        request.config = GenerateContentConfig(labels={"where": "there"})
        assert request.config.labels == {"where": "there", "who": "clerk", "when": "now"}

    def test_requests_may_share_default_labels(self, early: bool) -> None:
        shared = {"who": "clerk", "where": "here"}
        one, other = made(early=early), made(early=early)
        for request in (one, other):
            request.set_default_labels(shared)
        one.set_default_label("who", "nobody")
        one.set_default_label("when", "now")
        one.config.labels = {**(one.config.labels or {}), "where": "there"}
        assert one.config.labels == {"who": "clerk", "where": "there", "when": "now"}
        assert other.config.labels == shared == {"who": "clerk", "where": "here"}
        other.config.labels["who"] = "cook"
        assert shared["who"] == "clerk"

    def test_a_copy_has_its_own_contents_and_configuration(self, early: bool) -> None:
        request = made(early=early)
        request.contents.append(Content(role="user", parts=[Part(text="tea")]))
        request.append_tools([Named("a")])
        request.set_default_label("who", "clerk")
        request.stash[COUNT] = 1
        for deep in (False, True):
            copy = request.model_copy(update={"model": "n"}, deep=deep)
            assert (copy.model, copy.contents, copy.tools_dict) == ("n", request.contents, request.tools_dict)
            assert (declared(copy), copy.config.labels, copy.stash[COUNT]) == ([["a"]], {"who": "clerk"}, 1)
            assert (copy.contents[0] is request.contents[0]) is not deep
            copy.contents.clear()
            copy.tools_dict.clear()
            copy.stash[COUNT] = 2
            copy.config.temperature = 1.0
            copy.config = GenerateContentConfig()
            assert copy.config.labels == {"who": "clerk"}
        assert (request.model, len(request.contents), len(request.tools_dict)) == ("m", 1, 1)
        assert (request.stash[COUNT], request.config.temperature) == (1, None)


def test_instructions_join_those_of_a_configuration() -> None:
    content = Content(role="system", parts=[Part(text="one")])
    for given, expected in (
        ("one", "one\n\ntwo"),
        (content, Content(role="system", parts=[Part(text="one"), Part(text="two")])),
        (Content(role="system"), Content(role="system", parts=[Part(text="two")])),
    ):
        request = LlmRequest("m", config=GenerateContentConfig(system_instruction=given))
        request.append_instruction("two")
        assert request.config.system_instruction == expected
    assert content.parts == [Part(text="one")]


def test_tools_join_the_first_entry_with_functions() -> None:
    entry = Tool(function_declarations=[FunctionDeclaration(name="own")])
    request = LlmRequest("m", config=GenerateContentConfig(tools=[Tool(), entry]))
    request.append_tools([Named("a")])
    assert declared(request) == [[], ["own", "a"]]
    request = LlmRequest("m", config=GenerateContentConfig(tools=[Tool()]))
    request.append_tools([Named("secret", hidden=True)])
    assert declared(request) == [[]]
    request.append_tools([Named("a")])
    assert declared(request) == [[], ["a"]]


def test_instructions_in_parts_stay_parts() -> None:
    part = Part(text="one")
    for given in (part, [part]):
        config = GenerateContentConfig.model_construct(system_instruction=given)
        request = LlmRequest("m", config=config)
        request.append_instruction("two")
        assert request.config.system_instruction == [part, "two"]


def test_a_request_takes_the_contents_that_it_is_given() -> None:
    contents = [Content(role="user", parts=[Part(text="tea")])]
    assert LlmRequest("m", contents=contents).contents is contents


def test_a_deep_copy_of_a_request_shares_nothing() -> None:
    request = LlmRequest("m")
    request.contents.append(Content(role="user", parts=[Part(text="tea")]))
    request.append_tools([Named("a")])
    copy = request.model_copy(deep=True)
    copy.contents[0].parts[0].text = "coffee"
    copy.config.tools[0].function_declarations.clear()
    assert (request.contents[0].parts[0].text, declared(request)) == ("tea", [["a"]])


@pytest.mark.parametrize("kind", [LlmResponse, Event])
def test_a_response_s_fields_become_what_they_are_each_by_itself(kind: Any) -> None:
    content = Content(role="model", parts=[Part(text="tea")])
    assert kind(content=content, finish_reason="STOP").finish_reason is FinishReason.STOP
    assert kind(content=content, usage_metadata={"prompt_token_count": 3}).usage_metadata.prompt_token_count == 3
    assert kind(content={"role": "model", "parts": [{"text": "tea"}]}).content == content
    assert kind(content=content, custom_metadata={"k": 1}).custom_metadata == {"k": 1}
    assert kind(content=content).content is content


def test_a_tool_keeps_what_it_is_made_with() -> None:
    tool = BaseTool(name="a", description="b", is_long_running=True, custom_metadata={"k": 1}, effect="at_most_once")
    assert (tool.name, tool.description, tool.is_long_running, tool.custom_metadata) == ("a", "b", True, {"k": 1})
    assert tool.effect is Effect.AT_MOST_ONCE
    plain = BaseTool(name="a")
    assert (plain.effect, plain.custom_metadata, plain.is_long_running) == (Effect.IDEMPOTENT, None, False)


def test_what_a_tool_and_a_toolset_lack_is_named() -> None:
    tool: Any = BaseTool(name="a")
    with pytest.raises(NotImplementedError, match="BaseTool does not implement run_async"):
        asyncio.run(tool.run_async(args={}, tool_context=None))
    with pytest.raises(NotImplementedError, match="BaseToolset does not implement get_tools"):
        asyncio.run(BaseToolset().get_tools())


ANSWER = {"role": "model", "parts": [{"text": "tea"}]}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            {"candidates": [{"content": ANSWER, "finish_reason": "MAX_TOKENS", "avg_logprobs": -0.5}]},
            {"content": "tea", "finish_reason": "MAX_TOKENS", "avg_logprobs": -0.5},
        ),
        ({"candidates": [{"content": {"role": "model"}, "finish_reason": "STOP"}]}, {"finish_reason": "STOP"}),
        ({"candidates": [{"finish_reason": "STOP"}]}, {"finish_reason": "STOP"}),
        (
            {"candidates": [{"finish_reason": "SAFETY", "finish_message": "unsafe"}]},
            {"finish_reason": "SAFETY", "error_code": "SAFETY", "error_message": "unsafe"},
        ),
        (
            {"candidates": [{"content": {"role": "model"}, "finish_reason": "SAFETY"}]},
            {"finish_reason": "SAFETY", "error_code": "SAFETY"},
        ),
        ({"candidates": [{"content": {"role": "model"}, "finish_message": "cut"}]}, {"error_message": "cut"}),
        (
            {"candidates": [{"content": ANSWER, "grounding_metadata": {"web_search_queries": ["tea"]}}]},
            {"content": "tea", "searches": ["tea"]},
        ),
        (
            {"prompt_feedback": {"block_reason": "SAFETY", "block_reason_message": "blocked"}},
            {"error_code": "SAFETY", "error_message": "blocked"},
        ),
        ({}, {"error_code": "UNKNOWN_ERROR", "error_message": "Unknown error."}),
    ],
)
def test_a_response_is_the_first_candidate_or_an_error(answer: dict[str, Any], expected: dict[str, Any]) -> None:
    usage = {"prompt_token_count": 3}
    response = LlmResponse.create({**answer, "model_version": "m-1", "usage_metadata": usage})
    assert response.usage_metadata is not None
    assert (response.model_version, response.usage_metadata.prompt_token_count) == ("m-1", 3)
    parts = response.content.parts if response.content is not None else None
    reason = response.finish_reason
    shown = {
        "content": parts[0].text if parts else None,
        "finish_reason": None if reason is None else reason.value,
        "searches": response.grounding_metadata and response.grounding_metadata.web_search_queries,
        **{name: getattr(response, name) for name in ("error_code", "error_message", "avg_logprobs")},
    }
    assert {name: value for name, value in shown.items() if value is not None} == expected


def session() -> Session:
    view = Session(id="s", app_name="app", user_id="ada", state={"a": [1]}, events=[Event(author="user", message="x")])
    view.version, view.lease = 7, 3
    view.stash[COUNT] = 1
    return view


@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_of_a_session_has_its_own_events_and_nothing_that_was_derived(deep: bool) -> None:
    view = session()
    copy = view.model_copy(deep=deep, update={"user_id": "bob"})
    assert (copy.id, copy.user_id, copy.version, copy.lease) == ("s", "bob", 7, 3)
    assert (copy.events[0] is view.events[0]) is not deep
    assert (copy.events[0].content is view.events[0].content) is not deep
    assert COUNT not in copy.stash
    copy.events.clear()
    assert len(view.events) == 1
    assert view.stash[COUNT] == 1


def test_a_session_keeps_its_version_and_lease_on_its_way_to_another_process() -> None:
    copy = pickle.loads(pickle.dumps(session()))
    assert (copy.version, copy.lease, copy.state, copy.session_id) == (7, 3, {"a": [1]}, "s")
    assert COUNT not in copy.stash
    assert Session(id="s", events=[Event(author="user"), Event(author="user")]).version == 2


def test_a_store_applies_what_it_commits_to_the_view() -> None:
    async def main() -> None:
        store = DictSessionService()
        view = await store.create_session(app_name="app", user_id="ada", session_id="s", state={"gone": 1})
        delta = {"kept": 1, "gone": None, "temp:passing": 2}
        for number in range(2):
            event = Event(author="user", timestamp=float(number), actions=EventActions(state_delta=dict(delta)))
            assert await BaseSessionService.append_event(store, view, event) is event
            assert view.state["temp:passing"] == 2
            assert event.actions.state_delta == {"kept": 1, "gone": None}
            assert (len(view.events), view.version, view.last_update_time) == (number + 1, number + 1, float(number))
            with pytest.raises((AttributeError, TypeError)):
                event.author = "somebody else"
        partial = Event(author="user", partial=True, actions=EventActions(state_delta={"kept": 5}))
        assert await BaseSessionService.append_event(store, view, partial) is partial
        assert (len(view.events), view.version, view.state["kept"]) == (2, 2, 1)
        assert "gone" not in view.state

    asyncio.run(main())


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}")


@pytest.mark.parametrize("make", [seam.counted_uuid, seam.random_uuid])
def test_ids_are_uuids_and_unique(make: Any) -> None:
    ids = [make() for _ in range(9_000)]
    assert len(set(ids)) == 9_000
    assert [one for one in ids if not UUID.fullmatch(one)] == []


def test_a_process_counts_its_ids_from_a_start_of_its_own() -> None:
    makers = [seam._Ids() for _ in range(50)]
    assert len({one.prefix for one in makers}) == 50
    assert len({next(one.block()) for one in makers}) == 50
    one = makers[0]
    one.random.append("handed out by the parent")
    one.counted = one.block()
    before = one.prefix
    one.restart()
    assert one.prefix != before
    assert one.random == [*one.counted] == []


def test_counted_ids_grow_from_block_to_block() -> None:
    ids = [*seam._Ids().block()]
    assert len(ids) == 16**3
    counted = [seam.counted_uuid() for _ in range(9_000)]
    for one in (ids, counted):
        assert one == sorted(one)


def test_errors_carry_what_went_wrong() -> None:
    assert CompositionError("one").problems == ("one",)
    assert CompositionError(iter(["one", "two"])).problems == ("one", "two")
    assert str(CompositionError(["one", "two"])) == "one\ntwo"
    fields: dict[str, Any] = {
        "code": 429,
        "provider": "p",
        "model": "m",
        "request_id": "r",
        "retryable": True,
        "retry_after": 2.0,
        "remedy": "wait",
    }
    error = ModelError("slow down", **fields)
    assert {name: getattr(error, name) for name in fields} == fields
    assert (str(error), error.agent) == ("slow down", "")


def test_long_texts_are_cut_in_errors_and_names_that_are_near_are_offered() -> None:
    assert brief("x" * 200) == "x" * 200
    assert brief("x" * 100 + "y" * 101) == "x" * 100 + "... (201 characters)"
    assert did_you_mean("wqiter", ["waiter", "cook", "waiters"]) == "; did you mean 'waiter'?"
    assert did_you_mean("waite", ["waiters", "waiter"]) == "; did you mean 'waiter'?"
    assert did_you_mean("wqiter", ["cook"]) == ""


def test_a_tool_class_may_write_its_effect_as_text() -> None:
    class Paying(BaseTool):
        """Pays."""

        effect = "at_most_once"  # type: ignore[assignment]

    assert Paying(name="pay").effect is Effect.AT_MOST_ONCE


@pytest.mark.parametrize("effect", ["laser", 3, lambda self: "laser"])
def test_a_tool_class_with_another_effect_is_told(effect: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Shooting sets effect to .*one of pure, idempotent, at_most_once"):
        type("Shooting", (BaseTool,), {"effect": effect})

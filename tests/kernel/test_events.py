"""Event and EventActions: what is final, what is touched, what is frozen, what travels as JSON."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from newel_kernel import Event, EventActions, EventCompaction, NodeInfo, ToolConfirmation, as_message, freeze_event
from newel_types import (
    CodeExecutionResult,
    Content,
    ExecutableCode,
    FinishReason,
    FrozenError,
    FunctionCall,
    FunctionResponse,
    Part,
)

TEXT = Part(text="hi")
CALL = Part(function_call=FunctionCall(name="brew", id="c1"))
RESULT = Part(function_response=FunctionResponse(name="brew", id="c1", response={}))
CODE = Part(executable_code=ExecutableCode(code="1", language="PYTHON"))
RAN = Part(code_execution_result=CodeExecutionResult(outcome="OUTCOME_OK", output="1"))


def event(*parts: Part, **fields: Any) -> Event:
    return Event(author="waiter", content=Content(role="model", parts=list(parts)), **fields)


class TestFinal:
    """Specified in docs/reference/behaviour.md#final-responses."""

    @pytest.mark.parametrize(
        ("made", "final"),
        [
            (event(TEXT), True),
            (event(TEXT, partial=False), True),
            (event(TEXT, partial=True), False),
            (event(), True),
            (Event(author="waiter"), True),
            (Event(author="waiter", partial=True), False),
            (Event(author="waiter", content=Content(role="model")), True),
            (Event(author="waiter", actions=EventActions()), True),
            (Event(author="waiter", actions=EventActions(state_delta={"a": 1})), False),
            (Event(author="waiter", actions=EventActions(artifact_delta={"a": 1})), False),
            (Event(author="waiter", actions=EventActions(end_of_agent=True)), False),
            (Event(author="waiter", actions=EventActions(escalate=True)), False),
            (Event(author="waiter", actions=EventActions(state_delta={"a": 1}), error_code="SAFETY"), True),
            (event(CALL), False),
            (event(TEXT, CALL), False),
            (event(CALL, TEXT), False),
            (event(RESULT), False),
            (event(CODE), True),
            (event(RAN), False),
            (event(TEXT, RAN), False),
            (event(RAN, TEXT), True),
            (event(Part(text="hm", thought=True)), True),
            (event(CALL, long_running_tool_ids={"c1"}), True),
            (event(CALL, long_running_tool_ids=set()), False),
            (event(TEXT, partial=True, long_running_tool_ids={"c1"}), True),
            (event(RESULT, actions=EventActions(skip_summarization=True)), True),
            (event(RESULT, actions=EventActions(skip_summarization=False)), False),
            (event(RESULT, actions=EventActions(transfer_to_agent="x")), False),
            (event(TEXT, error_code="SAFETY"), True),
            (Event(author="waiter", error_code="SAFETY"), True),
        ],
    )
    def test_table(self, made: Event, final: bool) -> None:
        assert made.is_final_response() is final
        assert freeze_event(made).is_final_response() is final

    @settings(deadline=None)
    @given(
        st.lists(st.sampled_from([TEXT, CALL, RESULT, CODE, RAN])),
        st.sampled_from([None, True, False]),
        st.booleans(),
        st.booleans(),
    )
    def test_it_is_the_predicate_of_the_specification(
        self, parts: list[Part], partial: bool | None, skip: bool, waits: bool
    ) -> None:
        actions = EventActions(skip_summarization=True) if skip else None
        made = event(*parts, partial=partial, actions=actions, long_running_tool_ids={"c1"} if waits else None)
        expected = bool(made.actions.skip_summarization or made.long_running_tool_ids) or (
            not made.get_function_calls()
            and not made.get_function_responses()
            and not made.partial
            and not made.has_trailing_code_execution_result()
        )
        assert made.is_final_response() is expected


class TestMaking:
    def test_ids_and_times_come_by_themselves(self, counted: None) -> None:
        first, second = Event(author="a"), Event(author="a")
        assert (first.id, second.id) == ("id-1", "id-3")
        assert first.timestamp < second.timestamp
        assert Event(author="a", id="mine", timestamp=0.0).timestamp == 0.0

    def test_what_comes_from_outside_gets_an_id_and_a_time_too(self, counted: None) -> None:
        back = Event.model_validate({"author": "a"})
        assert (back.id[:3], back.timestamp > 1000) == ("id-", True)
        assert Event(author="a", content=Content(parts=[TEXT])).timestamp > 1000

    def test_it_keeps_what_it_is_made_with(self) -> None:
        fields: dict[str, Any] = {
            "invocation_id": "e-1",
            "author": "a",
            "content": Content(role="model", parts=[TEXT]),
            "partial": True,
            "actions": EventActions(escalate=True),
            "branch": "a.b",
            "isolation_scope": "s",
            "long_running_tool_ids": {"c1"},
            "output": 1,
            "node_info": NodeInfo(path="n"),
            "id": "x",
            "timestamp": 2.0,
        }
        for more in ({}, {"avg_logprobs": -0.5, "error_code": "X", "custom_metadata": {"k": 1}}):
            made = Event(**fields, **more)
            assert {name: getattr(made, name) for name in [*fields, *more]} == fields | more

    def test_each_shorthand_works_by_itself(self) -> None:
        content = Content(role="model", parts=[TEXT])
        assert Event(author="a", content=content, state={"x": 1}).actions.state_delta == {"x": 1}
        assert Event(author="a", content=content, route="left").actions.route == "left"
        assert Event(author="a", message="hi").content == Content(role="user", parts=[TEXT])

    @pytest.mark.parametrize(
        "message", ["hi", TEXT, ["hi"], [TEXT], Content(role="user", parts=[TEXT]), {"parts": [{"text": "hi"}]}]
    )
    def test_a_message_is_a_shorthand_for_content(self, message: Any) -> None:
        made = Event(author="user", message=message)
        assert made.content is not None
        assert made.content.parts == [TEXT]
        assert as_message(message).parts == [TEXT]

    def test_state_and_route_are_shorthands_for_actions(self) -> None:
        made = Event(author="a", state={"x": 1}, route="left")
        assert made.actions.state_delta == {"x": 1}
        assert made.actions.route == "left"

    def test_content_and_message_exclude_each_other(self) -> None:
        with pytest.raises(ValueError, match="either `content` or `message`"):
            Event(author="a", content=Content(parts=[TEXT]), message="hi")

    def test_calls_and_responses_in_order(self) -> None:
        made = event(TEXT, CALL, RESULT, CALL)
        assert made.get_function_calls() == [CALL.function_call, CALL.function_call]
        assert made.get_function_responses() == [RESULT.function_response]
        assert Event(author="a").get_function_calls() == Event(author="a").get_function_responses() == []
        assert Event(author="a", content=Content(role="model")).get_function_responses() == []

    @pytest.mark.parametrize(("parts", "trailing"), [(None, False), ([], False), ([RAN], True), ([RAN, TEXT], False)])
    def test_code_that_ran_may_be_the_last_thing(self, parts: Any, trailing: bool) -> None:
        content = None if parts is None else Content(role="model", parts=parts)
        assert Event(author="a", content=content).has_trailing_code_execution_result() is trailing

    def test_what_it_shows_is_what_it_has(self) -> None:
        shown = repr(event(TEXT, id="x", timestamp=2.0, node_info=NodeInfo(path="n")))
        assert shown.startswith(
            f"Event(content={Content(parts=[TEXT], role='model')!r}, invocation_id='', author='waiter', "
        )
        assert shown.endswith(f", node_info={NodeInfo(path='n')!r}, id='x', timestamp=2.0)")
        assert "actions" not in shown
        assert "None" not in shown


class TestActions:
    def test_a_field_that_there_is_not_is_refused_as_pydantic_refuses_it(self) -> None:
        with pytest.raises(ValidationError, match="EventActions: escalated: there is no such field") as refused:
            EventActions(escalate=True, escalated=True)
        assert isinstance(refused.value, ValueError)
        (problem,) = refused.value.errors()
        assert (problem["type"], problem["loc"], problem["input"]) == ("extra_forbidden", ("escalated",), True)

    def test_containers_are_each_ones_own(self) -> None:
        one, other = EventActions(), EventActions()
        one.state_delta["x"] = 1
        one.artifact_delta["f"] = 0
        assert other == EventActions()


class TestTouching:
    def test_reading_actions_makes_them_and_looking_does_not(self) -> None:
        made = event(TEXT)
        assert made.touched_actions is None
        repr(made), made.model_dump(), made.model_dump_json(), made.model_copy(), made.is_final_response()
        assert made.touched_actions is None
        assert made.touched_node_info is None
        made.actions.state_delta["x"] = 1
        assert made.touched_actions is made.actions

    def test_a_copy_has_actions_of_its_own(self) -> None:
        made = event(TEXT, actions=EventActions(state_delta={"x": [1]}))
        shallow, deep = made.model_copy(), made.model_copy(deep=True)
        shallow.actions.escalate = True
        deep.actions.state_delta["x"].append(2)
        assert made.actions == EventActions(state_delta={"x": [1]})

    def test_only_a_deep_copy_has_everything_of_its_own(self) -> None:
        made = event(TEXT, custom_metadata={"k": [1]}, node_info=NodeInfo(path="n"))
        shallow, deep = made.model_copy(), made.model_copy(deep=True)
        assert shallow.content is made.content
        assert deep.content == made.content
        assert deep.content is not made.content
        deep.custom_metadata["k"].append(2)
        assert made.custom_metadata == {"k": [1]}
        assert shallow.node_info == deep.node_info == NodeInfo(path="n")

    def test_a_copy_of_a_committed_event_can_be_changed(self) -> None:
        frozen = freeze_event(event(TEXT, actions=EventActions(state_delta={"x": 1})))
        pickled = pickle.loads(pickle.dumps(frozen))
        for copied in (frozen.model_copy(), copy.copy(frozen), copy.deepcopy(frozen), pickled):
            copied.author = "other"
            copied.actions.escalate = True
            assert copied.actions.state_delta == {"x": 1}
        assert frozen.author == "waiter"
        assert frozen.actions.escalate is None


class TestFrozen:
    @pytest.mark.parametrize("field", ["author", "content", "actions", "partial", "timestamp", "id", "nonsense"])
    def test_no_attribute_can_be_set(self, field: str) -> None:
        frozen = freeze_event(event(TEXT, actions=EventActions()))
        with pytest.raises(FrozenError, match="committed event"):
            setattr(frozen, field, None)

    def test_nor_any_of_what_it_holds(self) -> None:
        frozen = freeze_event(event(TEXT, CALL, RESULT, actions=EventActions(state_delta={"x": 1})))
        assert frozen.content is not None
        text, call, result = frozen.content.parts or ()
        for holder, field in (
            (frozen.content, "parts"),
            (text, "text"),
            (call.function_call, "args"),
            (result.function_response, "id"),
            (frozen.actions, "escalate"),
        ):
            with pytest.raises(FrozenError):
                setattr(holder, field, None)

    def test_actions_that_nobody_touched_read_as_empty_and_take_nothing(self) -> None:
        frozen = freeze_event(event(TEXT))
        assert frozen.actions.state_delta == {}
        assert frozen.actions.escalate is None
        assert frozen.node_info.path == ""
        for write in (
            lambda: frozen.actions.state_delta.update(x=1),
            lambda: frozen.actions.state_delta.__setitem__("x", 1),
            lambda: frozen.actions.artifact_delta.setdefault("x", 1),
            lambda: setattr(frozen.actions, "escalate", True),
        ):
            with pytest.raises(FrozenError):
                write()
        assert freeze_event(event(TEXT)).actions.state_delta == {}
        assert frozen.touched_actions is None

    def test_freezing_twice_is_freezing_once(self) -> None:
        frozen = freeze_event(event(TEXT))
        assert freeze_event(frozen) is frozen
        assert isinstance(frozen, Event)
        assert frozen == event(TEXT, id=frozen.id, timestamp=frozen.timestamp)

    def test_an_event_of_a_subclass_keeps_its_class(self) -> None:
        class Mine(Event):
            __slots__ = ()

        mine = Mine(author="a", content=Content(parts=[TEXT]))
        assert type(freeze_event(mine)) is Mine

    def test_so_do_actions_of_a_subclass(self) -> None:
        class Mine(EventActions):
            __slots__ = ()

        assert type(freeze_event(event(TEXT, actions=Mine(escalate=True))).actions) is Mine


class TestJson:
    def full(self) -> Event:
        return event(
            TEXT,
            CALL,
            RESULT,
            id="e1",
            timestamp=12.5,
            invocation_id="e-1",
            branch="a.b",
            partial=False,
            error_code="X",
            long_running_tool_ids={"c1"},
            custom_metadata={"k": [1]},
            output={"o": 1},
            isolation_scope="s",
            finish_reason=FinishReason.STOP,
            node_info=NodeInfo(path="a/b"),
            actions=EventActions(
                state_delta={"x": None, "y": [1]},
                artifact_delta={"f": 0},
                transfer_to_agent="b",
                escalate=True,
                skip_summarization=True,
                route=["r"],
                agent_state={"n": 1},
                end_of_agent=True,
                requested_tool_confirmations={"c1": ToolConfirmation(hint="h", payload=1)},
                rewind_before_invocation_id="e-0",
                compaction=EventCompaction(
                    start_timestamp=1, end_timestamp=2, compacted_content=Content(role="model", parts=[TEXT])
                ),
            ),
        )

    def test_it_comes_back_as_it_went(self) -> None:
        made = self.full()
        assert Event.model_validate_json(made.model_dump_json(by_alias=True)) == made
        assert Event.model_validate_json(made.model_dump_json()) == made
        assert Event.model_validate(made.model_dump()) == made
        assert Event.model_validate(freeze_event(self.full()).model_dump(mode="json")) == made

    def test_a_dump_is_of_python_s_values_or_of_json_s(self) -> None:
        made = self.full()
        assert made.model_dump()["long_running_tool_ids"] == {"c1"}
        assert made.model_dump(mode="json")["long_running_tool_ids"] == ["c1"]
        assert "branch" not in event(TEXT).model_dump(exclude_none=True)

    def test_the_wire_is_camel_case(self) -> None:
        wire = json.loads(self.full().model_dump_json(by_alias=True, exclude_none=True))
        assert wire["invocationId"] == "e-1"
        assert wire["longRunningToolIds"] == ["c1"]
        assert wire["actions"]["stateDelta"] == {"x": None, "y": [1]}
        assert wire["actions"]["requestedToolConfirmations"]["c1"]["hint"] == "h"
        assert wire["nodeInfo"] == {"path": "a/b"}
        assert wire["content"]["parts"][1]["functionCall"] == {"id": "c1", "name": "brew"}

    def test_unknown_fields_are_kept(self) -> None:
        wire = {"author": "a", "novelty": {"x": 1}, "actions": {"stateDelta": {}, "another": [2]}}
        back = Event.model_validate_json(json.dumps(wire)).model_dump(mode="json", by_alias=True, exclude_none=True)
        assert back["novelty"] == {"x": 1}
        assert back["actions"]["another"] == [2]

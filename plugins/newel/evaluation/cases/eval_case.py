"""EvalCase and Invocation: what an agent is asked, what is expected, and what it did."""

from typing import Any, Self, TypeAlias

from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator

from newel.evaluation.cases.app_details import AppDetails
from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_rubrics import Rubric
from newel_types import (
    Content,
    FunctionCall,
    FunctionResponse,
    GenerateContentResponseUsageMetadata,
    Part,
    late,
)

SessionState: TypeAlias = dict[str, Any]


class IntermediateData(EvalBaseModel):
    """What happened between question and answer, in the older form."""

    tool_uses: list[FunctionCall] = Field(default_factory=list)
    tool_responses: list[FunctionResponse] = Field(default_factory=list)
    #: ``(author, parts)`` of each intermediate text.
    intermediate_responses: list[tuple[str, list[Part]]] = Field(default_factory=list)


class InvocationEvent(EvalBaseModel):
    """One event of a turn; keys that a newer release writes are ignored."""

    model_config = ConfigDict(extra="ignore")

    author: str
    content: Content | None = None
    grounding_metadata: late("newel_types.grounding:GroundingMetadata") | None = None  # type: ignore[valid-type]
    usage_metadata: GenerateContentResponseUsageMetadata | None = None
    model_version: str | None = None


class InvocationEvents(EvalBaseModel):
    """What happened between question and answer, event by event."""

    invocation_events: list[InvocationEvent] = Field(default_factory=list)


IntermediateDataType: TypeAlias = IntermediateData | InvocationEvents


class Invocation(EvalBaseModel):
    """One turn. The durations, in seconds, are set only if this process ran the agent."""

    invocation_id: str = ""
    user_content: Content
    final_response: Content | None = None
    intermediate_data: IntermediateDataType | None = None
    creation_timestamp: float = 0.0
    rubrics: list[Rubric] | None = None
    app_details: AppDetails | None = None
    duration: float | None = None
    model_duration: float | None = None
    tool_duration: float | None = None


StaticConversation: TypeAlias = list[Invocation]


class SessionInput(EvalBaseModel):
    """The session that a case starts from. An existing session of `session_id` is used unchanged."""

    model_config = ConfigDict(extra="allow")

    app_name: str
    user_id: str
    state: SessionState = Field(default_factory=dict)
    session_id: str | None = None


#: What `EvalCase` checks after its fields, as JSON Schema.
_ONE_OF_TWO: list[JsonValue] = [
    {"required": ["conversation"], "properties": {"conversation": {"type": "array"}}},
    {"required": ["conversationScenario"], "properties": {"conversationScenario": {"type": "object"}}},
]


class EvalCase(EvalBaseModel):
    """A conversation with its expectations, or a scenario for a simulated user. Unknown keys are kept.

    From `tags` on the fields are newel's own; google-adk's tools keep them without reading them.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"oneOf": _ONE_OF_TWO})

    eval_id: str
    conversation: StaticConversation | None = None
    conversation_scenario: ConversationScenario | None = None
    session_input: SessionInput | None = None
    creation_timestamp: float = 0.0
    rubrics: list[Rubric] | None = None
    #: The state that the session should have at the end, for the metric `session_state_match`.
    final_session_state: SessionState = Field(default_factory=dict)
    tags: list[str] = Field(default_factory=list)
    #: Why the case does not run.
    skip: str | bool = False
    #: Why the case is expected to fail; if it passes, that is reported.
    xfail: str | bool = False
    #: How often the case runs; None: as often as the run says.
    repeats: int | None = Field(default=None, ge=1)
    #: Thresholds or criteria of this case by metric; they override those of the set.
    criteria: dict[str, Any] = Field(default_factory=dict)
    #: The same for single turns, by the turn's number from 0.
    turn_criteria: dict[int, dict[str, Any]] = Field(default_factory=dict)
    #: The verdicts of people by metric: true or false. Judges are compared with them.
    human_label: dict[str, bool] = Field(default_factory=dict)
    #: Where the case comes from.
    source: dict[str, Any] | None = None

    @field_validator("skip", "xfail")
    @classmethod
    def _reason(cls, value: str | bool) -> str | bool:
        return value if value != "" else False

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.conversation is None) == (self.conversation_scenario is None):
            raise ValueError(
                f"the case {self.eval_id!r} needs either `conversation` or `conversation_scenario`, "
                f"and it has {'neither' if self.conversation is None else 'both'}"
            )
        return self


ToolCallAndResponse: TypeAlias = tuple[FunctionCall, FunctionResponse | None]


def _parts(events: InvocationEvents) -> list[Part]:
    return [p for event in events.invocation_events if event.content is not None for p in event.content.parts or ()]


def get_all_tool_calls(intermediate_data: IntermediateDataType | None) -> list[FunctionCall]:
    """The tool calls of a turn, in order."""
    if intermediate_data is None:
        return []
    if isinstance(intermediate_data, IntermediateData):
        return intermediate_data.tool_uses
    return [p.function_call for p in _parts(intermediate_data) if p.function_call is not None]


def get_all_tool_responses(intermediate_data: IntermediateDataType | None) -> list[FunctionResponse]:
    """The tool results of a turn, in order."""
    if intermediate_data is None:
        return []
    if isinstance(intermediate_data, IntermediateData):
        return intermediate_data.tool_responses
    return [p.function_response for p in _parts(intermediate_data) if p.function_response is not None]


def get_all_tool_calls_with_responses(intermediate_data: IntermediateDataType | None) -> list[ToolCallAndResponse]:
    """Each call with the response of the same id, None if there is none."""
    by_id = {response.id: response for response in get_all_tool_responses(intermediate_data)}
    return [(call, by_id.get(call.id)) for call in get_all_tool_calls(intermediate_data)]


def get_all_usage_metadata(
    intermediate_data: IntermediateDataType | None,
) -> list[GenerateContentResponseUsageMetadata]:
    """The usage of each model call of a turn, if it was reported."""
    if not isinstance(intermediate_data, InvocationEvents):
        return []
    return [e.usage_metadata for e in intermediate_data.invocation_events if e.usage_metadata is not None]

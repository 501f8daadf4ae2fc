"""The record of a turn: taken while the agent runs, and made of its events afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from newel.evaluation.cases.app_details import AgentDetails, AppDetails
from newel.evaluation.cases.eval_case import Invocation, InvocationEvent, InvocationEvents
from newel.evaluation.judges.model_calls import agent_gate, with_retries
from newel.plugins.base_plugin import BasePlugin
from newel_kernel import BaseTool, Context, Event, LlmRequest, LlmResponse, seam
from newel_types import Content, Part, Tool


@dataclass(frozen=True, slots=True)
class Span:
    """A call of a model (`name` is the agent's) or of a tool; seconds from the start of the turn, and of the call."""

    kind: str
    name: str
    start: float
    seconds: float


class TurnRecorder:
    """The agents of a turn, and how long its models and tools took."""

    def __init__(self) -> None:
        self.agents: dict[str, AgentDetails] = {}
        #: The calls of models and tools, in the order in which they ended.
        self.spans: list[Span] = []
        self._began = seam.monotonic()
        self._started: dict[tuple[str, str | None], float] = {}

    def begin(self) -> None:
        """Forget what was noted: another turn of the same connection begins."""
        self.agents, self.spans = {}, []
        self._began = seam.monotonic()
        self._started.clear()

    def seconds(self, kind: str) -> float:
        """How long the calls of a kind took, all together."""
        return sum(span.seconds for span in self.spans if span.kind == kind)

    def request(self, agent: str, request: LlmRequest, before: dict[str, AgentDetails]) -> None:
        """Note the first request of an agent. Details that equal those of its last turn are kept once, in `before`."""
        if agent not in self.agents:
            config = request.config
            details = AgentDetails.model_construct(
                name=agent,
                instructions=_instruction(config.system_instruction),
                tool_declarations=[tool for tool in config.tools or () if isinstance(tool, Tool)],
            )
            if before.get(agent) != details:
                before[agent] = details
            self.agents[agent] = before[agent]

    def start(self, what: str, key: str | None) -> None:
        """A model or a tool begins."""
        self._started[what, key] = seam.monotonic()

    def stop(self, what: str, key: str | None, name: str) -> None:
        """The model or tool ended; a call that never began is not noted."""
        began = self._started.pop((what, key), None)
        if began is not None:
            self.spans.append(Span(what, name, began - self._began, seam.monotonic() - began))


def _instruction(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    content = value if isinstance(value, Content) else Content.model_validate({"parts": value})
    return "\n".join(part.text for part in content.parts or () if part.text)


#: The list that collects the spans of each turn; None: they are not kept.
kept_spans: ContextVar[list[list[Span]] | None] = ContextVar("evaluation_spans", default=None)
#: The recorder of the turn that this task runs.
recorder: ContextVar[TurnRecorder | None] = ContextVar("evaluation_turn", default=None)


class RecordingPlugin(BasePlugin):
    """Fills the recorder of the running turn, and passes every call to the run's gate."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._before: dict[str, AgentDetails] = {}

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> LlmResponse | None:
        """Note the request."""
        turn = recorder.get()
        if turn is None:
            return None
        turn.request(callback_context.agent_name, llm_request, self._before)
        llm_request.config = with_retries(llm_request.config)
        gate = agent_gate.get()
        if gate is not None and (answer := await gate.before_model(_key(callback_context), llm_request)) is not None:
            return answer
        turn.start("model", _key(callback_context))
        return None

    async def after_model_callback(self, *, callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        """Note the answer."""
        turn = recorder.get()
        if turn is not None and not llm_response.partial:
            turn.stop("model", _key(callback_context), callback_context.agent_name)
            if (gate := agent_gate.get()) is not None:
                await gate.after_model(_key(callback_context), llm_response)
        return None

    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Note the end of a call that failed."""
        turn = recorder.get()
        if turn is not None:
            turn.stop("model", _key(callback_context), callback_context.agent_name)
            if (gate := agent_gate.get()) is not None:
                return await gate.model_failed(_key(callback_context), llm_request, error)
        return None

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> dict[str, Any] | None:
        """Note the call, and ask the gate whether it may be made."""
        turn = recorder.get()
        if turn is None:
            return None
        gate = agent_gate.get()
        if gate is not None and (result := gate.before_tool(tool, tool_args)) is not None:
            return result
        turn.start("tool", tool_context.function_call_id)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: Any
    ) -> dict[str, Any] | None:
        """Note the end of the call."""
        turn = recorder.get()
        if turn is not None:
            turn.stop("tool", tool_context.function_call_id, tool.name)
        return None


def _key(context: Context) -> str:
    return f"{context.agent_name}\0{context.branch or ''}"


def app_details(turn: TurnRecorder) -> AppDetails | None:
    """The agents of a turn that called a model."""
    return AppDetails.model_construct(agent_details=turn.agents) if turn.agents else None


def invocation_of(user_content: Content, events: Iterable[Event], details: AppDetails | None = None) -> Invocation:
    """The Invocation of a turn's events, those of the user left out."""
    own = [event for event in events if event.author != "user" and not event.partial]
    final = _final(own)
    steps = [step for event in own if (step := _step(event, event is final)) is not None]
    first = own[0] if own else None
    return Invocation.model_construct(
        invocation_id=first.invocation_id if first is not None else "",
        user_content=user_content,
        final_response=final.content if final is not None else None,
        intermediate_data=InvocationEvents.model_construct(invocation_events=steps),
        creation_timestamp=first.timestamp if first is not None else 0.0,
        app_details=details,
    )


def _final(events: list[Event]) -> Event | None:
    """The last final event with a text that is not a thought, else the last final one."""
    final = [e for e in events if e.content is not None and e.content.parts and e.is_final_response()]
    with_text = [e for e in final if any(part.text and not part.thought for part in e.content.parts)]  # type: ignore[union-attr]
    choice = with_text or final
    return choice[-1] if choice else None


def _step(event: Event, final: bool) -> InvocationEvent | None:
    parts = event.content.parts if event.content is not None else None
    if not parts or not any(_has_content(part) for part in parts):
        return None
    content = event.content if not final or event.get_function_calls() else None
    return InvocationEvent.model_construct(
        author=event.author,
        content=content,
        grounding_metadata=event.grounding_metadata,
        usage_metadata=event.usage_metadata,
        model_version=event.model_version,
    )


def _has_content(part: Part) -> bool:
    return (
        bool(part.text)
        or part.function_call is not None
        or part.function_response is not None
        or part.inline_data is not None
        or part.file_data is not None
    )

"""The outcome of a run: its agent's answer as text, or as the value of the output schema."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from newel import agents
from newel.contexts.run_config import RunConfig
from newel.tools.structured_output import OutputSchemaError, validated
from newel_kernel import BaseAgent, Event, NewelError, StreamingMode
from newel_kernel import RunConfig as KernelRunConfig

if TYPE_CHECKING:
    from newel.runners.runner import Runner


class NoAnswerError(NewelError):
    """The run ended without an answer; if its last error event says why, so does this."""


class Outcome:
    """Takes in the events of a run of `agent`."""

    def __init__(self, agent: BaseAgent) -> None:
        self._agent = agent
        self._texts: list[str] = []
        self._failure: Event | None = None
        self._schema = _type_of_output(agent)
        self._adapter: TypeAdapter[object] | None = None if self._schema is None else TypeAdapter(self._schema)
        self._chunks = ""

    def take(self, event: Event) -> None:
        """Note what `event` says."""
        if event.sparse_values and event.error_code:
            self._failure = event
        self._chunks = self._chunks + event.text if event.partial else ""
        if event.is_final_response() and (text := event.text):
            self._texts.append(text)

    @property
    def text(self) -> str:
        """The texts of the final answers."""
        return "\n".join(self._texts)

    def value(self) -> Any:
        """The answer: a value of the agent's output schema, or its text if that is not a type.

        Raises NoAnswerError if there is none, and OutputSchemaError if it does not fit.
        """
        name = self._agent.name
        if not self._texts and (failure := self._failure) is not None:  # silence would look like an answer
            raise NoAnswerError(f"{failure.author}: {failure.error_code}: {failure.error_message}")
        if self._schema is None:
            return self.text
        if not self._texts:
            raise NoAnswerError(f"the agent {name!r} ended without an answer, and its output_schema needs one")
        try:
            return validated(self._schema, self._texts[-1], _itself)
        except OutputSchemaError as error:
            raise error.of_agent(name, 1) from None

    def partial_value(self) -> Any:
        """The value that the chunks so far make, if they hold what the schema requires, else None."""
        if not self._chunks:
            return None
        if self._adapter is None:
            return self._chunks
        with suppress(ValidationError):
            return self._adapter.validate_json(self._chunks, experimental_allow_partial="trailing-strings")
        return None


def _type_of_output(agent: BaseAgent) -> Any:
    """The type that the agent's answers have; None: they are texts."""
    schema = agent.output_schema if isinstance(agent, agents.LlmAgent) else None
    is_type = schema is not None and not isinstance(schema, Mapping)
    return schema if is_type and (not hasattr(schema, "model_dump") or _is_model(schema)) else None


def _is_model(schema: object) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def _itself(_: TypeAdapter[object] | None, parsed: object) -> object:
    return parsed


async def typed(runner: Runner[Any, Any], partly: bool, **run: Any) -> AsyncGenerator[Any, None]:
    """The answer of a run; with `partly`, before it the values that the text so far makes."""
    outcome = Outcome(runner.agent)
    if partly:
        run["run_config"] = _streaming(run.get("run_config"))
    last = None
    async with aclosing(runner.run_async(**run)) as events:
        async for event in events:
            outcome.take(event)
            if partly and (value := outcome.partial_value()) is not None and value != last:
                last = value
                yield value
    if not outcome.text and await runner.questions(user_id=run["user_id"], session_id=run["session_id"]):
        name = runner.agent.name
        raise NoAnswerError(f"the agent {name!r} waits for an answer: see Runner.questions and Runner.answer")
    value = outcome.value()
    if value != last or not partly:
        yield value


def _streaming(config: KernelRunConfig | None) -> KernelRunConfig:
    streams = {"streaming_mode": StreamingMode.SSE}
    return RunConfig(streaming_mode=StreamingMode.SSE) if config is None else config.model_copy(update=streams)

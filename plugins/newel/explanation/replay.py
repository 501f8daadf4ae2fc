"""Replay: a recorded model call, asked again as it was or edited. No tool runs, and nothing is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from newel.explanation.recorder import RECORDING, Answer, Recording
from newel.explanation.snapshot import snapshot
from newel.models.contract import BaseLlm
from newel.models.kinds import model_of
from newel.models.policies.chain import policed
from newel_kernel import ConfigurationError, Json, LlmRequest, LlmResponse, seam
from newel_types import Content, Part, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEdit:
    """How one message of a request, by its place from 0 on, is changed."""

    place: int
    #: Replaces its texts, which become one; None: they stay.
    text: str | None = None
    #: Replaces the result of its first tool call.
    response: Json | None = None
    removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """How a recorded request is changed; None: that part stays as it was recorded."""

    #: The address of another model.
    model: str | None = None
    system_instruction: str | None = None
    messages: Sequence[MessageEdit] = ()
    #: The names of the functions that stay declared.
    tools: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """An edited request, ready to be asked."""

    recording: Recording
    model: BaseLlm
    request: LlmRequest

    @property
    def described(self) -> Json:
        """The request as a recording has it."""
        return snapshot(self.recording.ctx, self.request)

    async def ask(self) -> Answer:
        """Ask the model, within the policies of the run. What it costs is noted with the recording."""
        described, since, whole = self.described, seam.monotonic(), LlmResponse()
        model = policed(self.recording.ctx.composition, self.model)
        async with aclosing(model.generate_content_async(self.request)) as responses:
            async for response in responses:
                if not response.partial:
                    whole = response
        answer = Answer(described, whole, seam.monotonic() - since)
        self.recording.replays.append(answer)
        return answer

    def recorded(self, recordings: Iterable[Recording]) -> Answer | None:
        """The answer that a recorded call, or a replay of one, had to the same request."""
        described = self.described
        for one in recordings:
            for answer in (*([one.answer] if one.answer is not None else []), *one.replays):
                if answer.request == described:
                    return answer
        return None


def replay_of(recording: Recording, edit: Edit) -> Replay:
    """The recorded request with the edit; ConfigurationError if the edit does not fit it."""
    if recording.sent is None or recording.model is None:
        raise ConfigurationError("the request did not go to a model: a step answered, failed, or ended the run")
    request, model = recording.sent.model_copy(), recording.model
    request.stash.pop(RECORDING, None)  # a replay is not a call of the run
    if edit.model is not None:
        model = model_of(recording.ctx.composition, edit.model)
        request.model = model.model
    if edit.system_instruction is not None:
        request.config.system_instruction = edit.system_instruction or None
    if edit.messages:
        request.contents = _messages(list.copy(request.contents), edit.messages)
    if edit.tools is not None:
        request.config.tools = _tools(request.config.tools or [], edit.tools)
    return Replay(recording, model, request)


def _messages(contents: list[Content], edits: Sequence[MessageEdit]) -> list[Content]:
    by_place = {one.place: one for one in edits}
    if wrong := [place for place in by_place if not 0 <= place < len(contents)]:
        raise ConfigurationError(f"there is no message {wrong[0]}: the request has {len(contents)}, from 0 on")
    edited = [_message(one, by_place.get(place)) for place, one in enumerate(contents)]
    return [one for one in edited if one is not None]


def _message(content: Content, edit: MessageEdit | None) -> Content | None:
    if edit is None:
        return content
    if edit.removed:
        return None
    parts: list[Part] = [one.model_copy() for one in content.parts or ()]
    if edit.text is not None:
        at = next((n for n, one in enumerate(parts) if _is_text(one)), 0)
        parts = [one for one in parts if not _is_text(one)]
        parts.insert(at, Part(text=edit.text))
    if edit.response is not None:
        at = next((n for n, one in enumerate(parts) if one.function_response is not None), -1)
        if at < 0:
            raise ConfigurationError(f"message {edit.place} has no result of a tool: leave out its `response`")
        result = parts[at].function_response
        assert result is not None
        parts[at] = parts[at].model_copy(
            update={"function_response": result.model_copy(update={"response": edit.response})}
        )
    return Content(role=content.role, parts=parts)


def _is_text(part: Part) -> bool:
    return part.text is not None and not part.thought


def _tools(tools: Sequence[object], names: Sequence[str]) -> list[Any] | None:
    """The tools with the declarations of these functions alone; tools of the provider stay."""
    declared = {one.name for tool in tools if isinstance(tool, Tool) for one in tool.function_declarations or ()}
    if unknown := sorted(set(names) - {name for name in declared if name}):
        raise ConfigurationError(
            f"the request declares no function {unknown[0]!r}: it declares {sorted(filter(None, declared))}"
        )
    kept: list[object] = []
    for tool in tools:
        if isinstance(tool, Tool) and tool.function_declarations:
            own = [one for one in tool.function_declarations if one.name in names]
            tool = tool.model_copy(update={"function_declarations": own or None})
            if not own and not tool.model_dump(exclude_none=True):
                continue
        kept.append(tool)
    return kept or None

"""StreamedInteraction: the events of an interaction, as they come and as the one answer they make up."""

from __future__ import annotations

import json

from newel.models.google.interactions.responses import failure, response_of
from newel.models.google.interactions.steps import parts_of, parts_of_piece
from newel.models.google.sdk import Json
from newel_kernel import LlmResponse
from newel_types import Content, Part


class StreamedInteraction:
    """Passes each chunk on as a partial response and puts the whole interaction together.

    The SDK continues an interaction that the service cuts at a limit: then several in a row are one answer.
    """

    def __init__(self) -> None:
        self._done: list[Json] = []
        self._steps: dict[int, Json] = {}
        self._interaction: Json = {}
        self._usage: dict[str, int] = {}
        self._failure: LlmResponse | None = None

    def add(self, event: Json) -> LlmResponse | None:
        """Take one event; return the partial response that it makes, if any."""
        kind = event.get("event_type")
        parts: list[Part] = []
        if kind in ("interaction.created", "interaction.completed"):
            self._advance(event["interaction"], ended=kind == "interaction.completed")
        elif kind == "interaction.status_update":
            self._interaction |= {"id": event.get("interaction_id"), "status": event.get("status")}
        elif kind == "error":
            self._failure = failure(event.get("error") or {}, self._interaction.get("id"))
        elif kind == "step.start":
            self._steps[event["index"]] = dict(event["step"])
        elif kind == "step.delta":
            parts = _add_delta(self._steps.setdefault(event["index"], {}), event["delta"])
        elif kind == "step.stop":
            parts = self._end_step(self._steps.get(event["index"], {}))
        if not parts:
            return None
        content = Content(role="model", parts=parts)
        return LlmResponse(content=content, partial=True, interaction_id=self._interaction.get("id"))

    def close(self) -> LlmResponse:
        """The whole answer."""
        response = self._failure
        if response is None:
            self._end_steps()
            response = response_of({**self._interaction, "steps": self._done, "usage": self._usage})
        response.partial = False
        return response

    def _advance(self, interaction: Json, *, ended: bool) -> None:
        self._end_steps()
        if ended and not self._done:
            self._done = interaction.get("steps") or []
        if ended:
            for name, count in (interaction.get("usage") or {}).items():
                if isinstance(count, int):
                    self._usage[name] = self._usage.get(name, 0) + count
        self._interaction |= interaction

    def _end_steps(self) -> None:
        self._done.extend(step for _, step in sorted(self._steps.items()))
        self._steps = {}

    def _end_step(self, step: Json) -> list[Part]:
        """The parts of a complete step, except those whose pieces were already passed on."""
        text = step.pop("text_of_arguments", None)
        if text:
            try:
                step["arguments"] = json.loads(text)
            except ValueError:
                error = {"code": "MALFORMED_FUNCTION_CALL", "message": f"arguments of {step.get('name')} are not JSON"}
                self._failure = failure(error, self._interaction.get("id"))
                return []
        return [] if step.get("type") in ("model_output", "thought") else parts_of(step)


def _add_delta(step: Json, delta: Json) -> list[Part]:
    """Add `delta` to `step`; return the parts to pass on."""
    kind = delta.get("type")
    if kind == "arguments_delta":
        step["text_of_arguments"] = step.get("text_of_arguments", "") + (delta.get("arguments") or "")
    elif kind == "thought_summary":
        summary = delta.get("content") or {}
        step.setdefault("summary", []).append(summary)
        return [Part(text=summary["text"], thought=True)] if summary.get("text") else []
    elif kind == "thought_signature":
        step["signature"] = delta.get("signature")
    elif kind == "text_annotation_delta":
        if step.get("content"):
            step["content"][-1].setdefault("annotations", []).extend(delta.get("annotations") or ())
    elif kind == "text":
        content = step.setdefault("content", [])
        if content and content[-1].get("type") == "text":
            content[-1]["text"] += delta.get("text") or ""
        else:
            content.append(dict(delta))
        return [Part(text=delta["text"])] if delta.get("text") else []
    elif kind in ("image", "audio", "video", "document"):
        step.setdefault("content", []).append(delta)
        return parts_of_piece(delta)
    else:  # a step of the service's own tools, which comes in one piece
        step.update({name: value for name, value in delta.items() if name != "type"})
    return []

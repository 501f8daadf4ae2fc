"""Answers: a response of the Responses API, as an LlmResponse."""

from __future__ import annotations

import base64
import binascii

from newel.models.deferral import FOUND
from newel.models.openai.declarations import Declarations
from newel.models.openai.reading import (
    citation_metadata,
    citations_of,
    failure,
    is_text,
    logprobs_of,
    objects,
    part_of,
    usage_of,
)
from newel.models.openai.responses.tool_search import NAMESPACE, SEARCH, SEARCHES, loaded, sendable
from newel.models.openai.wrapping import Unwrapping
from newel.models.wire.answer import Answer
from newel.models.wire.names import Names
from newel.models.wire.observers import tell_observers
from newel.models.wire.service import Service
from newel_kernel import Json, LlmResponse
from newel_types import Blob, Citation, ExecutableCode, FinishReason, Language, Part

REASONS = {
    "completed": FinishReason.STOP,
    "max_output_tokens": FinishReason.MAX_TOKENS,
    "content_filter": FinishReason.SAFETY,
}
NOTHING = "EMPTY_RESPONSE"


class Reader:
    """Reads one response."""

    def __init__(self, service: Service, names: Names, tools: Declarations, *, wrapped: bool = False) -> None:
        self._service = service
        self._names = names
        self._tools = tools
        self._wrapped = wrapped
        self._citations: list[Citation] = []
        self._tokens: list[Json] = []

    def response(self, body: Json) -> LlmResponse:
        """The response in `body`; raises ModelError if it failed or is not a response."""
        output = body.get("output")
        if not isinstance(output, list) or not is_text(body.get("status")):
            raise self._service.malformed("not a response: it has no status, or no list of output")
        tell_observers(response_id=body.get("id"))
        word = self._word(body)
        answer = Answer(self._service.provider)
        items = objects(output)
        for item in items:
            self._take(item, answer)
        usage = usage_of(body.get("usage"), "input_tokens", "output_tokens")
        model = body.get("model")
        response = answer.response(word, REASONS, usage=usage, model_version=model if is_text(model) else None)
        response.citation_metadata = citation_metadata(self._citations)
        if self._tokens:
            response.logprobs_result, response.avg_logprobs = logprobs_of(self._tokens)
        if not items and response.finish_reason is FinishReason.STOP:
            response.error_code, response.error_message = NOTHING, "the service completed the answer without any output"
        return response

    def _word(self, body: Json) -> str:
        """Why the response ended."""
        status = str(body["status"])
        if status == "incomplete":
            return str(part_of(body, "incomplete_details").get("reason") or status)
        if status != "completed":
            error = body.get("error")
            raise failure(error if error else {"code": status, "message": f"the response is {status}"}, self._service)
        return status

    def _take(self, item: Json, answer: Answer) -> None:
        kind = item.get("type")
        if kind == "message":
            self._message(item, answer)
        elif kind == "function_call":
            self._call(item, answer)
        elif kind == "reasoning":
            _thought(item, answer)
        elif kind in SEARCHES:
            found = [self._names.back(name) for name in loaded(item)]
            answer.thought("", None, **{SEARCH: sendable(item), FOUND: found or None})
        elif kind == "image_generation_call":
            _image(item, answer)
        elif kind == "code_interpreter_call" and is_text(item.get("code")):
            code = ExecutableCode(code=item["code"], language=Language.PYTHON)
            answer.parts.append(Part(executable_code=code))

    def _message(self, item: Json, answer: Answer) -> None:
        new = True
        for part in objects(item.get("content")):
            if is_text(part.get("refusal")):
                answer.refusal = (answer.refusal or "") + part["refusal"]
            if not is_text(part.get("text")):
                continue
            before = sum(len(one.text) for one in answer.parts if one.text and not one.thought)
            answer.text(self._unwrapped(part["text"]), new=new)
            new = False
            self._citations.extend(citations_of(objects(part.get("annotations")), before))
            self._tokens.extend(objects(part.get("logprobs")))

    def _unwrapped(self, text: str) -> str:
        if not self._wrapped:
            return text
        unwrapping = Unwrapping()
        return unwrapping.feed(text) + unwrapping.close()

    def _call(self, item: Json, answer: Answer) -> None:
        call_id, name = item.get("call_id"), str(item.get("name") or "")
        arguments = item.get("arguments")
        text = arguments if isinstance(arguments, str) else None
        namespace = item.get("namespace")
        kept = {NAMESPACE: namespace} if is_text(namespace) else {}
        answer.call(call_id if is_text(call_id) else None, self._names.back(name), text, **kept)
        function_call = answer.parts[-1].function_call
        if function_call is not None and function_call.args:
            function_call.args = self._tools.arguments(name, function_call.args)


def _thought(item: Json, answer: Answer) -> None:
    """A thought, with the fields that the service must get back, even if it has no text that we can read."""
    texts = [part["text"] for part in objects(item.get("summary")) if is_text(part.get("text"))]
    content = [part["text"] for part in objects(item.get("content")) if is_text(part.get("text"))]
    encrypted = item.get("encrypted_content")
    text = "\n\n".join(texts) or "".join(content)
    if not text and not is_text(encrypted):
        return
    answer.thought(
        text,
        encrypted if is_text(encrypted) else None,
        item=item.get("id"),
        summaries=texts if len(texts) > 1 else None if texts or not content else [],
    )


def _image(item: Json, answer: Answer) -> None:
    try:
        data = base64.b64decode(item.get("result") or "", validate=True)
    except (ValueError, TypeError, binascii.Error):
        return
    if data:
        mime = f"image/{item.get('output_format') or 'png'}"
        answer.parts.append(Part(inline_data=Blob(mime_type=mime, data=data)))

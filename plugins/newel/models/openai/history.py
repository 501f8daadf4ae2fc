"""History: a conversation in OpenAI's form, where every call has its one result before the next message."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from pydantic_core import to_json

from newel.models.openai.media import Medium, medium_of
from newel.models.openai.thinking import Report
from newel.models.wire.names import CallIds, Names
from newel_kernel import Json
from newel_types import Content, FunctionCall, FunctionResponse, Part

_NO_RESULT = "There is no result: the call was interrupted before it was answered."


class History(ABC):
    """The messages or items of a conversation. Messages that come while a call waits for its result follow that."""

    def __init__(self, names: Names, report: Report, id_length: int) -> None:
        self._names = names
        self._report = report
        self._messages: list[Json] = []
        self._ids = CallIds(id_length)
        self._open = 0
        #: The parts of the user's messages that wait for results.
        self._waiting: list[list[Json]] = []

    def copy(self) -> Self:
        """A copy that can grow without changing this one."""
        new = self.__class__.__new__(self.__class__)
        new.__dict__.update(self.__dict__)
        new._messages = self._messages.copy()
        new._ids = self._ids.copy()
        new._waiting = self._waiting.copy()
        return new

    def add(self, content: Content) -> None:
        """Convert one more content."""
        parts = content.parts or ()
        if content.role == "model":
            self._settle()
            self._messages.extend(self.from_model(parts))
            return
        messages: list[Json] = []
        for part in parts:
            response = part.function_response
            if response is None:
                messages.extend(self._from_user(part))
                continue
            call_id = self._ids.result(response.id, response.name)
            if call_id is None:
                messages.append(self.text(f"Result of {response.name}: {result_text(response)}"))
                continue
            self._open -= 1
            message, beside = self.result(call_id, response)
            self._messages.append(message)
            if beside:
                self._waiting.append(beside)
        if messages:
            self._waiting.append(messages)
        if not self._open:
            self._speak()

    def whole(self) -> list[Json]:
        """The messages of the conversation, ready to be sent; nothing can be added afterwards."""
        self._settle()
        return self._messages

    @abstractmethod
    def from_model(self, parts: Sequence[Part]) -> list[Json]:
        """The model's text, calls and thoughts."""

    @abstractmethod
    def result(self, call_id: str, response: FunctionResponse) -> tuple[Json, list[Json]]:
        """A result, and the parts of it that can only be in a message of the user."""

    @abstractmethod
    def no_result(self, call_id: str, text: str) -> Json:
        """The stand-in for a missing result."""

    @abstractmethod
    def user(self, parts: list[Json]) -> Json:
        """A message of the user."""

    @abstractmethod
    def text(self, text: str) -> Json:
        """A text in a message of the user."""

    @abstractmethod
    def medium(self, medium: Medium) -> Json | None:
        """A medium in a message of the user; None if it cannot be sent."""

    def call_id(self, call: FunctionCall) -> str:
        """The id to send for a call, which waits for its result from now on."""
        self._open += 1
        return self._ids.call(call.id, call.name)

    def name(self, call: FunctionCall) -> str:
        """The name to send for a call's tool."""
        return self._names.out(call.name or "")

    def medium_or_words(self, medium: Medium) -> Json:
        """A medium in a message of the user, or a text that stands for it."""
        message = self.medium(medium)
        if message is not None:
            return message
        kind = medium.mime if medium.data is not None else f"{medium.mime} by its URL"
        self._report(medium.kind, f"{kind} cannot be sent to this model and is left out")
        return self.text(medium.left_out)

    def _from_user(self, part: Part) -> list[Json]:
        if part.text is not None:
            return [self.text(part.text)] if part.text.strip() and not part.thought else []
        medium = medium_of(part)
        if medium is not None:
            return [self.medium_or_words(medium)]
        words = code_text(part)
        return [self.text(words)] if words else []

    def _settle(self) -> None:
        """Give unanswered calls a result, and add the user's waiting messages."""
        if self._open:
            self._messages.extend(self.no_result(call_id, _NO_RESULT) for call_id, _ in self._ids.unanswered())
            self._open = 0
        self._speak()

    def _speak(self) -> None:
        self._messages.extend(self.user(parts) for parts in self._waiting)
        self._waiting = []


def as_json(value: object) -> str:
    """`value` as JSON, whatever it is."""
    return to_json(value, inf_nan_mode="constants", serialize_unknown=True).decode()


def result_text(response: FunctionResponse) -> str:
    """A result with every key that it has."""
    return as_json(response.response or {})


def code_text(part: Part) -> str | None:
    """Code that another model ran itself, or its output, as text."""
    if part.executable_code is not None and part.executable_code.code:
        language = (part.executable_code.language.value if part.executable_code.language else "").lower()
        return f"```{language}\n{part.executable_code.code}\n```"
    if part.code_execution_result is not None and part.code_execution_result.output:
        return f"Output:\n```\n{part.code_execution_result.output}\n```"
    return None


def result_media(response: FunctionResponse) -> list[Medium]:
    """The media of a result."""
    return [medium for part in response.parts or () if (medium := medium_of(part)) is not None]

"""QuestionPrompt: the questions of a conversation, put to the user at the terminal."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from importlib import import_module
from typing import Protocol

from newel.cli.answers import message_of, parsed_object, response_for
from newel.cli.conversation import Conversation
from newel.cli.open_questions import description_of, questions_of, waiting_line
from newel.cli.terminal import say
from newel.events.text import one_line
from newel.questions.question import Kind, Question
from newel_kernel import ConfigurationError, Json
from newel_types import Content, deferred

#: The room of credentials loads with the first question that asks for one.
_ask_credential = deferred("newel.cli.credential_answers", "ask")


class Lines(Protocol):
    """A prompt of prompt_toolkit."""

    def prompt_async(self, message: str, *, is_password: bool, default: str, handle_sigint: bool) -> Awaitable[str]:
        """The next line."""


class QuestionPrompt:
    """Shows questions and, if there is a terminal, reads answers; each once, unless the user asks again."""

    def __init__(self, conversation: Conversation, at_terminal: bool) -> None:
        self._conversation = conversation
        self._shown_before: set[tuple[str, str]] = set()
        self._lines: Lines | None = None
        self._at_terminal = at_terminal

    async def ask_new(self) -> Content | None:
        """The message of the answers to the questions not yet shown."""
        return await self._ask(
            [q for q in await questions_of(self._conversation) or () if self._key(q) not in self._shown_before]
        )

    async def ask_all(self) -> Content | None:
        """The message of the answers to all open questions; None if there is no answer."""
        return await self._ask(await questions_of(self._conversation) or ()) if self._at_terminal else None

    @staticmethod
    def _key(question: Question) -> tuple[str, str]:
        return question.event_id, question.id  # a graph may ask again under the same id

    async def _ask(self, questions: Sequence[Question]) -> Content | None:
        self._shown_before.update(map(self._key, questions))
        if not self._at_terminal:
            for question in questions:
                say(waiting_line(question, self._conversation), err=True)
            return None
        responses: list[tuple[Question, Mapping[str, object]]] = []
        for question in questions:
            first, *rest = description_of(question)
            say(f"? {first}", bold=True)
            for line in rest:
                say(f"  {line}")
            if (response := await self._answer(question)) is not None:
                responses.append((question, response))
        if len(responses) < len(questions):
            say("(left open; an empty line asks again)", dim=True)
        return message_of(responses) if responses else None

    async def _answer(self, question: Question) -> Json | None:
        if question.kind is Kind.CREDENTIAL:
            response: Json | None = await _ask_credential()(question, self._read)
            return response
        approval = question.kind is Kind.APPROVAL
        label = "  [y]es / [n]o / [e]dit> " if approval else "  answer> "
        while text := (await self._read(label)).strip():
            if approval and text.lower() in ("e", "edit"):
                if (edited := await self._edited(question)) is not None:
                    return edited
                continue
            try:
                return response_for(question, text, self._conversation)
            except ConfigurationError as error:
                say(f"  {one_line(error)}", fg="red")
        return None

    async def _edited(self, question: Question) -> Json | None:
        """Approval with other arguments; None if the user changes their mind."""
        text = json.dumps(question.original.get("args") or {}, ensure_ascii=False)
        while text := (await self._read("  arguments> ", default=text)).strip():
            try:
                answer = {"confirmed": True, "editedArgs": parsed_object(text)}
                return response_for(question, json.dumps(answer), self._conversation)
            except ConfigurationError as error:
                say(f"  {one_line(error)}", fg="red")
        return None

    async def _read(self, label: str, *, hidden: bool = False, default: str = "") -> str:
        """One line, which no history keeps; empty after Ctrl-C or Ctrl-D."""
        lines = self._lines
        if lines is None:
            history = import_module("prompt_toolkit.history").DummyHistory()
            lines = self._lines = import_module("prompt_toolkit").PromptSession(history=history, enable_suspend=True)
        try:
            return str(await lines.prompt_async(label, is_password=hidden, default=default, handle_sigint=False))
        except (KeyboardInterrupt, EOFError):
            return ""

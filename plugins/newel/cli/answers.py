"""Answers: a text as the function response that a question waits for."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from newel.cli.conversation import Conversation
from newel.cli.open_questions import questions_of, variable_of
from newel.events.text import one_line
from newel.flows.approvals import check_fit
from newel.questions.confirmation import UnusableAnswerError, read_answer
from newel.questions.given_answers import response_of
from newel.questions.question import Kind, Question
from newel.questions.values import answer_value
from newel_kernel import BaseTool, BaseToolset, ConfigurationError, Json
from newel_types import Content, FunctionCall, Part

#: The most that is read of a credential.
_MOST_BYTES = 1_000_000
_YES, _NO = ("y", "yes"), ("n", "no")
Responses = Sequence[tuple[Question, Mapping[str, object]]]


def check_answers(answers: Sequence[str], session: str | None) -> dict[str, str]:
    """The texts of ``--answer CALL_ID=TEXT`` by id. No error quotes a text, which may be a secret."""
    texts: dict[str, str] = {}
    for answer in answers:
        call_id, equals, text = answer.partition("=")
        if not (equals and call_id.strip() and text.strip()):
            raise ConfigurationError("--answer: write it as CALL_ID=ANSWER")
        if call_id in texts:
            raise ConfigurationError(f"--answer: {call_id!r} is answered twice; a request has one answer")
        texts[call_id] = text
    if texts and session is None:
        raise ConfigurationError("--answer needs --session ID: the session in which something waits for it")
    return texts


async def answers_to(conversation: Conversation, texts: Mapping[str, str]) -> Content:
    """The message of all the answers; a ConfigurationError says which of them does not fit."""
    questions = await questions_of(conversation)
    if questions is None:
        raise ConfigurationError(f"there is no session {conversation.session!r} of the user {conversation.user!r}")
    by_id = {question.id: question for question in questions}
    responses: list[tuple[Question, Mapping[str, object]]] = []
    for call_id, text in texts.items():
        question = by_id.get(call_id)
        if question is None:
            hint = f"; open: {', '.join(by_id)}" if by_id else "; nothing waits in this session"
            raise ConfigurationError(f"--answer: nothing waits for {call_id!r}{hint}")
        try:
            if question.kind is Kind.CREDENTIAL:
                responses.append((question, _credential(question, text.strip(), conversation)))
                continue
            responses.append((question, response_for(question, text, conversation)))
        except ConfigurationError as error:
            raise ConfigurationError(f"--answer {call_id}: {error}") from None
    return message_of(responses)


def _credential(question: Question, text: str, conversation: Conversation) -> Json:
    """The response with a credential: its secret, or its JSON, from stdin or a file; never from the command line."""
    if text != "-" and not text.startswith("@"):
        raise ConfigurationError(
            f"a credential is not taken from the command line, where the shell's history keeps it: give "
            f"{question.id}=- to read it from stdin, or {question.id}=@FILE; or answer in "
            f"`{conversation.command('chat')}`, or set {variable_of(question, conversation)} and send the message again"
        )
    try:
        data = sys.stdin.buffer.read(_MOST_BYTES) if text == "-" else _first_bytes(text[1:])
        secret = data.decode("utf-8").strip()
    except OSError as error:
        raise ConfigurationError(f"{text[1:]} cannot be read: {error.strerror or type(error).__name__}") from None
    except UnicodeDecodeError:
        raise ConfigurationError("the credential must be UTF-8") from None
    if not secret:
        raise ConfigurationError("the credential is empty")
    try:
        return response_of(question, parsed_object(secret) if secret.startswith("{") else secret)
    except (ConfigurationError, ValueError):  # its text may quote the secret
        raise ConfigurationError("this is not a credential: give the secret, or the JSON of a credential") from None


def _first_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_MOST_BYTES)


def message_of(responses: Responses) -> Content:
    """One message of all the responses."""
    parts = [Part(function_response=question.response(dict(response))) for question, response in responses]
    return Content(role="user", parts=parts)


def response_for(question: Question, text: str, conversation: Conversation) -> Json:
    """The response that `text` stands for; a ConfigurationError says what is wrong with it, on one line."""
    text = text.strip()
    if question.kind is Kind.APPROVAL:
        return _verdict(question, text, conversation)
    if question.kind is Kind.INPUT:
        try:
            answer_value(question.id, {"result": text}, question.schema)
        except ValueError as error:
            raise ConfigurationError(one_line(error)) from None
        return {"result": text}
    if text.startswith("{"):
        return parsed_object(text)
    if question.options and text not in question.options and text.isdecimal():
        if not 1 <= int(text) <= len(question.options):
            raise ConfigurationError(f"there is no option {text}; choose from 1 to {len(question.options)}")
        text = question.options[int(text) - 1]
    return {"result": text}


def _verdict(question: Question, text: str, conversation: Conversation) -> Json:
    if text.lower() in _YES + _NO:
        return {"confirmed": text.lower() in _YES}
    if not text.startswith("{"):
        raise ConfigurationError('answer yes, no, or JSON such as {"confirmed": true, "editedArgs": {...}}')
    response = parsed_object(text)
    call = FunctionCall.model_validate(question.original)
    try:
        answer = read_answer(question.response(response), call)
        tool = _tool(question, conversation) if answer.edited_args is not None else None
        if tool is not None:  # a tool that only a run can find (such as a toolset's) is checked there
            check_fit(tool, answer.edited_args or {})
    except UnusableAnswerError as error:
        raise ConfigurationError(one_line(error)) from None
    return response


def parsed_object(text: str) -> Json:
    """A JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ConfigurationError("it is JSON, but not an object: write {...}")
    return value


def _tool(question: Question, conversation: Conversation) -> BaseTool | None:
    agent: Any = conversation.agent.find_agent(question.author)
    for entry in getattr(agent, "tools", ()):
        if not isinstance(entry, BaseToolset):
            for tool in agent.__newel__.as_tools(entry, conversation.runner):
                if tool.name == question.original.get("name"):
                    return tool  # type: ignore[no-any-return]
    return None

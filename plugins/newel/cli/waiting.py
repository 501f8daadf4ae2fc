"""Waiting: the requests of a session that nobody has answered yet, and how they are told."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from newel.cli.conversation import Conversation
from newel.flows.visibility import CONFIRMATION_CALL, CREDENTIAL_CALL, INPUT_CALL
from newel_kernel import Event, Log
from newel_types import as_plain

_BEHIND = {CONFIRMATION_CALL: "originalFunctionCall", CREDENTIAL_CALL: "functionCallId"}

#: Stands in the hint of a tool that gives none of its own: how a program answers, which is no help to a person.
_FOR_PROGRAMS = "by responding with a FunctionResponse"


@dataclass(frozen=True, slots=True)
class Question:
    """A call that waits for the user: one of the runtime's own requests, or a long-running tool's."""

    id: str
    name: str
    args: Mapping[str, Any]
    #: The agent that asks.
    author: str
    event_id: str
    invocation_id: str

    @property
    def behind(self) -> str | None:
        """The id of the tool call on whose behalf it is asked."""
        value = self.args.get(_BEHIND.get(self.name, ""))
        found: str | None = value.get("id") if isinstance(value, Mapping) else value
        return found

    @property
    def original(self) -> Mapping[str, Any]:
        """The tool call (id, name, args) that a request for approval is about."""
        found: Mapping[str, Any] = self.args.get("originalFunctionCall") or {}
        return found

    @property
    def options(self) -> list[str]:
        """What a tool such as get_user_choice lets the user choose from."""
        options = self.args.get("options")
        named = isinstance(options, list) and self.name not in (CONFIRMATION_CALL, CREDENTIAL_CALL, INPUT_CALL)
        return [str(option) for option in options or ()] if named else []


def open_questions(events: Sequence[Event]) -> list[Question]:
    """What waits in a session's log, the oldest first; a call about which the user is asked is not told beside it."""
    found = [
        Question(call.id or "", call.name or "", as_plain(call.args or {}), event.author, event.id, event.invocation_id)
        for event, call in Log(events).open_requests()
    ]
    behind = {question.behind for question in found}
    return [question for question in found if question.id not in behind]


async def questions_of(conversation: Conversation) -> list[Question] | None:
    """What waits in the conversation's session; None where there is no such session."""
    runner = conversation.runner
    session = await runner.session_service.get_session(
        app_name=runner.app_name, user_id=conversation.user, session_id=conversation.session
    )
    return open_questions(session.events) if session is not None else None


def told(question: Question) -> list[str]:
    """The question in lines for a person: nothing of what is to be approved is left out, and nothing is hidden."""
    args = question.args
    if question.name == CONFIRMATION_CALL:
        asked = args.get("toolConfirmation") or {}
        hint = asked.get("hint") or ""
        more = {"hint": "" if _FOR_PROGRAMS in hint else hint, "payload": asked.get("payload")}
        return [f"approve {_call(question.original)}?", *_more(more)]
    if question.name == INPUT_CALL:
        more = {"payload": args.get("payload"), "as JSON schema": args.get("response_schema")}
        return [_shown(args.get("message") or "input is asked for"), *_more(more)]
    if question.name == CREDENTIAL_CALL:
        lines: list[str] = import_module("newel.cli.credential_answers").told(question)
        return [_visible(line) for line in lines]
    if question.options:
        return [f"{question.name}:", *(f"{n}) {_shown(option)}" for n, option in enumerate(question.options, 1))]
    return [f"{_call({'name': question.name, 'args': args})} waits for its result"]


def waiting_line(question: Question, conversation: Conversation) -> str:
    """The question on one line, with its id and the command that answers it."""
    what = "; ".join(told(question))
    if question.name == CREDENTIAL_CALL:
        variable = import_module("newel.cli.credential_answers").variable(question, conversation)
        command = f"{conversation.command('chat')} (or set {variable} and send the message again)"
    else:
        command = f"{conversation.command('run', '--answer', f'{question.id}={_example(question)}')}{_or(question)}"
    return f"waiting: {what} [{question.id}] - {command}"


def _example(question: Question) -> str:
    if question.name == CONFIRMATION_CALL:
        return "yes"
    schema = question.args.get("response_schema") if question.name == INPUT_CALL else None
    return "JSON" if schema and schema.get("type") != "string" else "TEXT"


def _or(question: Question) -> str:
    return """ (or =no, or ='{"confirmed": true, "editedArgs": {...}}')""" if question.name == CONFIRMATION_CALL else ""


def _call(call: Mapping[str, Any]) -> str:
    args = ", ".join(f"{name}={_shown(value, quote=True)}" for name, value in (call.get("args") or {}).items())
    return f"{_shown(call.get('name'))}({args})"


def _more(entries: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {_shown(value)}" for name, value in entries.items() if value not in (None, "")]


def _shown(value: Any, *, quote: bool = False) -> str:
    if isinstance(value, str) and not quote:
        return _visible(" ".join(value.split()))
    return _visible(json.dumps(value, ensure_ascii=False, default=str))


def _visible(text: str) -> str:
    """`text` with what no one sees (controls, marks that turn the direction of writing) written out."""
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in text)

"""Descriptions: a question in words for a person."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from newel.questions.question import Kind, Question
from newel.questions.values import allows_null


def lines_of(question: Question) -> list[str]:
    """The question in lines. They show all that is to be approved, even invisible characters."""
    if question.kind is Kind.APPROVAL:
        more = {"hint": question.hint_for_people, "payload": question.payload}
        return [f"approve {_call(question.original)}?", *_more(more)]
    if question.kind is Kind.INPUT:
        more = {"payload": question.payload, "as JSON schema": question.schema}
        asker = f"{_text(question.original['name'])}() asks for an input" if question.original else "input is asked for"
        return [_text(question.hint or asker), *_more(more), *_ways_out(question)]
    if question.options:
        return [f"{question.name}:", *(f"{n}) {_text(option)}" for n, option in enumerate(question.options, 1))]
    return [f"{_call({'name': question.name, 'args': question.args})} waits for its result"]


def _ways_out(question: Question) -> list[str]:
    return ["null leaves it without an answer"] if allows_null(question.schema) else []


def visible(text: str) -> str:
    """`text` with invisible characters (controls, marks that change the writing direction) written out."""
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in text)


def _call(call: Mapping[str, Any]) -> str:
    args = ", ".join(f"{name}={_text(value, quote=True)}" for name, value in (call.get("args") or {}).items())
    return f"{_text(call.get('name'))}({args})"


def _more(entries: Mapping[str, object]) -> list[str]:
    return [f"{name}: {_text(value)}" for name, value in entries.items() if value not in (None, "")]


def _text(value: object, *, quote: bool = False) -> str:
    if isinstance(value, str) and not quote:
        return visible(" ".join(value.split()))
    return visible(json.dumps(value, ensure_ascii=False, default=str))

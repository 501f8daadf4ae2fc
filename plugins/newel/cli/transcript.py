"""Transcripts: how the events of a run are shown, as an answer, as JSON lines, or as a conversation."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, Protocol

import click
from pydantic_core import to_jsonable_python

from newel.cli.bill import Bill
from newel.cli.terminal import say, short_json
from newel.cli.word_wrap import WordWrap
from newel.events.progress import progress_of
from newel.events.text import one_line, text_of
from newel.questions.awaiting import awaiting
from newel.questions.names import HIDDEN
from newel_kernel import Event

_WIDTH = 100
_DEMO = "the offline demo model answers, not a real one; choose another with --model, or with `model:` in the agent"


class Transcript(Protocol):
    """Shows events as they come."""

    def show(self, event: Event) -> None:
        """Show one event."""

    def cut(self) -> None:
        """No more events come; finish the line."""

    def end(self) -> int:
        """The run is complete; return its exit status."""
        ...


class DemoNote:
    """Says once, on stderr, that no real model answers."""

    def __init__(self, *, noted: bool = False) -> None:
        self._noted = noted

    def note(self, event: Event) -> None:
        """Look at one event."""
        if not self._noted and (event.model_version or "").startswith("demo"):
            self._noted = True
            say(f"note: {_DEMO}", err=True)


class JsonLines:
    """Each event as one line of JSON, as it goes over the wire."""

    def __init__(self) -> None:
        self._out = sys.stdout
        self._failed = False
        self._demo = DemoNote()

    def show(self, event: Event) -> None:
        """Write the event."""
        self._demo.note(event)
        self._failed = self._failed or failure(event) is not None
        click.echo(event.model_dump_json(by_alias=True, exclude_none=True), file=self._out)

    def cut(self) -> None:
        """Every line is finished."""

    def end(self) -> int:
        """1 if an event reported a failure."""
        return 1 if self._failed else 0


class Answer:
    """The text of the final answers; with `stream`, chunks as they come."""

    def __init__(self, stream: bool) -> None:
        self._stream = stream
        self._demo = DemoNote()
        self._bill = Bill()
        self._chunks = False
        self._answered = False
        self._status = 0

    def show(self, event: Event) -> None:
        """Print what belongs to the answer."""
        self._demo.note(event)
        self._bill.note(event)
        if (fault := failure(event)) is not None:
            self.cut()
            say(f"Error: {fault}", err=True)
            self._status = 1
            return
        text = shown_text(event)
        if event.partial:
            if self._stream and text:
                say(text, nl=False)
                self._chunks = True
            return
        if self._chunks:
            self._answered = True
            self.cut()
        elif text and (self._stream or event.is_final_response()):
            self._answered = True
            say(text)

    def end(self) -> int:
        """1 if an event reported a failure."""
        if (bill := self._bill.line()) and sys.stderr.isatty():
            say(f"({bill})", err=True, dim=True)
        return self._status

    @property
    def silent(self) -> bool:
        """Whether the agent has said nothing at all."""
        return not self._answered and self._status == 0

    def cut(self) -> None:
        """End a line of chunks."""
        if self._chunks:
            say("")
            self._chunks = False


class Dialogue:
    """A conversation: streamed text, and tool calls with their results as they happen."""

    def __init__(self, root: str, *, past: bool = False) -> None:
        self._author = root
        self._root = root
        #: A past conversation needs no note.
        self._demo = DemoNote(noted=past)
        self._wrap = WordWrap()
        self._bill = Bill()
        self._chunks = False

    def show(self, event: Event) -> None:
        """Show one event."""
        self._demo.note(event)
        self._bill.note(event)
        if (fault := failure(event)) is not None:
            self.cut()
            say(f"error: {fault}", fg="red")
            return
        text = shown_text(event)
        if text and not (self._chunks and not event.partial):
            self._name(event.author)
            say(text, nl=not event.partial, wrap=self._wrap if event.partial else None)
        if event.partial:
            self._chunks = self._chunks or bool(text)
            if (told := progress_of(event)) is not None:
                say(f"  … {_progress_line(told)}", dim=True)
            return
        self.cut()
        self._tools(event)

    def end(self) -> int:
        """Failures were shown if they happened."""
        if bill := self._bill.line():
            say(f"({bill})", dim=True)
        return 0

    def _tools(self, event: Event) -> None:
        for call in event.get_function_calls():
            if call.name in HIDDEN:
                continue  # the runtime's own requests are put to the user after the turn
            args = ", ".join(f"{name}={short_json(value, 40)}" for name, value in (call.args or {}).items())
            say(f"  → {call.name}({short_json(args, _WIDTH)})", dim=True)
        waiting = event.touched_actions.requested_tool_confirmations if event.touched_actions is not None else {}
        asking = awaiting(event)
        for response in event.get_function_responses():
            if response.id in waiting or response.id in asking:
                what = "approval" if response.id in waiting else "answer"
                say(f"  ← {response.name}: waits for your {what}", dim=True)
                continue
            say(f"  ← {response.name}: {short_json(response.response, _WIDTH)}", dim=True)

    def _name(self, author: str) -> None:
        if author != self._author:
            self._author = author
            say(f"[{author}]", dim=True)

    def cut(self) -> None:
        """End a line of chunks."""
        if self._chunks:
            self._wrap.end()
            say("")
            self._chunks = False


def _progress_line(told: Mapping[str, Any]) -> str:
    """How far a call is, in a line."""
    total, message = told.get("total"), told.get("message")
    done = f"{told.get('progress'):g}" + (f" of {total:g}" if total is not None else "")
    return f"{told.get('tool')}: {done}{f' {one_line(message)}' if message else ''}"


def shown_text(event: Event) -> str:
    """The text that an agent says in an event, without its thoughts; or the output of the graph at the root."""
    if event.author == "user":
        return ""
    if event.output is not None and any("/" not in path for path in event.node_info.output_for or ()):
        return event.output if isinstance(event.output, str) else as_json(event.output)
    return text_of(event.content)


def as_json(value: object) -> str:
    """A graph's output that is not a text, as JSON."""
    return json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False)


def failure(event: Event) -> str | None:
    """The error in an event of a failed model call, on one line; or None."""
    if not event.error_code or event.get_function_calls():  # the model corrects its calls itself
        return None
    return one_line(f"{event.error_code}: {event.error_message or 'no message'}")

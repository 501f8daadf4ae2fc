"""Answers in words: results, memories, or what this agent can do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from newel.models.demo.choice import OtherAgent, own_description, own_name
from newel.models.demo.recall import is_question, recall
from newel.models.demo.wording import sentence
from newel.models.demo.words import words
from newel.models.offline.conversation import Conversation
from newel.models.offline.declarations import FINISHERS, TRANSFER, Declared

MARK = "(offline demo model)"
HINT = "To use a real model, set GOOGLE_API_KEY and run: pip install 'newel[gemini]'"
_KEY = "GOOGLE_API_KEY"
_GREETING = re.compile(r"\s*(?:hello|hi|hey|good (?:morning|afternoon|evening|day)|greetings)\b", re.IGNORECASE)
_THANKS = re.compile(r"\s*(?:thanks|thank you|cheers)\b", re.IGNORECASE)
_ABILITY = re.compile(r"\bwhat (?:can|do) you do\b|^\s*help\b|\bwho are you\b|\bwhich tools\b", re.IGNORECASE)
_WISH = re.compile(r"\b(?:please|question|help|need|want|would like|can you|could you|problem)\b", re.IGNORECASE)
_ME = frozenset(("my", "i", "im"))
_LONGEST = 120
_MOST_NAMES = 5


class Answer:
    """The answer to a conversation's last message."""

    def __init__(
        self, conversation: Conversation, instruction: str, tools: Sequence[Declared], agents: Sequence[OtherAgent]
    ) -> None:
        self._conversation = conversation
        self._instruction = instruction
        self._tools = tools
        self._agents = agents

    def marked(self) -> str:
        """The answer for a reader: it says that a demo model wrote it, and once how to use a real model."""
        text = f"{MARK} {self.plain()}"
        has_hint = any(remark.who == "model" and _KEY in remark.text for remark in self._conversation.earlier)
        return text if has_hint or self._conversation.exchanges else f"{text}\n{HINT}"

    def plain(self) -> str:
        """The answer itself."""
        results = self._results()
        if results:
            return results
        if is_question(self._conversation.message) and (memory := self.recalled()) is not None:
            return memory
        return self._general()

    def recalled(self) -> str | None:
        """What the conversation says about the question."""
        return recall(self._conversation.message, self._conversation)

    def _results(self) -> str:
        steering = (TRANSFER, *FINISHERS)
        exchanges = [exchange for exchange in self._conversation.exchanges if exchange.name not in steering]
        return " ".join(sentence(exchange, with_arguments=len(exchanges) > 1) for exchange in exchanges)

    def _general(self) -> str:
        message = self._conversation.message
        if not message or _GREETING.match(message):
            return f"Hello! {self._introduction()} {self._abilities()}"
        if _THANKS.match(message):
            return "You're welcome!"
        if _ABILITY.search(message):
            return f"{self._introduction()} {self._abilities()}"
        if not is_question(message) and not _WISH.search(message) and not _ME.isdisjoint(words(message)):
            return f'Noted: "{_short(message)}" You can ask me about it later in this conversation.'
        return f'I can\'t really answer "{_short(message)}" {self._abilities()}'

    def _introduction(self) -> str:
        name = own_name(self._instruction)
        about = own_description(self._instruction)
        introduction = f"I am the agent {name!r}" if name else "I am an agent"
        return f"{introduction}: {about.rstrip('.')}." if about else f"{introduction}."

    def _abilities(self) -> str:
        sentences: list[str] = []
        if self._tools:
            names = "; ".join(map(_named, self._tools[:_MOST_NAMES]))
            more = len(self._tools) - _MOST_NAMES
            sentences.append(f"I can call {names}{f' and {more} more' if more > 0 else ''}.")
        if self._agents:
            sentences.append(f"I can hand over to {', '.join(agent.name for agent in self._agents)}.")
        return " ".join(sentences) or "I have no tools; I can only recall what was said in this conversation."


def _named(tool: Declared) -> str:
    about = tool.description.strip().split("\n")[0].rstrip(".")
    return f"`{tool.name}` ({_short(about)})" if about else f"`{tool.name}`"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

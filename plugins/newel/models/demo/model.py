"""DemoModel: an offline stand-in for a model, so that an agent can be tried without a key."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar

from newel.models.contract import ModelCapabilities
from newel.models.demo.answers import Answer
from newel.models.demo.arguments import arguments, fill
from newel.models.demo.choice import Fit, choose_agent, choose_per_clause, ordinary, other_agents
from newel.models.demo.clues import Clues
from newel.models.demo.recall import asks_for_the_past
from newel.models.demo.words import words
from newel.models.json_schemas import Schema
from newel.models.offline.conversation import Exchange, read_conversation
from newel.models.offline.declarations import (
    EXIT_LOOP,
    FINISHERS,
    TRANSFER,
    answer_schema,
    calling_mode,
    declared_tools,
    instruction_text,
)
from newel.models.offline.llm import LIVE, OfflineLlm
from newel.models.offline.responses import Call, call_response, check_address, text_responses
from newel_kernel import LlmRequest, LlmResponse
from newel_types import FunctionCallingConfigMode

#: Properties of a structured answer that take the answer in words.
_IN_WORDS = ("answer", "response", "reply", "result", "summary", "text", "message", "output", "explanation", "content")
_FOLLOW_UP = (("and",), ("what", "about"), ("how", "about"), ("also",))
_SHORT = 6


def create(address: str) -> DemoModel:
    """The model of ``demo:``."""
    check_address(address, ("",), "use 'demo:'")
    return DemoModel(model=address)


class DemoModel(OfflineLlm):
    """Calls the tool that shares words with the message, puts its result in words, and says that it is a demo.

    It decides by the request alone and knows nothing of the world. It asks for tools once per message, so it
    cannot loop.
    """

    capabilities: ClassVar[ModelCapabilities] = ModelCapabilities(output_schema_with_tools=True, live=LIVE)

    model: str = "demo:"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield tool calls or an answer."""
        turn = _Turn(llm_request)
        calls = turn.calls()
        if calls:
            yield call_response(calls, self.model)
            return
        for response in text_responses(turn.text(), self.model, stream):
            yield response


class _Turn:
    """One request and what to do about it."""

    def __init__(self, request: LlmRequest) -> None:
        self._request = request
        self._conversation = read_conversation(request)
        self._instruction = instruction_text(request)
        self._tools = declared_tools(request)
        self._agents = other_agents(self._instruction, self._tools)
        self._answer = Answer(self._conversation, self._instruction, ordinary(self._tools), self._agents)

    def calls(self) -> Sequence[Call]:
        """The calls to ask for now, if any, without those already made for this message."""
        done = [(exchange.name, exchange.args) for exchange in self._conversation.exchanges]
        steps = self._finishing() if done else (self._leaving() or self._working() or self._finishing())
        return [call for call in steps if call not in done]

    def _leaving(self) -> list[Call]:
        """Leave a loop once this agent has answered in it."""
        has_exit = any(tool.name == EXIT_LOOP for tool in self._tools)
        return [(EXIT_LOOP, {})] if has_exit and self._conversation.replies else []

    def _working(self) -> list[Call]:
        text = self._conversation.message
        fits = self._fits(text)
        best = max((fit.score for fit in fits), default=0.0)
        agent = choose_agent(text, self._untried(), best, self._instruction)
        if agent is not None:
            return [(TRANSFER, {"agent_name": agent.name})]
        return [(fit.tool.name, args) for fit in fits for args in arguments(fit.tool, fit.text)]

    def _untried(self) -> list[Any]:
        """The agents that have not handed this message on; with the others it could go in circles."""
        return [agent for agent in self._agents if agent.name not in self._conversation.transferred]

    def _fits(self, text: str) -> list[Fit]:
        if asks_for_the_past(text) and self._answer.recalled() is not None:
            return []
        fits = choose_per_clause(text, self._tools) or self._continued(text)
        mode, _ = calling_mode(self._request)
        usable = ordinary(self._tools)
        if not fits and mode is FunctionCallingConfigMode.ANY and usable:
            return [Fit(usable[0], text, 0.0)]
        return fits

    def _continued(self, text: str) -> list[Fit]:
        """The tool of the message before, if this message continues it: "and in Rome?"."""
        prompt = words(text)
        if len(prompt) > _SHORT or not any(tuple(prompt[: len(start)]) == start for start in _FOLLOW_UP):
            return []
        earlier = [r.exchange for r in self._conversation.earlier if r.exchange is not None]
        last = next((tool for tool in ordinary(self._tools) if earlier and tool.name == earlier[-1].name), None)
        return [Fit(last, text, 1.0)] if last is not None else []

    def _finishing(self) -> list[Call]:
        """The tool that hands in the result, filled in, unless it was called for this message already."""
        called = {exchange.name for exchange in self._conversation.exchanges}
        if not called.isdisjoint(FINISHERS):
            return []
        finisher = next((tool for tool in self._tools if tool.name in FINISHERS), None)
        if finisher is None:
            return []
        return [(finisher.name, self._filled({"type": "object", **finisher.parameters}))]

    def text(self) -> str:
        """The answer in words, or as JSON if it has a schema."""
        schema = answer_schema(self._request)
        if schema is None:
            return self._answer.marked()
        return json.dumps(self._filled(schema), ensure_ascii=False, default=str)

    def _filled(self, schema: Schema) -> Any:
        """A value for `schema` from the tools' results, the message, and the answer in words."""
        plain = self._answer.plain()
        values: dict[str, Any] = dict.fromkeys(_IN_WORDS, plain)
        for exchange in self._conversation.exchanges:
            values |= _values(exchange)
        results = " ".join(str(value) for value in values.values() if isinstance(value, str) and value != plain)
        text = f"{self._conversation.message}\n{results}" if results else self._conversation.message
        return fill(schema, Clues(text, values=values))


def _values(exchange: Exchange) -> dict[str, Any]:
    """The arguments and the result of a call by their keys, nested ones too."""
    values: dict[str, Any] = dict(exchange.args)
    waiting: list[Any] = [exchange.response or {}]
    while waiting:
        for key, value in waiting.pop(0).items():
            values[key] = value
            if isinstance(value, dict):
                waiting.append(value)
    return values

"""Offers: what a server has for its clients, each with its definition and its call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mcp_types import CallToolResult, Tool, ToolAnnotations

from newel.mcp_server.caller import Caller
from newel.mcp_server.conversations import Conversation
from newel.mcp_server.results import Artifacts, answered, failed, returned
from newel.mcp_server.single_calls import message
from newel.models.json_schemas import json_schema
from newel.runners import Runner
from newel.tools.agent_exchange import last_word, message_text, parameters_of, result_of, schema_of
from newel_kernel import BaseTool, Effect, Event, Json
from newel_types import Content, Part

#: The argument that continues a conversation.
SESSION = "session"


class Offer(Protocol):
    """Something that a client can call."""

    @property
    def definition(self) -> Tool:
        """What the client is shown."""
        ...

    async def call(self, args: Json, user_id: str, caller: Caller) -> CallToolResult:
        """Answer a call."""
        ...


class AgentOffer:
    """The agent as one tool. Its answer names a session, with which the conversation goes on."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        agent = runner.agent
        parameters = json_schema(parameters_of(agent))
        properties = parameters.get("properties") or {}
        #: An agent that has such an argument itself has a new session for each call.
        self._continues = SESSION not in properties
        session = {"type": "string", "description": "The session that an earlier answer named, to go on with it."}
        if self._continues:
            parameters = {**parameters, "properties": {**properties, SESSION: session}}
        answer: Json = {"type": "string"}
        if (output := schema_of(agent, "output_schema")) is not None:
            answer = json_schema(output)
        definitions = answer.pop("$defs", None)
        result: Json = {"type": "object", "properties": {"answer": answer, SESSION: {"type": "string"}}}
        if definitions is not None:
            result["$defs"] = definitions
        self.definition = Tool(
            name=agent.name,
            description=agent.description or f"The agent {agent.name}.",
            input_schema={"type": "object", **parameters},
            output_schema={**result, "required": ["answer"]},
        )

    async def call(self, args: Json, user_id: str, caller: Caller) -> CallToolResult:
        """Have the agent run."""
        args = dict(args)
        given = args.pop(SESSION, None) if self._continues else None
        handle = caller.asked_in or given
        conversation = Conversation(self._runner, user_id)
        if handle is not None:
            conversation = Conversation(self._runner, user_id, str(handle))
            if not await conversation.exists():
                return failed(f"there is no session {str(handle)[:80]!r}: leave out `{SESSION}` to begin a new one")
        if caller.asked_in is not None:
            if not (events := await conversation.resume(caller)):
                return failed("what was asked has its answer by now")
        else:
            try:
                text = message_text(self._runner.agent, args)
            except ValueError as error:
                return failed(str(error))
            if handle is None:
                await conversation.create()
            events = await conversation.say(Content(role="user", parts=[Part(text=text)]), caller)
        return await self._result(events, conversation)

    async def _result(self, events: Sequence[Event], conversation: Conversation) -> CallToolResult:
        last = last_word(events)
        if waiting := await conversation.waiting(events):
            return failed("; ".join(waiting))
        if last is not None and last.error_code and last.content is None and last.output is None:
            return failed(f"the agent failed: {last.error_code}")
        answer = result_of(self._runner.agent, last)
        session = conversation.session_id if self._continues else None
        return answered(answer, last, session, await conversation.artifacts(events))


class ToolOffer:
    """One of the agent's tools. Each call has a session of its own, which ends with it."""

    def __init__(self, runner: Runner, tool: BaseTool) -> None:
        self._runner = runner
        declaration = tool._get_declaration()
        schema: Json = {}
        if declaration is not None:
            schema = json_schema(declaration.parameters_json_schema or declaration.parameters)
        self.definition = Tool(
            name=tool.name,
            description=tool.description,
            input_schema={"type": "object", **schema},
            annotations=ToolAnnotations(read_only_hint=True) if tool.effect is Effect.PURE else None,
        )

    async def call(self, args: Json, user_id: str, caller: Caller) -> CallToolResult:
        """Have the tool called, with all that surrounds a call."""
        conversation = Conversation(self._runner, user_id)
        if caller.asked_in is not None:
            conversation = Conversation(self._runner, user_id, caller.asked_in)
            if not await conversation.exists():
                return failed("the call that was asked about is over: call again")
            events = await conversation.resume(caller)
        else:
            await conversation.create()
            events = await conversation.say(message(self.definition.name, args), caller)
        waiting, artifacts = await conversation.waiting(events), await conversation.artifacts(events)
        await conversation.delete()
        return failed("; ".join(waiting)) if waiting else self._result(events, artifacts)

    def _result(self, events: Sequence[Event], artifacts: Artifacts) -> CallToolResult:
        for event in reversed(events):
            for response in event.get_function_responses():
                if response.name == self.definition.name:
                    return returned(response.response or {}, response.parts or (), artifacts)
        codes = [event.error_code for event in events if event.error_code]
        return failed(f"the call of {self.definition.name} failed{f': {codes[-1]}' if codes else ''}")

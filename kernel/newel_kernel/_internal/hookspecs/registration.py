"""Registration hooks for what the kernel runs: processors, policies, prologues, epilogues, observers, turns, the gate.

They are synchronous and called once, when a distribution is composed. Each returns a list of frozen
descriptors (`kinds`). An implementation may take `settings`, a mapping from a plugin's name
to its validated settings. The examples run as doctests, with the public names of the packages imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from newel_kernel._internal.chains import (
    Epilogue,
    Prologue,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    ToolPolicy,
    ToolPreparation,
    TurnPolicy,
)
from newel_kernel._internal.gate import SessionGate
from newel_kernel._internal.hookspecs.markers import Settings, hookspec
from newel_kernel._internal.kinds import Kind
from newel_kernel._internal.observation import Observer


@hookspec
def register_request_processors(settings: Settings) -> Sequence[RequestProcessor]:
    """Processors of the request chain. A step that edits every model request.

    Its place is in the distribution's `request_chain`, or next to an anchor.

    >>> async def shout(ctx, request):
    ...     request.append_instructions(["Answer in capitals."])
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_request_processors(self):
    ...         return [RequestProcessor(name="shout", run=shout, after=("identity",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [p.name for p in composed.request_chain if p.name in ("identity", "shout")]
    ['identity', 'shout']
    """
    return ()


@hookspec
def register_response_processors(settings: Settings) -> Sequence[ResponseProcessor]:
    """Processors of the response chain. A step that edits every model response before it becomes an event.

    >>> async def trim(ctx, request, response):
    ...     response.custom_metadata = {"trimmed": True}
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_response_processors(self):
    ...         return [ResponseProcessor(name="trim", run=trim, after=("planning",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.response_chain[1].name
    'trim'
    """
    return ()


@hookspec
def register_result_processors(settings: Settings) -> Sequence[ResultProcessor]:
    """Processors of the result chain. A step that sees the event of tool results.

    It may add events before or after that event.

    >>> async def audit(ctx, call_event, result_event):
    ...     return None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_result_processors(self):
    ...         return [ResultProcessor(name="audit", run=audit, after=("confirmation",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [p.name for p in composed.result_chain if p.name in ("confirmation", "audit")]
    ['confirmation', 'audit']
    """
    return ()


@hookspec
def register_tool_policies(settings: Settings) -> Sequence[ToolPolicy]:
    """Policies around each tool call. Wraps the call: may bound it, retry it, refuse it, change its result.

    >>> def twice(call_tool):
    ...     async def again(tool, args, context):
    ...         await call_tool(tool, args, context)
    ...         return await call_tool(tool, args, context)
    ...     return again
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_policies(self):
    ...         return [ToolPolicy(name="twice", wrap=twice, before=("claims",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [policy.name for policy in composed.tool_chain]
    ['twice', 'claims']
    """
    return ()


@hookspec
def register_prologues(settings: Settings) -> Sequence[Prologue]:
    """What precedes an invocation. A step that runs when a message has come in, before it is stored.

    >>> async def greet(ctx):
    ...     return [Event(author="waiter", message="Welcome back")] if ctx.session.events else None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_prologues(self):
    ...         return [Prologue(name="greet", run=greet)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(Prologue, "greet").name
    'greet'
    """
    return ()


@hookspec
def register_epilogues(settings: Settings) -> Sequence[Epilogue]:
    """What follows an invocation. A step that runs after it ended, also after an error or a cancellation.

    >>> async def sign(ctx, error):
    ...     return [Event(author="waiter", message="That failed")] if error else None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_epilogues(self):
    ...         return [Epilogue(name="sign", run=sign)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(Epilogue, "sign").name
    'sign'
    """
    return ()


@hookspec
def register_observers(settings: Settings) -> Sequence[Observer]:
    """Observers of operations. Each gets a signal when an invocation, an agent, a model or a tool starts or ends.

    A signal has a `phase` (start, stop or exception), an `operation` and how many `seconds` it took.

    >>> ended = []
    >>> def note(signal):
    ...     if signal.phase != "start":
    ...         ended.append((signal.phase, signal.operation.kind, signal.operation.name))
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_observers(self):
    ...         return [Observer(name="notes", notify=note)]
    >>> say(Plugin(), "tea")
    'you said: tea'
    >>> ended
    [('stop', 'model', 'parrot'), ('stop', 'agent', 'waiter'), ('stop', 'invocation', 'tearoom')]
    """
    return ()


@hookspec
def register_tool_preparations(settings: Settings) -> Sequence[ToolPreparation]:
    """Preparations of an agent's tools. A step after the request chain, before the tools declare themselves.

    >>> async def sign_in(ctx, request):
    ...     return None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_preparations(self):
    ...         return [ToolPreparation(name="sign_in", run=sign_in)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [step.name for step in composed.request_steps if step.name == "sign_in"]
    ['sign_in']
    """
    return ()


@hookspec
def register_turn_policies(settings: Settings) -> Sequence[TurnPolicy]:
    """The policy of turns. Decides which agent answers a message, and which invocation the message continues.

    The policy named ``turns`` decides; to use another plugin's, a distribution names that plugin under `replace`.

    >>> def first_child(ctx):
    ...     return ctx.agent.sub_agents[0]
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_turn_policies(self):
    ...         return [TurnPolicy(agent=first_child)]
    >>> composed = compose(Distribution(name="mine"), plugins=[Plugin()])
    >>> composed.turns.agent.__name__
    'first_child'
    """
    return ()


@hookspec
def register_session_gates(settings: Settings) -> Sequence[SessionGate]:
    """The gate of sessions. Decides who may run a session, here and now: it lets each use of one in and out.

    A composition has one gate, named ``gate``; to use another plugin's, a distribution names that plugin under
    `replace`.

    >>> async def enter(admission):
    ...     if admission.user_id == "guest":
    ...         raise SessionError("guests only look")
    ...     return await open_session(admission)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_session_gates(self):
    ...         return [SessionGate(enter=enter)]
    >>> composed = compose(Distribution(name="mine"), plugins=[Plugin()])
    >>> composed.gate.enter.__name__
    'enter'
    """
    return ()


#: The kinds that the kernel runs. Every other kind is declared by the plugin that consumes it.
KERNEL_KINDS: tuple[Kind[Any], ...] = (
    Kind(RequestProcessor, register_request_processors, order="request_chain"),
    Kind(ResponseProcessor, register_response_processors, order="response_chain"),
    Kind(ResultProcessor, register_result_processors, order="result_chain"),
    Kind(ToolPolicy, register_tool_policies, order="tool_chain"),
    Kind(ToolPreparation, register_tool_preparations, order="tool_preparations", open_ended=True),
    Kind(Prologue, register_prologues, order="prologues", open_ended=True),
    Kind(Epilogue, register_epilogues, order="epilogues", open_ended=True),
    Kind(Observer, register_observers, order="observers", open_ended=True),
    Kind(TurnPolicy, register_turn_policies),
    Kind(SessionGate, register_session_gates),
)

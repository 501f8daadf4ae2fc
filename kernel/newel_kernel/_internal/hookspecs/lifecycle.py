"""Lifecycle hooks: what a plugin can see and change while an agent runs.

They may be coroutines; the kernel awaits them, in the distribution's order, before the agent's own callbacks
(those marked ``trylast=True`` after them, as fallbacks). An *interceptor* may answer: the first result that is
not None ends the round and is used. An *observer* may not. A hook that raises ends the invocation with an error
that names the plugin. A subclass of `BasePlugin` needs no marks; each example below is the body of one, and
`say(plugin, message)` runs one turn against a model that echoes, and returns the answer's text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from newel_kernel._internal.hookspecs.markers import hookspec

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.agent import BaseAgent
    from newel_kernel._internal.contracts.request import LlmRequest
    from newel_kernel._internal.contracts.response import LlmResponse
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.events import Event
    from newel_kernel._internal.invocation import Context, InvocationContext
    from newel_types import Content


@hookspec
def on_user_message_callback(invocation_context: InvocationContext, user_message: Content) -> Content | None:
    """Interceptor, before the user's message is stored: a Content takes its place.

    >>> class Polite(BasePlugin):
    ...     async def on_user_message_callback(self, *, invocation_context, user_message):
    ...         return Content(role="user", parts=[Part(text=user_message.parts[0].text + ", please")])
    >>> say(Polite(name="polite"), "tea")
    'you said: tea, please'
    """


@hookspec
def before_run_callback(invocation_context: InvocationContext) -> Content | None:
    """Interceptor, after the user's message is stored: a Content is the whole answer, and no agent runs.

    >>> class Closed(BasePlugin):
    ...     async def before_run_callback(self, *, invocation_context):
    ...         return Content(role="model", parts=[Part(text="We are closed.")])
    >>> say(Closed(name="closed"), "tea")
    'We are closed.'
    """


@hookspec
def before_agent_callback(agent: BaseAgent, callback_context: Context) -> Content | None:
    """Interceptor, before an agent runs: a Content is its answer, and it does not run.

    >>> class Skip(BasePlugin):
    ...     async def before_agent_callback(self, *, agent, callback_context):
    ...         return Content(role="model", parts=[Part(text=f"{agent.name} is on holiday.")])
    >>> say(Skip(name="skip"), "tea")
    'waiter is on holiday.'
    """


@hookspec
def before_model_callback(callback_context: Context, llm_request: LlmRequest) -> LlmResponse | None:
    """Interceptor, before each model call; it may edit the request. An LlmResponse is used instead of the model's.

    >>> class Nudge(BasePlugin):
    ...     async def before_model_callback(self, *, callback_context, llm_request):
    ...         llm_request.contents[-1].parts[0].text += " now"
    >>> say(Nudge(name="nudge"), "tea")
    'you said: tea now'
    """


@hookspec
def on_model_error_callback(callback_context: Context, llm_request: LlmRequest, error: Exception) -> LlmResponse | None:
    """Interceptor, when the model call raised: an LlmResponse is used as its answer, else the error is raised.

    >>> class Sorry(BasePlugin):
    ...     async def on_model_error_callback(self, *, callback_context, llm_request, error):
    ...         return LlmResponse(content=Content(role="model", parts=[Part(text=f"Sorry: {error}")]))
    >>> say(Sorry(name="sorry"), "fail")
    'Sorry: the kettle is broken'
    """


@hookspec
def after_model_callback(callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
    """Interceptor, after each model response (each chunk of a stream, too): an LlmResponse replaces it.

    >>> class Loud(BasePlugin):
    ...     async def after_model_callback(self, *, callback_context, llm_response):
    ...         llm_response.content.parts[0].text = llm_response.content.parts[0].text.upper()
    >>> say(Loud(name="loud"), "tea")
    'YOU SAID: TEA'
    """


@hookspec
def before_tool_callback(tool: BaseTool, tool_args: dict[str, Any], tool_context: Context) -> dict[str, Any] | None:
    """Interceptor, before a tool runs; it may edit the arguments. A dict is the result, and the tool does not run.

    >>> class Dry(BasePlugin):
    ...     async def before_tool_callback(self, *, tool, tool_args, tool_context):
    ...         return {"would_call": tool.name, "with": tool_args}
    >>> say(Dry(name="dry"), "call brew")
    "brew gave {'would_call': 'brew', 'with': {'leaf': 'oolong'}}"
    """


@hookspec
def on_tool_error_callback(
    tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, error: Exception
) -> dict[str, Any] | None:
    """Interceptor, when a tool raised or is unknown: a dict is the result, else the error is raised.

    >>> class Handle(BasePlugin):
    ...     async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
    ...         return {"error": type(error).__name__}
    >>> say(Handle(name="handle"), "call smash")
    "smash gave {'error': 'ValueError'}"
    """


@hookspec
def after_tool_callback(
    tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: Any
) -> dict[str, Any] | None:
    """Interceptor, after a tool ran: a dict replaces its result.

    >>> class Wrap(BasePlugin):
    ...     async def after_tool_callback(self, *, tool, tool_args, tool_context, result):
    ...         return {"wrapped": result}
    >>> say(Wrap(name="wrap"), "call brew")
    "brew gave {'wrapped': 'a pot of oolong'}"
    """


@hookspec
def after_agent_callback(agent: BaseAgent, callback_context: Context) -> Content | None:
    """Interceptor, after an agent ran: a Content becomes one more event of the agent.

    >>> class Sign(BasePlugin):
    ...     async def after_agent_callback(self, *, agent, callback_context):
    ...         return Content(role="model", parts=[Part(text=f"-- {agent.name}")])
    >>> say(Sign(name="sign"), "tea")
    '-- waiter'
    """


@hookspec
def on_event_callback(invocation_context: InvocationContext, event: Event) -> Event | None:
    """Interceptor, before an event is stored and yielded: the fields of a returned Event are merged into it.

    >>> class Mark(BasePlugin):
    ...     async def on_event_callback(self, *, invocation_context, event):
    ...         return Event(content=Content(role="model", parts=[Part(text="***")]))
    >>> say(Mark(name="mark"), "tea")
    '***'
    """


@hookspec
def on_run_error_callback(invocation_context: InvocationContext, error: BaseException) -> None:
    """Observer: the invocation failed or was cancelled; the error is raised when this returns.

    >>> seen = []
    >>> class Watch(BasePlugin):
    ...     async def on_run_error_callback(self, *, invocation_context, error):
    ...         seen.append(str(error))
    >>> say(Watch(name="watch"), "fail")
    Traceback (most recent call last):
    RuntimeError: the kettle is broken
    >>> seen
    ['the kettle is broken']
    """


@hookspec
def after_run_callback(invocation_context: InvocationContext) -> None:
    """Observer: the invocation is over, whether it succeeded, failed or was cancelled.

    >>> ended = []
    >>> class Count(BasePlugin):
    ...     async def after_run_callback(self, *, invocation_context):
    ...         ended.append(len(invocation_context.session.events))
    >>> say(Count(name="count"), "tea")
    'you said: tea'
    >>> ended
    [2]
    """

"""Calling hooks: a plugin's lifecycle hooks and an agent's own callbacks, compiled to flat tuples.

pluggy finds and orders the implementations, but it is synchronous; nothing awaited goes through it. Each
implementation becomes a `Bound` that the kernel calls by keyword and awaits if it must.
"""

from __future__ import annotations

import inspect
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from newel_kernel._internal.cancellation import cancellation_count, failure_of, is_interrupt
from newel_kernel._internal.contracts.response import LlmResponse
from newel_kernel._internal.errors import HookSignatureError, PluginError, PluginHookError, error_text
from newel_kernel._internal.events import Event
from newel_types import Content, Record


@dataclass(frozen=True, slots=True)
class Bound:
    """One implementation of a hook: `call` takes the hook's keywords."""

    hook: str
    call: Callable[..., Any]
    owner: str
    plugin: bool = False
    #: A fallback runs after the agent's own callbacks (pluggy's ``trylast``).
    last: bool = False


Callbacks = tuple[Bound, ...]
#: The plugins', the agent's own and the fallback implementations of a hook.
Round = tuple[Callbacks, Callbacks, Callbacks]
#: Hook -> (plugins' implementations, fallbacks), for the hooks that have any.
Hooks = Mapping[str, tuple[Callbacks, Callbacks]]
NO_HOOKS: tuple[Callbacks, Callbacks] = ((), ())


@dataclass(frozen=True, slots=True)
class HookSpec:
    """A lifecycle hook: the keywords a plugin gets, those an agent's callback gets, and what may be returned."""

    name: str
    keywords: tuple[str, ...]
    agent_keywords: tuple[str, ...] | None
    returns: type[Any] | None


_TOOL = ("tool", "tool_args", "tool_context")
_AGENT_TOOL = ("tool", "args", "tool_context")
_MODEL = ("callback_context", "llm_request")

#: Every lifecycle hook, in the order of a turn. `hookspecs` documents them; a test keeps the two equal.
LIFECYCLE: dict[str, HookSpec] = {
    spec.name: spec
    for spec in (
        HookSpec("on_user_message_callback", ("invocation_context", "user_message"), None, Content),
        HookSpec("before_run_callback", ("invocation_context",), None, Content),
        HookSpec("before_agent_callback", ("agent", "callback_context"), ("callback_context",), Content),
        HookSpec("before_model_callback", _MODEL, _MODEL, LlmResponse),
        HookSpec("on_model_error_callback", (*_MODEL, "error"), (*_MODEL, "error"), LlmResponse),
        HookSpec(
            "after_model_callback",
            ("callback_context", "llm_response"),
            ("callback_context", "llm_response"),
            LlmResponse,
        ),
        HookSpec("before_tool_callback", _TOOL, _AGENT_TOOL, dict),
        HookSpec("on_tool_error_callback", (*_TOOL, "error"), (*_AGENT_TOOL, "error"), dict),
        HookSpec("after_tool_callback", (*_TOOL, "result"), (*_AGENT_TOOL, "tool_response"), dict),
        HookSpec("after_agent_callback", ("agent", "callback_context"), ("callback_context",), Content),
        HookSpec("on_event_callback", ("invocation_context", "event"), None, Event),
        HookSpec("on_run_error_callback", ("invocation_context", "error"), None, None),
        HookSpec("after_run_callback", ("invocation_context",), None, None),
    )
}


async def first_answer(bound: Callbacks, returns: type[Any] | None, keywords: Mapping[str, object]) -> Any:
    """Call `bound` in order; if the hook may answer, the first result that is not None ends the round."""
    count = cancellation_count()
    for one in bound:
        before = count()
        try:
            answer = one.call(**keywords)
            if answer is not None and inspect.isawaitable(answer):
                answer = await answer
        except BaseException as raised:  # SystemExit, too: a plugin must not end the program unnamed
            if is_interrupt(raised):
                raise
            error = failure_of(raised, f"{one.owner}, in {one.hook},", PluginHookError)
            if one.plugin and not isinstance(error, PluginError):
                raise PluginHookError(f"{one.owner} failed in {one.hook}: {error_text(error)}") from error
            raise error from error.__cause__
        if count() > before:  # swallowed
            raise CancelledError
        if answer is not None and returns is not None:  # an observer's result is ignored
            return _checked(answer, returns, one)
    return None


async def run_round(hook: str, round_: Round, keywords: Mapping[str, object]) -> Any:
    """Ask the plugins, then the agent, then the fallbacks; the first answer ends the round.

    `keywords` are the plugins'; the agent's callbacks get the same values under their own names.
    """
    spec = LIFECYCLE[hook]
    plugins, own, fallbacks = round_
    if plugins and (answer := await first_answer(plugins, spec.returns, keywords)) is not None:
        return answer
    if own:
        names = spec.agent_keywords or ()  # for the last of the plugins' keywords
        values = list(keywords.values())[len(keywords) - len(names) :]
        if (answer := await first_answer(own, spec.returns, dict(zip(names, values, strict=True)))) is not None:
            return answer
    return await first_answer(fallbacks, spec.returns, keywords) if fallbacks else None


def _checked(answer: object, returns: type[object], one: Bound) -> Any:
    if isinstance(answer, returns):
        return answer
    if issubclass(returns, Record) and isinstance(answer, (BaseModel, Record)):  # another library's class of that name
        with suppress(ValueError):  # a ValidationError, too
            return returns.model_validate(answer)
    raise HookSignatureError(
        f"{one.owner}: {one.hook} returned {type(answer).__name__}; it must return {returns.__name__} or None"
    )

"""Completion: what follows an invocation, however it ended."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable

from newel_kernel._internal.errors import StaleSessionError
from newel_kernel._internal.events import Event
from newel_kernel._internal.hooks import Hooks
from newel_kernel._internal.invocation import InvocationContext
from newel_kernel._internal.lifecycle import ask


def finish(ctx: InvocationContext, error: BaseException | None) -> Awaitable[None]:
    """Call the hooks for the end of a run, then the epilogues; an error in the hooks does not skip the epilogues."""
    hooks = ctx.composition.hooks
    if error is None and ctx.mode is None and "after_run_callback" not in hooks:
        return epilogues(ctx, None)
    return _finish(ctx, hooks, error)


async def _finish(ctx: InvocationContext, hooks: Hooks, error: BaseException | None) -> None:
    if isinstance(error, StaleSessionError):
        await _keep_results(ctx, error)
    if ctx.mode is not None and not ctx.mode.finish(ctx, error):
        await epilogues(ctx, error)
        return
    try:
        if "on_run_error_callback" in hooks and isinstance(error, (Exception, CancelledError)):
            await ask(ctx, "on_run_error_callback", {"invocation_context": ctx, "error": error})
    finally:
        try:
            if "after_run_callback" in hooks:
                await ask(ctx, "after_run_callback", {"invocation_context": ctx})
        finally:
            await epilogues(ctx, error)


async def _keep_results(ctx: InvocationContext, error: StaleSessionError) -> None:
    """Store tool results whose event was refused, after the events that came in: they do not depend on those."""
    event = error.event
    if isinstance(event, Event) and event.author != "user" and event.get_function_responses():
        try:
            await ctx.session_service.append_event(ctx.session, event)
        except Exception as problem:  # noqa: BLE001 - it is added to the raised error
            error.add_note(f"the results of tools could not be stored either: {type(problem).__name__}: {problem}")


async def epilogues(ctx: InvocationContext, error: BaseException | None) -> None:
    """Run the epilogues and commit what they report."""
    chains = ctx.composition
    regular = chains.regular_epilogues if ctx.continues else chains.fresh_epilogues
    for epilogue in regular if error is None else chains.epilogues:
        try:
            if (events := epilogue.run(ctx, error)) is not None:  # else a plain function has run
                for event in await events or ():
                    await ctx.session_service.append_event(ctx.session, event)
        except Exception as problem:
            if error is None or isinstance(error, GeneratorExit):  # no caller would read the latter's notes
                raise
            # The caller must learn what ended the invocation: a store that is gone fails here as well.
            error.add_note(f"the epilogue {epilogue.name!r} failed too: {type(problem).__name__}: {problem}")

"""Completion: what follows an invocation, however it ended."""

from __future__ import annotations

from asyncio import CancelledError

from newel_kernel._internal.invocation import InvocationContext
from newel_kernel._internal.lifecycle import ask


async def finish(ctx: InvocationContext, error: BaseException | None) -> None:
    """Tell the observers that the invocation is over, then run the epilogues; each runs whatever the others do."""
    hooks = ctx.composition.hooks
    try:
        if "on_run_error_callback" in hooks and isinstance(error, (Exception, CancelledError)):
            await ask(ctx, "on_run_error_callback", {"invocation_context": ctx, "error": error})
    finally:
        try:
            if "after_run_callback" in hooks:
                await ask(ctx, "after_run_callback", {"invocation_context": ctx})
        finally:
            await epilogues(ctx, error)


async def epilogues(ctx: InvocationContext, error: BaseException | None) -> None:
    """Run the epilogues and commit what they report."""
    for epilogue in ctx.composition.epilogues:
        try:
            for event in await epilogue.run(ctx, error) or ():
                await ctx.session_service.append_event(ctx.session, event)
        except Exception as problem:
            if error is None or isinstance(error, GeneratorExit):  # nobody would read the latter's notes
                raise
            # What ended the invocation is what its caller must learn: a store that is gone fails here as well.
            error.add_note(f"the epilogue {epilogue.name!r} failed too: {type(problem).__name__}: {problem}")

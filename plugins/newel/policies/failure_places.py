"""failure_places: an error that ends an invocation carries a note that says in which tool, callback, model or node."""

from __future__ import annotations

from contextlib import suppress
from traceback import walk_tb
from types import FrameType

from newel_kernel import BaseAgent, BaseLlm, BaseTool, Bound, Epilogue, InvocationContext, NewelError, hookimpl

_RAISED = "raised in "
#: The packages whose frames hold what runs.
_RUNTIME = ("newel_kernel.", "newel.")


def note(ctx: InvocationContext, error: BaseException | None) -> None:
    """Add the note to an error of somebody else's code. Type and message stay, and newel's own errors say it already.

    A run within a tool notes its own errors first: what it says is nearer.
    """
    if not isinstance(error, Exception) or isinstance(error, NewelError):
        return
    if not any(one.startswith(_RAISED) for one in getattr(error, "__notes__", ())):
        with suppress(AttributeError, TypeError):  # an error that cannot be changed, such as a frozen dataclass
            error.add_note(_RAISED + place(ctx, error))


def place(ctx: InvocationContext, error: Exception) -> str:
    """``the tool 'pay' of the agent 'clerk'``: read from the frames of the traceback, so a run that works pays nothing.

    The innermost frame decides. What an outer agent was doing as another agent ran says nothing about that one.
    """
    agent, within = ctx.agent.name, ""
    for frame, _ in walk_tb(error.__traceback__):
        names = frame.f_locals
        for runs in (names.get("self"), names.get("agent")):  # the context of a sequence is its own again by now
            if isinstance(runs, BaseAgent) and runs.name != agent:
                agent, within = runs.name, ""
        for value in names.values() if _is_runtime(frame) else (names.get("self"),):
            within = _name(value) or within
    return f"{within} of the agent {agent!r}" if within else f"the agent {agent!r}"


def _is_runtime(frame: FrameType) -> bool:
    """Whether all that the frame holds is what runs. Of other code, only the object of a method is."""
    return str(frame.f_globals.get("__name__", "")).startswith(_RUNTIME)


def _name(value: object) -> str:
    """How a note names a tool, callback, model or the run of a node; empty for anything else."""
    if isinstance(value, BaseTool):
        return f"the tool {value.name!r}"
    if isinstance(value, Bound):
        return f"the callback {value.hook} ({value.owner})"
    if isinstance(value, BaseLlm):
        return f"the model {value.model!r}"
    path = getattr(getattr(value, "place", None), "path", None) if _is_ours(value) else None
    return f"the node {path!r}" if isinstance(path, str) else ""


def _is_ours(value: object) -> bool:
    return type(value).__module__.startswith(_RUNTIME)


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `failure_places`."""
    return [Epilogue(name="failure_places", run=note, on_failure=True)]

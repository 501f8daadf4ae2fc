"""model_errors: a model's failure that ends an invocation is in the session, as an event with its code and message."""

from __future__ import annotations

from collections.abc import Iterator

from newel.models.kinds import Attempt, ModelPolicy
from newel_kernel import Epilogue, Event, InvocationContext, ModelError, hookimpl

#: The label of a request that names its agent.
_AGENT = "adk_agent_name"


def noting(attempt: Attempt, error: Exception, begun: bool) -> None:
    """Give a failure the name of the agent that asked."""
    if isinstance(error, ModelError):
        error.agent = (attempt.request.config.labels or {}).get(_AGENT, "")


async def record(ctx: InvocationContext, error: BaseException | None) -> list[Event] | None:
    """The event of the model's failure that ended the invocation."""
    failure = next(_failures(error), None)
    if failure is None:
        return None
    details = {
        "provider": failure.provider,
        "model": failure.model,
        "request_id": failure.request_id,
        "retryable": failure.retryable,
    }
    event = Event(invocation_id=ctx.invocation_id, author=failure.agent or ctx.agent.name)
    event.error_code, event.error_message = str(failure.code), str(failure)
    details |= getattr(failure, "details", None) or {}  # such as of a budget
    event.custom_metadata = {"model_error": {name: value for name, value in details.items() if value is not None}}
    return [event]


def _failures(error: BaseException | None) -> Iterator[ModelError]:
    """The failures of services that an error is, contains or was caused by."""
    seen: set[int] = set()
    pending = [error]
    while pending:
        one = pending.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, ModelError) and one.code is not None:
            yield one
        if isinstance(one, BaseExceptionGroup):
            pending.extend(one.exceptions)
        pending.append(one.__cause__)


@hookimpl
def register_model_call_policies() -> list[ModelPolicy]:
    """The policy `model_errors`."""
    return [ModelPolicy(name="model_errors", error=noting, before=("model_costs?",))]


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `model_errors`."""
    return [Epilogue(name="model_errors", run=record, on_failure=True)]

"""Node auth: a node that declares `auth_config` runs once its credential is there; until then it asks for it."""

from __future__ import annotations

from newel import auth
from newel.auth.answers import TOOLSET
from newel.contexts.stash_keys import CREDENTIALS
from newel.questions.names import CREDENTIAL_CALL
from newel.workflow.context import Run
from newel_kernel import Event, Log
from newel_types import AuthConfig, FunctionResponse


async def missing_credential(run: Run, config: AuthConfig) -> Event | None:
    """None if the invocation has the credential, which the node's context then gives; else the event that asks for it.

    Specified in docs/reference/behaviour.md#credentials.
    """
    ctx, context = run.tree.invocation, run.context
    await auth.take_answers(ctx, _answers(run), own=False)
    manager = auth.CredentialManager(config)
    credential = await manager.get_auth_credential(context)
    if credential is not None:
        ctx.stash[CREDENTIALS][config.credential_key or ""] = credential
        return None
    request = manager.request_config(context)
    auth.AuthHandler(request).check()
    # No call waits for the answer: the node itself does.
    return await auth.request_event(ctx, {f"{TOOLSET}{run.place.path}": request})


def _answers(run: Run) -> list[FunctionResponse]:
    """The user's answers to the run's own requests, as they are stored."""
    return [
        response
        for _, event in Log(run.tree.invocation.session.events).backwards()
        if event.author == "user" and event.content is not None
        for response in event.get_function_responses()
        if response.id in run.answers and response.name == CREDENTIAL_CALL
    ]

"""Input blobs: the data in a user's message is kept as artifacts, if the RunConfig says so."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from newel.contexts.invocation_context import InvocationContext
from newel.contexts.services import ArtifactService
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_types import Content, Part


def save_input_blobs(context: KernelInvocationContext) -> Coroutine[Any, Any, None] | None:
    """Replace each blob with a text that names its artifact."""
    ctx: InvocationContext = context  # type: ignore[assignment]  # as a policy of turns makes sure
    if not ctx.run_config.save_input_blobs_as_artifacts or ctx.artifact_service is None or ctx.user_content is None:
        return None
    return _save(ctx, ctx.artifact_service, ctx.user_content)


async def _save(ctx: InvocationContext, service: ArtifactService, content: Content) -> None:
    parts: list[Part] = []
    for index, part in enumerate(content.parts or ()):
        if part.inline_data is None:
            parts.append(part)
            continue
        name = f"artifact_{ctx.invocation_id}_{index}"
        await service.save_artifact(
            app_name=ctx.app_name, user_id=ctx.user_id, session_id=ctx.session.id, filename=name, artifact=part
        )
        parts.append(Part(text=f"The user uploaded a file, which is kept as the artifact {name!r}."))
    ctx.user_content = Content(role=content.role, parts=parts)

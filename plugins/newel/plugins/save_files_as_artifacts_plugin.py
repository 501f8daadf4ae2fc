"""SaveFilesAsArtifactsPlugin: files in a user's message become artifacts of the session."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

from newel.contexts.invocation_context import full_invocation
from newel.plugins.base_plugin import BasePlugin
from newel_kernel import BaseAgent, Context, InvocationContext, Key
from newel_types import Blob, Content, FileData, Part

_log = logging.getLogger(__name__)
#: Schemes of addresses that a model's provider can fetch itself.
_REACHABLE = ("gs", "http", "https")
#: Plugin -> the versions that it saved of the message's files, until an event reports them.
_SAVED = Key[dict[str, dict[str, int]]]("saved files", dict)


class SaveFilesAsArtifactsPlugin(BasePlugin):
    """Saves each file under its display name (``user:...``: for all sessions of the user); a note takes its place.

    With `attach_file_reference` the model also gets the artifact's address, if its provider could fetch it. A file
    that cannot be saved stays in the message.
    """

    def __init__(self, name: str = "save_files_as_artifacts_plugin", *, attach_file_reference: bool = True) -> None:
        super().__init__(name)
        self._attach = attach_file_reference

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: Content
    ) -> Content | None:
        """Save the files and replace them in the message."""
        if full_invocation(invocation_context).artifact_service is None:
            _log.warning("%s does nothing: the runner has no artifact service", self.name)
            return None
        parts: list[Part] = []
        saved: dict[str, int] = {}
        for index, part in enumerate(user_message.parts or ()):
            if part.inline_data is None:
                parts.append(part)
                continue
            filename = part.inline_data.display_name or f"artifact_{invocation_context.invocation_id}_{index}"
            try:
                version = await _service(invocation_context).save_artifact(
                    **_where(invocation_context), filename=filename, artifact=part
                )
            except Exception:  # noqa: BLE001 - a plugin boundary: any store, any failure; the message must not be lost
                _log.exception("the file %r of the message could not be saved; it stays in the message", filename)
                parts.append(part)
                continue
            saved[filename] = version
            parts.append(Part(text=f'[Uploaded Artifact: "{filename}"]'))
            if self._attach:
                parts.extend(await _reference(invocation_context, filename, version, part.inline_data))
        if not saved:
            return None
        invocation_context.stash[_SAVED][self._key] = saved
        return Content(role=user_message.role, parts=parts)

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> Content | None:
        """Note on the first agent's event which versions were saved."""
        saved = callback_context.get_invocation_context().stash[_SAVED].pop(self._key, None)
        if saved:
            callback_context.actions.artifact_delta.update(saved)
            callback_context.state[self._key] = {}  # without a change of the state no event would be stored
        return None

    @property
    def _key(self) -> str:
        return f"{self.name}:pending_delta"


async def _reference(ctx: InvocationContext, filename: str, version: int, blob: Blob) -> list[Part]:
    """The part that gives the artifact's address, if a provider could reach it."""
    stored = await _service(ctx).get_artifact_version(**_where(ctx), filename=filename, version=version)
    if stored is None or urlsplit(stored.canonical_uri).scheme.lower() not in _REACHABLE:
        return []
    mime_type = blob.mime_type or stored.mime_type
    return [Part(file_data=FileData(file_uri=stored.canonical_uri, mime_type=mime_type, display_name=filename))]


def _service(ctx: InvocationContext) -> Any:
    return full_invocation(ctx).artifact_service


def _where(ctx: InvocationContext) -> dict[str, str]:
    return {"app_name": ctx.app_name, "user_id": ctx.user_id, "session_id": ctx.session.id}

"""LoadArtifactsTool: the model sees which artifacts exist and asks for those that it needs."""

from __future__ import annotations

import json
import logging

from newel.contexts.context import ToolContext, full
from newel_kernel import BaseTool, Context, Effect, Json, LlmRequest
from newel_types import Content, FunctionDeclaration, Part

_log = logging.getLogger(__name__)

_NAME = "load_artifacts"
_DESCRIPTION = (
    "Loads artifacts (files that the user uploaded or that tools saved) by their names, so that you can read them."
)
_STATUS = (
    "The contents are shown to you once, in the next message, and are gone after it. To read them again, call "
    "load_artifacts again."
)
_INSTRUCTION = """\
There are artifacts with these names:
{names}
Before you answer a question about an artifact, call `load_artifacts` with its name, also if you have loaded it \
earlier: it may have changed, and do not rely on what you said about it then."""

#: What models take as data in a request; everything else goes as text or as a description.
_MEDIA = ("image/", "audio/", "video/", "application/pdf")
_TEXTS = ("text/", "application/json", "application/xml", "application/csv")


class LoadArtifactsTool(BaseTool):
    """Names the session's artifacts in the instruction; the contents asked for go into the next request only."""

    effect = Effect.PURE

    def __init__(self) -> None:
        super().__init__(name=_NAME, description=_DESCRIPTION)

    def _get_declaration(self) -> FunctionDeclaration:
        names = {"type": "array", "items": {"type": "string"}}
        return FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema={"type": "object", "properties": {"artifact_names": names}},
        )

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """The names, from which the next request takes the contents: they are not stored in the session."""
        return {"artifact_names": args.get("artifact_names", []), "status": _STATUS}

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Declare the tool, name the artifacts, and add the contents that the last call asked for."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        names = await full(tool_context).list_artifacts()
        if not names:
            return
        llm_request.append_instructions([_INSTRUCTION.format(names=json.dumps(names, ensure_ascii=False))])
        for name in _requested_names(llm_request):
            artifact = await _load(full(tool_context), name)
            if artifact is None:
                _log.warning("the artifact %r does not exist; the model asked for it", name)
                continue
            words = Part(text=f"The artifact {name}:")
            llm_request.contents.append(Content(role="user", parts=[words, _readable(artifact, name)]))


def _requested_names(request: LlmRequest) -> list[str]:
    """The names in the results of load_artifacts that end the conversation."""
    last = request.contents[-1] if request.contents else None
    names: list[str] = []
    for part in (last.parts or ()) if last is not None else ():
        result = part.function_response
        if result is not None and result.name == _NAME:
            listed = (result.response or {}).get("artifact_names")
            names.extend(name for name in (listed if isinstance(listed, list) else ()) if isinstance(name, str))
    return list(dict.fromkeys(names))


async def _load(context: ToolContext, name: str) -> Part | None:
    """The session's artifact of that name, or the user's."""
    artifact = await context.load_artifact(name)
    if artifact is None and not name.startswith("user:"):
        artifact = await context.load_artifact(f"user:{name}")
    return artifact


def _readable(artifact: Part, name: str) -> Part:
    """`artifact` as a part that a model takes."""
    blob = artifact.inline_data
    if blob is None:
        return artifact
    kind = (blob.mime_type or "application/octet-stream").partition(";")[0].strip().lower()
    if blob.data is None:
        return Part(text=f"[{name} ({kind}) is empty]")
    if kind.startswith(_MEDIA):
        return artifact
    if kind.startswith(_TEXTS):
        return Part(text=blob.data.decode("utf-8", errors="replace"))
    return Part(text=f"[{name} is binary data ({kind}, {len(blob.data):,} bytes) and cannot be shown]")


load_artifacts_tool = LoadArtifactsTool()

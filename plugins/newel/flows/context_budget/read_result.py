"""read_result: the tool with which a model reads a result again that it no longer sees whole."""

from __future__ import annotations

from collections.abc import Sequence

from newel.contexts.context import full
from newel.flows.context_budget.edits import Edit, edits_of, is_of_view
from newel.flows.context_budget.strategies import text_of
from newel.flows.visibility import is_visible
from newel.policies.kept_results import reference_in
from newel_kernel import BaseTool, Context, Effect, Event, InvocationContext, Json, Log, did_you_mean
from newel_types import FunctionDeclaration, FunctionResponse

NAME = "read_result"
_DESCRIPTION = (
    "Reads the result of an earlier tool call, one that is marked as cleared or is an artifact. "
    "A long result comes in pages."
)
_PARAMETERS = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "The id that the mark names, or the artifact's name."},
        "page": {"type": "integer", "description": "The page, from 1 on.", "default": 1},
    },
    "required": ["id"],
}


class ReadResultTool(BaseTool):
    """Gives back the results that were cleared from the agent's context, and those that became artifacts."""

    effect = Effect.PURE

    def __init__(self, page: int) -> None:
        super().__init__(name=NAME, description=_DESCRIPTION)
        #: Characters of a page.
        self._page = page

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=_PARAMETERS)

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """The result whole, or a page of its text."""
        ctx = tool_context.get_invocation_context()
        handle, page = str(args.get("id", "")), args.get("page", 1)
        handles = {edit.handle: edit for edit in standing_edits(ctx)}
        response = _stored(ctx.session.events, handles[handle]) if handle in handles else None
        if response is not None:
            text = text_of(response.response)
            if len(text) <= self._page:
                return {"tool": response.name, "result": response.response or {}}
            return self._paged(handle, response.name, text, page)
        references = offloaded(ctx)
        if handle in references:
            tool, version = references[handle]
            part = await full(tool_context).load_artifact(handle, version)
            if part is not None and (data := part.inline_data) is not None and data.data is not None:
                return self._paged(handle, tool, data.data.decode(errors="replace"), page)
            return {"error": f"the artifact {handle!r} is gone"}
        return {"error": f"no result has the id {handle!r}{did_you_mean(handle, [*handles, *references])}"}

    def _paged(self, handle: str, tool: str | None, text: str, page: object) -> Json:
        pages = max(1, -(-len(text) // self._page))
        if not isinstance(page, int) or not 1 <= page <= pages:
            return {"error": f"the result {handle!r} has the pages 1 to {pages}, and no page {page!r}"}
        start = (page - 1) * self._page
        return {"tool": tool, "page": page, "pages": pages, "text": text[start : start + self._page]}


def standing_edits(ctx: InvocationContext) -> list[Edit]:
    """The edits of what the agent sees, in order."""
    view = (ctx.agent.name, ctx.branch, ctx.isolation_scope)
    return [
        edit
        for event in Log(ctx.session.events).standing()
        if event.custom_metadata is not None and is_of_view(event, *view)
        for edit in edits_of(event)
    ]


def offloaded(ctx: InvocationContext) -> dict[str, tuple[str | None, int]]:
    """By the artifact's name, the results that became artifacts where the agent sees it: their tools and versions."""
    found: dict[str, tuple[str | None, int]] = {}
    for event in Log(ctx.session.events).standing():
        if is_visible(event, ctx.branch, ctx.isolation_scope):
            for response in event.get_function_responses():
                if (reference := reference_in(response.response)) is not None:
                    found[str(reference["artifact"])] = response.name, int(reference["version"])
    return found


def _stored(events: Sequence[Event], edit: Edit) -> FunctionResponse | None:
    """The result that an edit stands for: the last one that the log holds of its call."""
    latest: FunctionResponse | None = None
    called = False
    for event in Log(events).standing():
        if event.id == edit.target[0]:
            called = True
        elif called:
            if any(call.id == edit.target[1] for call in event.get_function_calls()):
                break  # the model uses the id for another call
            latest = next((one for one in event.get_function_responses() if one.id == edit.target[1]), latest)
    return latest

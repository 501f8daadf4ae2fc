"""McpTool: a tool of an MCP server."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from newel.contexts.context import Context as FullContext
from newel.contexts.context import full
from newel.events.progress import tell_progress
from newel.mcp import client, questions, results
from newel.mcp.access import Access, HeaderProvider
from newel.mcp.definitions import Definition
from newel.mcp.errors import McpError, McpLostError, McpUnauthorizedError
from newel.mcp.names import spelt
from newel.mcp.pins import Doubt
from newel.mcp.questions import Asked, McpAsksError
from newel.mcp.schemas import sound
from newel.mcp.sessions import MCPSessionManager
from newel.mcp.settings import Settings, settings_of
from newel.mcp.texts import cleaned, fenced
from newel.tools.base_authenticated_tool import PENDING
from newel.tools.confirmation import Needed, refusal
from newel_kernel import BaseTool, Context, Effect, Json, StreamingMode, current_operation
from newel_types import AuthCredential, AuthScheme, FunctionDeclaration

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT

#: Told of a call's progress (done, total, message), or a maker of such a function for one call.
ProgressCallback: TypeAlias = Callable[..., Any]
_log = logging.getLogger("newel.mcp")
#: The most characters of a message about a call's progress.
_MOST_MESSAGE = 500


class McpTool(BaseTool):
    """Calls one tool of a server. A call that may have had an effect is not repeated, unless `effect` allows it."""

    effect = Effect.AT_MOST_ONCE
    telemetry_type = "extension"
    #: In a streamed run it tells how far it is.
    __newel_reports__ = True
    #: The policy `tool_timeout` leaves the time to the connection, which counts from the last progress.
    timeout: float = 0

    def __init__(
        self,
        *,
        mcp_tool: object,
        mcp_session_manager: MCPSessionManager,
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        require_confirmation: Needed = False,
        header_provider: HeaderProvider | None = None,
        progress_callback: ProgressCallback | None = None,
        propagate_grounding_metadata: bool = False,
        access: Access | None = None,
        name: str | None = None,
        effect: Effect | str | None = None,
        doubt: Doubt | None = None,
    ) -> None:
        self.definition = definition_of(mcp_tool)
        #: What the model sees of it.
        shown = doubt.old if doubt is not None and doubt.old is not None else self.definition
        self._doubt = doubt
        self.raw_mcp_tool = mcp_tool
        self._manager = mcp_session_manager
        self._needed = require_confirmation
        self._access = access or Access(mcp_session_manager.params, header_provider, auth_scheme, auth_credential)
        self._progress_callback = progress_callback
        self.propagate_grounding_metadata = propagate_grounding_metadata
        described = "\n\n".join(text for text in (shown.title, shown.description) if text)
        super().__init__(
            name=name or spelt(self.definition.name),
            description=fenced(described, mcp_session_manager.server, "description of a tool"),
            effect=effect,
        )
        self._schema = sound(shown.input_schema)
        self._declaration: FunctionDeclaration | None = None

    @property
    def __newel_origin__(self) -> str:
        """The server and the name that it has for the tool."""
        return f"{self.definition.name!r} of the MCP server {self._manager.server}"

    @property
    def visibility(self) -> list[str]:
        """Who the server wants to see the tool: ``model``, ``app``."""
        shown = self._of_interface.get("visibility")
        return [str(one) for one in shown] if isinstance(shown, list) else ["model", "app"]

    @property
    def mcp_app_resource_uri(self) -> str | None:
        """The resource with the user interface of the tool's results, if it has one."""
        uri = self._of_interface.get("resourceUri")
        return uri if isinstance(uri, str) else None

    @property
    def _of_interface(self) -> Json:
        found = self.definition.meta.get("ui")
        return found if isinstance(found, dict) else {}

    def _get_declaration(self) -> FunctionDeclaration:
        if self._declaration is None or self._declaration.name != self.name:
            self._declaration = FunctionDeclaration(
                name=self.name, description=self.description, parameters_json_schema=self._schema
            )
        return self._declaration

    async def check_require_confirmation(self, args: Json, tool_context: Context) -> Json | None:
        """None if the call may go ahead, else the result that says why not."""
        return await refusal(self.name, self._needed, args, tool_context) if self._needed else None

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """The server's result; what goes wrong is an error result."""
        context = full(tool_context)
        try:
            asked = questions.resumed(context, self.definition) if context.kept is not None else None
        except McpError as error:
            return {"error": str(error)}
        if asked is None and (refused := await self._refusal(args, tool_context)) is not None:
            return refused
        if asked is not None and asked.open is not None:
            return self._ask(context, asked)
        settings = settings_of(tool_context)
        try:
            result = await self._result(args, tool_context, settings, asked)
        except McpAsksError as error:
            return self._ask(context, error.asked)
        except McpUnauthorizedError as error:
            if not await self._access.refused(error, tool_context):
                return {"error": str(error)}
            await self._access.ask(context)
            return PENDING
        except McpError as error:
            return {"error": str(error)}
        return await results.as_response(result, context, self.name, whole=settings.whole_results)

    def _ask(self, context: FullContext, asked: Asked) -> Json:
        try:
            return questions.ask(context, asked, self._manager.server, self.definition)
        except McpError as error:
            return {"error": str(error)}

    async def _refusal(self, args: Json, tool_context: Context) -> Json | None:
        """The result that says why the call may not go ahead, if it may not."""
        if self._doubt is not None and (unresolved := await self._doubt.resolved(tool_context)) is not None:
            return unresolved
        return await self.check_require_confirmation(args, tool_context)

    async def _result(self, args: Json, context: Context, settings: Settings, asked: Asked | None) -> Json:
        """The server's own result; asked for once more if the first request cannot have had an effect."""
        headers = await self._access.headers(context)
        report = self._progress(context)
        try:
            return await self._call(args, headers, settings, report, asked)
        except McpLostError as error:
            if error.acted and self.effect is Effect.AT_MOST_ONCE:
                raise McpLostError(
                    f"{error}. Whether the call had an effect is not known: look before you repeat it", acted=True
                ) from error
            _log.info("newel: calling %s again in a new session", self.__newel_origin__)
        return await self._call(args, headers, settings, report, asked)

    async def _call(
        self,
        args: Json,
        headers: Mapping[str, str],
        settings: Settings,
        report: ProgressFnT | None,
        asked: Asked | None,
    ) -> Json:
        async with self._manager.lease(headers, settings) as connection:
            return client.plain(await connection.call(self.definition.name, args, report, asked))

    def _progress(self, context: Context) -> ProgressFnT | None:
        """What is told of the call's progress: the callback, the observers, and who follows a streamed run."""
        told = None if self._progress_callback is None else _for_call(self._progress_callback, self.name, context)
        parent, ctx = current_operation.get(), context.get_invocation_context()
        streams = ctx.run_config.streaming_mode is StreamingMode.SSE
        if parent is None and not streams:
            return told

        async def report(progress: float, total: float | None, message: str | None) -> None:
            shown = cleaned(message, _MOST_MESSAGE) if message else None
            step: Json = {"progress": progress, "total": total, "message": shown}
            if streams:
                tell_progress(ctx, {"call_id": context.function_call_id, "tool": self.name, **step})
            if parent is None:
                await _told(told, progress, total, message)
                return
            with parent.child("progress", self.name, ctx, self, step).running():
                await _told(told, progress, total, message)

        return report


async def _told(told: ProgressFnT | None, progress: float, total: float | None, message: str | None) -> None:
    if told is not None:
        await told(progress, total, message)


def _for_call(callback: ProgressCallback, tool: str, context: Context) -> ProgressFnT:
    """The function for the progress of one call: `callback`, or what it makes for the tool and the context."""
    parameters = inspect.signature(callback).parameters
    made: ProgressFnT = callback
    if "callback_context" in parameters or "tool_name" in parameters:
        made = callback(tool, callback_context=context)
    return made


def definition_of(tool: object) -> Definition:
    """A definition of ours, or one of the SDK's as ours."""
    if isinstance(tool, Definition):
        return tool
    dump: Any = getattr(tool, "model_dump", None)
    return Definition.of(dump(by_alias=True, mode="json", exclude_none=True))

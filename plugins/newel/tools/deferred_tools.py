"""Deferred: tools that the model is not told of until it searches for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias, get_args

import newel_compose
from newel.contexts.invocation_context import full_invocation
from newel.models.deferral import DEFERRAL, Deferral, found_by
from newel.tools.kinds import adapt_tool
from newel.tools.tool_configs import Searcher
from newel.tools.tool_index import ToolIndex
from newel_kernel import (
    BaseTool,
    BaseToolset,
    ConfigurationError,
    Context,
    Effect,
    Json,
    Key,
    LlmRequest,
    ReadonlyContext,
)
from newel_types import AuthConfig, FunctionDeclaration

#: The beginning of the key in the session's state that says when a tool was found. One key a tool: searches that run
#: at once lose none of each other's.
_FOUND = "_adk_found_tool:"
#: How many events of the session were read, and the tools that a service had found in them.
_READ: Key[tuple[int, frozenset[str]]] = Key("events read for tools that were found")
_NAME, _MOST = "search_tools", 5
#: Characters of the description of the search, and of a tool that was found.
_MOST_CHARACTERS, _SHOWN = 600, 300


Entry: TypeAlias = BaseToolset | BaseTool | Callable[..., object]


class Deferred(BaseToolset):
    """Tools of which a model request has only a search, and those that were found so far in the session.

    `tools` are toolsets, tools and functions. A search finds at most `most` of them, by default 5. A tool that was
    found stays declared, after those found before it, over turns, restarts and transfers between agents. `name` is the
    search's, for an agent with two. In a live run, whose tools are declared once, all are.

    With `search` as ``provider``, the model's service searches: it gets all declarations with each request, and shows
    the model only those that it finds. Models whose service has no such search are refused.
    """

    def __init__(
        self,
        *tools: BaseToolset | BaseTool | Callable[..., object],
        most: int | None = None,
        name: str | None = None,
        search: Searcher = "newel",
    ) -> None:
        super().__init__()
        if not tools:
            raise ConfigurationError("Deferred(...) needs the tools to be searched: toolsets, tools or functions")
        if most is not None and most < 1:
            raise ConfigurationError(f"Deferred(most={most}): a search finds at least 1 tool")
        if search not in get_args(Searcher):
            raise ConfigurationError(f"Deferred(search={search!r}): expected one of {', '.join(get_args(Searcher))}")
        if search == "provider" and (most is not None or name is not None):
            raise ConfigurationError("Deferred(search='provider') takes neither most nor name: the service has its own")
        self._entries = tools
        self._most = most or _MOST
        self._name = name or _NAME
        self._by_provider = search == "provider"
        self._adapted: dict[int, BaseTool] = {}
        #: The search, and the names and descriptions of the tools that it was made of.
        self._search: tuple[list[tuple[str, str]], SearchTool] | None = None

    @property
    def __newel_origin__(self) -> str:
        """The toolset, by its search."""
        return f"{super().__newel_origin__} behind {self._name!r}"

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The search, what was found so far, and what cannot be called by name."""
        tools = await self._all_tools(readonly_context)
        if readonly_context is None or _is_live(readonly_context):
            return tools
        if self._by_provider:
            return [ProviderSearch(tools), *tools]
        search = self._search_of(tools)
        by_name = {tool.name: tool for tool in tools if tool.name in search.names}
        found = [by_name[name] for name in _found(readonly_context) if name in by_name]
        return [search, *found, *(tool for tool in tools if tool.name not in search.names)]

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Do what the toolsets do."""
        for entry in self._entries:
            if isinstance(entry, BaseToolset):
                await entry.process_llm_request(tool_context=tool_context, llm_request=llm_request)

    def get_auth_config(self) -> AuthConfig | None:
        """What the first of the toolsets needs that needs something."""
        needed = (entry.get_auth_config() for entry in self._entries if isinstance(entry, BaseToolset))
        return next((config for config in needed if config is not None), None)

    async def close(self) -> None:
        """Close the toolsets."""
        if self._search is not None:
            self._search[1].close()
            self._search = None
        for entry in self._entries:
            if isinstance(entry, BaseToolset):
                await entry.close()

    async def _all_tools(self, context: ReadonlyContext | None) -> list[BaseTool]:
        tools: list[BaseTool] = []
        for entry in self._entries:
            if isinstance(entry, BaseToolset):
                tools += await entry.get_tools_with_prefix(context)
            else:
                tools.append(self._as_tool(entry, context))
        return tools

    def _search_of(self, tools: Sequence[BaseTool]) -> SearchTool:
        """The search among these tools, made again once one of them has changed."""
        seen = [(tool.name, tool.description) for tool in tools]
        if self._search is None or self._search[0] != seen:
            if self._search is not None:
                self._search[1].close()
            self._search = (seen, SearchTool(self._name, tools, self._most))
        return self._search[1]

    def _as_tool(self, entry: Entry, context: ReadonlyContext | None) -> BaseTool:
        if id(entry) not in self._adapted:
            invocation = None if context is None else context._invocation_context
            # Composing reads the distribution's file each time: an agent of 200 tools would read it as often.
            chains = newel_compose.compose_once() if invocation is None else invocation.composition
            self._adapted[id(entry)] = adapt_tool(chains, entry)
        return self._adapted[id(entry)]


class SearchTool(BaseTool):
    """Finds tools by what they do; what it finds is declared from the next model request on."""

    def __init__(self, name: str, tools: Sequence[BaseTool], most: int) -> None:
        self._tools = [tool for tool in tools if tool._get_declaration() is not None]
        self._descriptions = {tool.name: tool.description for tool in self._tools}
        self._most = most
        self._index: ToolIndex | None = None
        super().__init__(name=name, description=_description(self._tools), effect=Effect.PURE)

    @property
    def names(self) -> Collection[str]:
        """The names of the tools that can be found: those that a model calls by name."""
        return self._descriptions.keys()

    def close(self) -> None:
        """Free the index."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def _get_declaration(self) -> FunctionDeclaration:
        query = {"type": "string", "description": "What the tool should do, in a few words."}
        return FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema={"type": "object", "properties": {"query": query}, "required": ["query"]},
        )

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """The tools that fit the query best, with their descriptions."""
        query = args.get("query")
        if not isinstance(query, str) or not query.strip():
            return {"error": f"Invoking `{self.name}()` failed: `query` must say what the tool should do"}
        self._index = self._index or ToolIndex(self._tools)
        names = self._index.find(query, self._most)
        if not names:
            return {"tools": [], "hint": "No tool has these words: try others."}
        number = len(_found(tool_context))
        for name in names:
            if f"{_FOUND}{name}" not in tool_context.state:
                number += 1
                tool_context.state[f"{_FOUND}{name}"] = number
        return {"tools": [{"name": name, "description": self._descriptions[name][:_SHOWN]} for name in names]}


class ProviderSearch(BaseTool):
    """Tells the model's service which tools it shall search; it is not declared itself."""

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self._tools = tools
        super().__init__(name="provider_tool_search", description="", effect=Effect.PURE)

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Note the tools in the request. Raises ConfigurationError if the agent's model has no search."""
        ctx = full_invocation(tool_context._invocation_context)
        model = ctx.agent.__newel__.model_for(ctx)  # type: ignore[attr-defined]  # a model agent's
        if not model.capabilities.tool_search:
            raise ConfigurationError(
                f"the model {model.model!r} of agent {ctx.agent.name!r} does not search tools itself: leave out "
                f"search='provider' of Deferred(...), or choose a model that does (Claude from 4.5 on, models of "
                f"OpenAI's Responses API from gpt-5.4 on)"
            )
        names = frozenset(tool.name for tool in self._tools if tool._get_declaration() is not None)
        found = frozenset(_found(tool_context)) | _found_by_service(tool_context)
        earlier = llm_request.stash.get(DEFERRAL, Deferral(frozenset()))
        llm_request.stash[DEFERRAL] = earlier | Deferral(names, found & names)


def _found_by_service(context: ReadonlyContext) -> frozenset[str]:
    """The names of the tools that services found in the session; events are read once."""
    events, stash = context.session.events, context.session.stash
    count, found = stash.get(_READ, (0, frozenset()))
    if count > len(events):
        count, found = 0, frozenset()
    if count < len(events):
        found |= found_by(events[count:])
        stash[_READ] = (len(events), found)
    return found


def _found(context: ReadonlyContext) -> list[str]:
    """The names of the tools that were found in the session, in the order in which they were found."""
    state = context.session.state  # a context's own would copy every value that is read
    found = [(number, key) for key, number in state.items() if key.startswith(_FOUND) and isinstance(number, int)]
    return [key.removeprefix(_FOUND) for _, key in sorted(found)]


def _is_live(context: ReadonlyContext) -> bool:
    return full_invocation(context._invocation_context).live_request_queue is not None


def _description(tools: Sequence[BaseTool]) -> str:
    """What the search says of itself: how many tools there are, and the first words of their names."""
    text = (
        f"Find the tools that you need among {len(tools)} that are not listed here. Search before you say that "
        f"something cannot be done; a tool that was found can be called in the next step."
    )
    groups = dict.fromkeys(tool.name.partition("_")[0] for tool in tools)
    known = ""
    for group in groups:
        if len(text) + len(known) + len(group) > _MOST_CHARACTERS:
            break
        known += f", {group}" if known else group
    return f"{text} There are tools for: {known}." if known else text

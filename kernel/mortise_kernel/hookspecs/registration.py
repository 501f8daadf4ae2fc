"""Registration hooks: what a plugin provides.

They are synchronous and called once, when a distribution is composed. Each returns a list of frozen
descriptors (`contracts.descriptors`). An implementation may take `settings`, a mapping from a plugin's name
to its validated settings. The examples run as doctests, with the names of `mortise_kernel` at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pluggy
from pydantic import BaseModel

from mortise_kernel.contracts import descriptors as d

hookspec = pluggy.HookspecMarker("mortise")
hookimpl = pluggy.HookimplMarker("mortise")

Settings = Mapping[str, BaseModel]


@hookspec
def register_settings() -> type[BaseModel] | None:
    """The pydantic model of the plugin's settings; a distribution sets them under `settings: {plugin: ...}`.

    >>> class Settings(BaseModel, extra="forbid"):
    ...     volume: int = 3
    >>> class Plugin:
    ...     name = "loud"
    ...     @hookimpl
    ...     def register_settings(self):
    ...         return Settings
    >>> "register_settings" in compose("minimal", plugins=[Plugin()]).plugins[0].hooks
    True
    """
    return None


@hookspec
def register_request_processors(settings: Settings) -> Sequence[d.RequestProcessor]:
    """Processors of the request chain. A step that edits every model request.

    Its place is in the distribution's `request_chain`, or beside an anchor.

    >>> async def shout(ctx, request):
    ...     request.append_instructions(["Answer in capitals."])
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_request_processors(self):
    ...         return [RequestProcessor(name="shout", run=shout, after=("identity",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [p.name for p in composed.request_chain if p.name in ("identity", "shout")]
    ['identity', 'shout']
    """
    return ()


@hookspec
def register_response_processors(settings: Settings) -> Sequence[d.ResponseProcessor]:
    """Processors of the response chain. A step that edits every model response before it becomes an event.

    >>> async def trim(ctx, request, response):
    ...     response.custom_metadata = {"trimmed": True}
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_response_processors(self):
    ...         return [ResponseProcessor(name="trim", run=trim, after=("planning",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.response_chain[1].name
    'trim'
    """
    return ()


@hookspec
def register_result_processors(settings: Settings) -> Sequence[d.ResultProcessor]:
    """Processors of the result chain. A step that sees the event of tool results.

    It may add events before or after that event.

    >>> async def audit(ctx, call_event, result_event):
    ...     return None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_result_processors(self):
    ...         return [ResultProcessor(name="audit", run=audit, after=("confirmation",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [p.name for p in composed.result_chain if p.name in ("confirmation", "audit")]
    ['confirmation', 'audit']
    """
    return ()


@hookspec
def register_model_providers(settings: Settings) -> Sequence[d.ModelProvider]:
    """Providers of models. Makes a model from an address such as ``parrot:loud``.

    The SDK is imported in `create`, never in the plugin.

    >>> def parrot(address):
    ...     return ScriptedModel([address])
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_model_providers(self):
    ...         return [ModelProvider(name="parrot", create=parrot, patterns=("parrot-.*",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("ModelProvider", "parrot").name
    'parrot'
    """
    return ()


@hookspec
def register_session_backends(settings: Settings) -> Sequence[d.SessionBackend]:
    """Session stores. Opens a session store from a URI of its scheme.

    >>> def open_store(uri):
    ...     return InMemorySessionService()
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_session_backends(self):
    ...         return [SessionBackend(name="volatile", open=open_store)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("SessionBackend", "volatile").name
    'volatile'
    """
    return ()


@hookspec
def register_artifact_backends(settings: Settings) -> Sequence[d.ArtifactBackend]:
    """Artifact stores. Opens an artifact store from a URI of its scheme.

    >>> def open_artifacts(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_artifact_backends(self):
    ...         return [ArtifactBackend(name="bucket", open=open_artifacts)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("ArtifactBackend", "bucket").name
    'bucket'
    """
    return ()


@hookspec
def register_memory_backends(settings: Settings) -> Sequence[d.MemoryBackend]:
    """Memory services. Opens a memory service from a URI of its scheme.

    >>> def open_memory(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_memory_backends(self):
    ...         return [MemoryBackend(name="elephant", open=open_memory)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("MemoryBackend", "elephant").name
    'elephant'
    """
    return ()


@hookspec
def register_credential_backends(settings: Settings) -> Sequence[d.CredentialBackend]:
    """Credential stores. Opens a credential store from a URI of its scheme.

    >>> def open_vault(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_credential_backends(self):
    ...         return [CredentialBackend(name="vault", open=open_vault)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("CredentialBackend", "vault").name
    'vault'
    """
    return ()


@hookspec
def register_auth_providers(settings: Settings) -> Sequence[d.AuthProvider]:
    """Providers of credentials. Makes a provider that resolves credentials of one kind of auth scheme.

    >>> def secret_manager():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_auth_providers(self):
    ...         return [AuthProvider(name="secrets", create=secret_manager)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("AuthProvider", "secrets").name
    'secrets'
    """
    return ()


@hookspec
def register_code_executors(settings: Settings) -> Sequence[d.CodeExecutor]:
    """Code executors. Makes an executor of code that a model wrote.

    >>> def jail(**settings):
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_code_executors(self):
    ...         return [CodeExecutor(name="jail", create=jail)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("CodeExecutor", "jail").name
    'jail'
    """
    return ()


@hookspec
def register_planners(settings: Settings) -> Sequence[d.Planner]:
    """Planners. Makes a planner.

    >>> def chess(**settings):
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_planners(self):
    ...         return [Planner(name="chess", create=chess)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("Planner", "chess").name
    'chess'
    """
    return ()


@hookspec
def register_tool_factories(settings: Settings) -> Sequence[d.ToolFactory]:
    """Tools that an agent file can name. Makes a tool from the arguments in the file.

    >>> def dice(sides=6):
    ...     return lambda: sides
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_factories(self):
    ...         return [ToolFactory(name="dice", create=dice)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("ToolFactory", "dice").name
    'dice'
    """
    return ()


@hookspec
def register_tool_adapters(settings: Settings) -> Sequence[d.ToolAdapter]:
    """Adapters of foreign tools. Turns objects in an agent's `tools` that are no tools into tools.

    >>> def is_magic(entry):
    ...     return isinstance(entry, range)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_adapters(self):
    ...         return [ToolAdapter(name="ranges", accepts=is_magic, adapt=list)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("ToolAdapter", "ranges").name
    'ranges'
    """
    return ()


@hookspec
def register_agent_types(settings: Settings) -> Sequence[d.AgentType]:
    """Agent classes that an agent file can name. Imports and returns an agent class; it runs when a file names it.

    >>> def load_agent():
    ...     return BaseAgent
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_agent_types(self):
    ...         return [AgentType(name="MyAgent", load=load_agent)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("AgentType", "MyAgent").name
    'MyAgent'
    """
    return ()


@hookspec
def register_engines(settings: Settings) -> Sequence[d.Engine]:
    """Engines. Makes an engine that dispatches and recovers invocations.

    >>> def threads(**settings):
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_engines(self):
    ...         return [Engine(name="threads", create=threads)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("Engine", "threads").name
    'threads'
    """
    return ()


@hookspec
def register_metrics(settings: Settings) -> Sequence[d.Metric]:
    """Evaluation metrics. Makes a metric.

    >>> def politeness(**settings):
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_metrics(self):
    ...         return [Metric(name="politeness", create=politeness)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("Metric", "politeness").name
    'politeness'
    """
    return ()


@hookspec
def register_commands(settings: Settings) -> Sequence[d.Command]:
    """Commands of the command line. Imports and returns a click command.

    >>> def load_command():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_commands(self):
    ...         return [Command(name="greet", load=load_command, help="Say hello.")]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("Command", "greet").name
    'greet'
    """
    return ()


@hookspec
def register_routes(settings: Settings) -> Sequence[d.Route]:
    """Routes of the server. Imports and returns an ASGI application for a path.

    >>> def load_app():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_routes(self):
    ...         return [Route(name="health", path="/healthz", load=load_app)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("Route", "health").name
    'health'
    """
    return ()


@hookspec
def register_web_panels(settings: Settings) -> Sequence[d.WebPanel]:
    """Panels of the web UI. Imports and returns a panel.

    >>> def load_panel():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_web_panels(self):
    ...         return [WebPanel(name="notes", title="Notes", load=load_panel)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("WebPanel", "notes").name
    'notes'
    """
    return ()


#: Registration hook -> the descriptor it returns.
REGISTRATION: dict[str, type[Any]] = {
    "register_request_processors": d.RequestProcessor,
    "register_response_processors": d.ResponseProcessor,
    "register_result_processors": d.ResultProcessor,
    "register_model_providers": d.ModelProvider,
    "register_session_backends": d.SessionBackend,
    "register_artifact_backends": d.ArtifactBackend,
    "register_memory_backends": d.MemoryBackend,
    "register_credential_backends": d.CredentialBackend,
    "register_auth_providers": d.AuthProvider,
    "register_code_executors": d.CodeExecutor,
    "register_planners": d.Planner,
    "register_tool_factories": d.ToolFactory,
    "register_tool_adapters": d.ToolAdapter,
    "register_agent_types": d.AgentType,
    "register_engines": d.Engine,
    "register_metrics": d.Metric,
    "register_commands": d.Command,
    "register_routes": d.Route,
    "register_web_panels": d.WebPanel,
}

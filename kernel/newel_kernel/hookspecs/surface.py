"""Registration hooks of what is around the runtime: engines, metrics, commands, routes, panels."""

from __future__ import annotations

from collections.abc import Sequence

from newel_kernel.contracts import descriptors as d
from newel_kernel.hookspecs.markers import Settings, hookspec


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
def register_displays(settings: Settings) -> Sequence[d.Display]:
    """How a notebook shows an agent: what it may show, by MIME type.

    >>> def in_bold(agent, **asked):
    ...     return {"text/markdown": f"**{agent.name}**"}
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_displays(self):
    ...         return [Display(name="bold", create=in_bold)]
    >>> composed = compose("minimal", plugins=[Plugin()])
    >>> composed.find("Display", "bold").create(BaseAgent(name="weather"), include=None, exclude=None)
    {'text/markdown': '**weather**'}
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

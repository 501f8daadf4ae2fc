"""The hooks that the host itself calls: for settings, kinds, and policies around hooks and stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from newel_compose._internal.ordering import Placed
from newel_kernel import Bound, Descriptor, Kind, Stage, hookspec


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPolicy(Stage):
    """Wraps the implementations of lifecycle hooks: `wrap` gets each one and returns it, or a wrapper around it.

    Implementations of plugins are wrapped once, an agent's own callbacks on each use: `wrap` must be quick.

    The first policy of the order `hook_policies` is the outermost.
    """

    wrap: Callable[[Bound], Bound]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePolicy(Stage):
    """Wraps stages of every order: `wrap` gets each one in its place and returns it, or a copy that does more.

    Stages are wrapped once, when a distribution is composed. A copy keeps its name. The first policy of the order
    `stage_policies` is the outermost.
    """

    wrap: Callable[[Placed], Stage]
    #: The stages that the policy names; one that there is not is an error.
    stages: tuple[str, ...] = ()


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
def register_kinds() -> Sequence[Kind[Descriptor]]:
    """The kinds that the plugin consumes: what other plugins may provide for it, and through which hook.

    >>> @dataclass(frozen=True, slots=True, kw_only=True)
    ... class Greeting(Descriptor):
    ...     text: str
    >>> @hookspec
    ... def register_greetings(settings):
    ...     return ()
    >>> class Hall:
    ...     @hookimpl
    ...     def register_kinds(self):
    ...         return [Kind(Greeting, register_greetings)]
    >>> class English:
    ...     @hookimpl
    ...     def register_greetings(self):
    ...         return [Greeting(name="english", text="Good morning")]
    >>> composed = compose("minimal", plugins=[Hall(), English()])
    >>> composed.registry.find(Greeting, "english").text
    'Good morning'
    """
    return ()


@hookspec
def register_hook_policies(settings: Mapping[str, BaseModel]) -> Sequence[HookPolicy]:
    """Policies around every plugin's lifecycle hooks, applied once, when the plugins are composed.

    >>> class Counter:
    ...     calls = 0
    ...     @hookimpl
    ...     def register_hook_policies(self, settings):
    ...         def wrap(bound):
    ...             def counted(**keywords):
    ...                 self.calls += 1
    ...                 return bound.call(**keywords)
    ...             return Bound(bound.hook, counted, bound.owner, bound.plugin, bound.last)
    ...         return [HookPolicy(name="counter", wrap=wrap)]
    >>> [policy.name for policy in compose("minimal", plugins=[Counter()]).registry.all(HookPolicy)]
    ['counter']
    """
    return ()


@hookspec
def register_stage_policies(settings: Mapping[str, BaseModel]) -> Sequence[StagePolicy]:
    """Policies around the stages of every order, applied once, when the plugins are composed.

    >>> seen = []
    >>> class Witness:
    ...     @hookimpl
    ...     def register_stage_policies(self, settings):
    ...         def wrap(placed):
    ...             seen.append(placed.stage.name)
    ...             return placed.stage
    ...         return [StagePolicy(name="witness", wrap=wrap)]
    >>> composed = compose("minimal", plugins=[Witness()])
    >>> "contents" in seen
    True
    """
    return ()


def host_kinds() -> tuple[Kind[Descriptor], ...]:
    """The kinds that the host consumes."""
    return (
        Kind(HookPolicy, register_hook_policies, order="hook_policies", open_ended=True),
        Kind(StagePolicy, register_stage_policies, order="stage_policies", open_ended=True),
    )

"""The kind `AgentType`."""

from __future__ import annotations

from collections.abc import Sequence

from newel_compose import Loader
from newel_kernel import Settings, hookspec


class AgentType(Loader):
    """An agent class that an agent file can name."""


@hookspec
def register_agent_types(settings: Settings) -> Sequence[AgentType]:
    """Agent classes that an agent file can name. Imports and returns an agent class; it runs when a file names it.

    >>> def load_agent():
    ...     return BaseAgent
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_agent_types(self):
    ...         return [AgentType(name="MyAgent", load=load_agent)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(AgentType, "MyAgent").name
    'MyAgent'
    """
    return ()

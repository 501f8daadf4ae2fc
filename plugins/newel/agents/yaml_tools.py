"""Tools in agent files: names of installed ones, functions, tools and toolsets of the app."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_origin

from newel.agents.common_configs import ArgumentConfig, CodeConfig
from newel.agents.yaml_agents import SUFFIXES, read_agent, read_agent_of_code
from newel.agents.yaml_calls import applied, check_call
from newel.agents.yaml_reading import Make, Reader, Ready, called, items, located, parsed, read_code, resolved
from newel.agents.yaml_syntax import Steps
from newel.tools.tool_configs import ToolArgsConfig
from newel_kernel import BaseAgent
from newel_kernel import BaseTool, BaseToolset
from newel_kernel import ConfigurationError

if TYPE_CHECKING:
    from newel.agents.yaml_loader import AgentFile


def provided(kind: str, resolve: Callable[[AgentFile, Steps, CodeConfig, Any], Any] = resolved) -> Reader:
    """The reader of a value that a plugin makes (a descriptor of `kind`), or the app's code."""

    def read(file: AgentFile, steps: Steps, value: Any) -> Make:
        config = parsed(file, steps, value, CodeConfig)
        known = file.composition.registry.get(kind, {})
        if config.name in known:
            return _created(file, steps, config, known[config.name].item.create)
        short = config.name.rpartition(".")[2]
        if short != config.name:
            hint = f"; the installed {short!r} is written without a module" if short in known else ""
            try:
                find = located(file, steps, config.name)
            except ConfigurationError as error:
                raise type(error)(f"{error}{hint}") from None
            return lambda: resolve(file, steps, config, find())
        try:
            file.composition.find(kind, config.name)
        except ConfigurationError as error:
            message = str(error)
        raise file.error(steps, f"{message}; or name one of the app's folder as module.name")

    return read


def _created(file: AgentFile, steps: Steps, config: CodeConfig, create: Callable[..., Any]) -> Make:
    """What a plugin's factory makes of the arguments; agents and functions among them are read by its annotations."""
    try:
        check_call(create, config)
    except TypeError as error:
        message = f"{config.name!r} cannot be made of these args: TypeError: {error}"
        raise file.error((*steps, "args"), message) from None
    wanted = _annotations(create)
    makes = [
        (argument, _read_argument(file, (*steps, "args"), argument, wanted.get(argument.name or "")))
        for argument in config.args or ()
    ]

    def make() -> Any:
        arguments = [ArgumentConfig(name=argument.name, value=made()) for argument, made in makes]
        complete = CodeConfig(name=config.name, args=arguments)
        return called(file, steps, config.name, lambda: create(*complete.positional, **complete.keywords))

    return make


def _annotations(create: Callable[..., Any]) -> dict[str, Any]:
    try:
        parameters = inspect.signature(create, eval_str=True).parameters
    except (NameError, TypeError, ValueError):
        return {}
    return {name: parameter.annotation for name, parameter in parameters.items()}


def _read_argument(file: AgentFile, steps: Steps, argument: ArgumentConfig, wanted: Any) -> Make:
    """An argument of a call; what a file can only name (an agent, a function) is found by the annotation."""
    value = argument.value
    if isinstance(wanted, type) and issubclass(wanted, BaseAgent):
        file = file.apart()
        if isinstance(value, str) and not value.endswith(SUFFIXES):
            return read_agent_of_code(file, steps, value)
        return read_agent(file, steps, value)
    if get_origin(wanted) is Callable:
        return read_code(file, steps, value)
    return Ready(value)


def read_tools(file: AgentFile, steps: Steps, value: Any) -> Make:
    """Several tools."""
    makes = [read_tool(file, place, item) for place, item in items(file, steps, value)]
    return lambda: [make() for make in makes]


def read_tool(file: AgentFile, steps: Steps, value: Any) -> Make:
    """A tool, a toolset or a function."""
    make = _read_tool(file, steps, value)

    def make_tool() -> Any:
        found = make()
        if isinstance(found, (BaseTool, BaseToolset)) or (callable(found) and not inspect.isclass(found)):
            return found
        kind = f"the class {found.__name__}" if inspect.isclass(found) else type(found).__name__
        raise file.error(steps, f"{kind} is no tool; name a function, a tool or a toolset")

    return make_tool


def _tool_of_code(file: AgentFile, steps: Steps, config: CodeConfig, found: Any) -> Any:
    """A class of tools is instantiated, also without arguments; `ToolArgsConfig` is honoured where it is asked for."""
    if inspect.isclass(found) and issubclass(found, (BaseTool, BaseToolset)):
        own = getattr(found, "from_config", None)
        given = _arguments(config)
        if own is not None and given is not None:
            return called(file, steps, config.name, lambda: own(given, str(file.document.file.absolute())))
        return called(file, steps, config.name, lambda: applied(found, config))
    if config.args is not None and callable(found) and list(_annotations(found).values())[:1] == [ToolArgsConfig]:
        return called(file, steps, config.name, lambda: found(_arguments(config)))
    return resolved(file, steps, config, found)


def _arguments(config: CodeConfig) -> ToolArgsConfig | None:
    return None if config.positional else ToolArgsConfig(**config.keywords)


_read_tool = provided("ToolFactory", _tool_of_code)

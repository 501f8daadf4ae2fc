"""Fields of an agent file: how each is read where plain data is not enough.

`READERS` maps a field of an agent class to its reader. A field without one is plain data, which the class
validates; a new kind of field is a line here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from mortise.agents.common_configs import AgentRefConfig, CodeConfig
from mortise.agents.yaml_positions import Steps
from mortise_kernel.contracts.agent import BaseAgent
from mortise_kernel.contracts.tool import BaseTool, BaseToolset
from mortise_kernel.errors import ConfigurationError, HookSignatureError, MortiseError, did_you_mean
from mortise_kernel.hooks import LIFECYCLE, as_callbacks
from mortise_kernel.types.config import GenerateContentConfig

if TYPE_CHECKING:
    from mortise.agents.yaml_loader import AgentFile

Reader = Callable[["AgentFile", Steps, Any], Any]
M = TypeVar("M", bound=BaseModel)


def parsed(file: AgentFile, steps: Steps, value: Any, model: type[M]) -> M:
    """`value` as an instance of `model`; its problems are reported with their lines."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise file.invalid(error, steps, model.model_fields) from None


def read_text(file: AgentFile, steps: Steps, value: Any) -> str:
    """A text."""
    if isinstance(value, str):
        return value
    raise file.error(steps, f"{steps[-1]}: a text is wanted, not {type(value).__name__}; put it in quotes")


def items(file: AgentFile, steps: Steps, value: Any) -> list[tuple[Steps, Any]]:
    """The items of a list, each with its place."""
    if not isinstance(value, list):
        raise file.error(steps, f"{steps[-1]}: a list is wanted, not {type(value).__name__}; start each item with `- `")
    return [((*steps, index), item) for index, item in enumerate(value)]


def read_code(file: AgentFile, steps: Steps, value: Any) -> Any:
    """A ``module.attribute`` of the app; with `args`, what calling it returns."""
    return _resolved(file, steps, parsed(file, steps, value, CodeConfig))


def _resolved(file: AgentFile, steps: Steps, config: CodeConfig) -> Any:
    try:
        found = file.code.find(config.name)
    except ConfigurationError as error:
        raise file.error(steps, str(error)) from error
    if config.args is None:
        return found
    if not callable(found):
        raise file.error(steps, f"{config.name!r} takes no args: it is not callable; remove `args`")
    return _called(file, steps, config, found)


def _called(file: AgentFile, steps: Steps, config: CodeConfig, function: Callable[..., Any]) -> Any:
    """What `function` returns for the file's arguments; whatever it raises is the file's problem."""
    try:
        return function(*config.positional, **config.keywords)
    except Exception as error:
        shown = str(error) if isinstance(error, MortiseError) else f"{type(error).__name__}: {error}"
        raise file.error((*steps, "args"), f"{config.name!r} cannot be made of these args: {shown}") from error


def read_callbacks(file: AgentFile, steps: Steps, value: Any) -> Any:
    """One callback, or a list of them; each must take the arguments of its hook."""
    if isinstance(value, list):
        return [_callback(file, place, item) for place, item in items(file, steps, value)]
    return _callback(file, steps, value)


def _callback(file: AgentFile, steps: Steps, value: Any) -> Any:
    found = read_code(file, steps, value)
    if not callable(found):
        raise file.error(steps, f"a callback is a function, not {type(found).__name__}; name a function of the app")
    hook = SPELLINGS.get(str(steps[0]), str(steps[0]))
    try:
        as_callbacks(hook, found, "the agent")
    except HookSignatureError as error:
        raise file.error(steps, str(error)) from error
    return found


def read_schema(file: AgentFile, steps: Steps, value: Any) -> Any:
    """A pydantic class or a type of the app."""
    found = read_code(file, steps, value)
    if inspect.isroutine(found):
        raise file.error(steps, f"{steps[-1]}: a class is wanted, not a function; name a pydantic class of the app")
    return found


def provided(kind: str) -> Reader:
    """The reader of a field whose value a plugin makes (a descriptor of `kind`), or the app's code."""

    def read(file: AgentFile, steps: Steps, value: Any) -> Any:
        config = parsed(file, steps, value, CodeConfig)
        known = file.composition.registry.get(kind, {})
        if config.name in known:
            create = known[config.name].item.create
            return _called(file, steps, _with_references(file, steps, config, create), create)
        if "." in config.name:
            return _resolved(file, steps, config)
        try:
            return file.composition.find(kind, config.name)
        except ConfigurationError as error:
            raise file.error(steps, f"{error}; or name one of the app's folder as module.name") from None

    return read


def _with_references(file: AgentFile, steps: Steps, config: CodeConfig, create: Callable[..., Any]) -> CodeConfig:
    """`config` with the agents and functions that `create` takes, by its annotations; a file can only name them."""
    try:
        parameters = inspect.signature(create, eval_str=True).parameters
    except (NameError, TypeError, ValueError):
        return config
    arguments = []
    for argument in config.args or ():
        parameter = parameters.get(argument.name or "")
        wanted = parameter.annotation if parameter is not None else None
        place, value = (*steps, "args"), argument.value
        if isinstance(wanted, type) and issubclass(wanted, BaseAgent):
            short = "config_path" if isinstance(value, str) and value.endswith((".yaml", ".yml")) else "code"
            value = _sub_agent(file, place, {short: value} if isinstance(value, str) else value)
        elif get_origin(wanted) is Callable:
            value = read_code(file, place, value)
        arguments.append(argument.model_copy(update={"value": value}))
    return config.model_copy(update={"args": arguments}) if config.args else config


def read_tools(file: AgentFile, steps: Steps, value: Any) -> list[Any]:
    """Tools: names of installed ones, functions and tools of the app."""
    return [_tool(file, place, item) for place, item in items(file, steps, value)]


_read_tool = provided("ToolFactory")


def _tool(file: AgentFile, steps: Steps, value: Any) -> Any:
    found = _read_tool(file, steps, value)
    if inspect.isclass(found) and issubclass(found, (BaseTool, BaseToolset)):
        found = _called(file, steps, CodeConfig(name=found.__name__), found)
    if isinstance(found, (BaseTool, BaseToolset)) or callable(found):
        return found
    raise file.error(steps, f"{type(found).__name__} is no tool; name a function, a tool or a toolset")


def read_sub_agents(file: AgentFile, steps: Steps, value: Any) -> list[BaseAgent]:
    """Sub-agents: further files, or agents of the app's code."""
    return [_sub_agent(file, place, item) for place, item in items(file, steps, value)]


def _sub_agent(file: AgentFile, steps: Steps, value: Any) -> BaseAgent:
    if not isinstance(value, Mapping):
        raise file.error(steps, "a sub-agent is written `config_path: file.yaml` or `code: module.agent`")
    reference = parsed(file, steps, value, AgentRefConfig)
    if reference.config_path is not None:
        return file.load((*steps, "config_path"), reference.config_path)
    agent = read_code(file, (*steps, "code"), reference.code)
    if not isinstance(agent, BaseAgent):
        raise file.error(steps, f"{reference.code!r} is {type(agent).__name__}, not an agent; name an agent object")
    # A module outlives one reading of the file, and its agent can be adopted once.
    agent = agent.clone() if agent.parent_agent is not None else agent
    file.claim_tree(agent, steps)
    return agent


def read_generation(file: AgentFile, steps: Steps, value: Any) -> GenerateContentConfig:
    """The configuration of model calls."""
    if not isinstance(value, Mapping):
        raise file.error(steps, f"{steps[-1]}: a mapping is wanted, such as `temperature: 0.2` on a line of its own")
    return parsed(file, steps, value, GenerateContentConfig)


CALLBACKS = tuple(name for name, spec in LIFECYCLE.items() if spec.agent_keywords is not None)

READERS: dict[str, Reader] = {
    "code_executor": provided("CodeExecutor"),
    "generate_content_config": read_generation,
    "global_instruction": read_text,
    "input_schema": read_schema,
    "instruction": read_text,
    "model": read_text,
    "output_schema": read_schema,
    "planner": provided("Planner"),
    "static_instruction": read_text,
    "sub_agents": read_sub_agents,
    "tools": read_tools,
    **dict.fromkeys(CALLBACKS, read_callbacks),
}

#: Other spellings of a field.
SPELLINGS = {f"{name}s": name for name in CALLBACKS}


def unknown_key(key: str, owner: str, known: Iterable[str]) -> str:
    """The message for a key that nothing knows."""
    names = sorted(known)
    hint = did_you_mean(key, names) or (f"; {owner} has {', '.join(names)}" if names else "; remove it")
    return f"unknown key {key!r} in {owner}{hint}"

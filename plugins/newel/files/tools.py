"""Tools in files: names of installed ones, and functions, tools and toolsets of the app."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Field

import newel.tools
import newel_compose
from newel.files.calls import apply, check_call
from newel.files.compilation import SUFFIXES, Constant, Factory, Place, Reader, kind_of
from newel.files.names import (
    call,
    describe,
    evaluate,
    find_file,
    importer,
    list_of,
    read_agent,
    read_agent_of_code,
    read_code,
)
from newel.files.references import ArgumentConfig, CodeConfig
from newel.tools.kinds import ToolFactory, adapt_tool
from newel.tools.refinement import Refinement, refined, refined_toolset
from newel.tools.tool_configs import Searcher, ToolArgsConfig
from newel_kernel import BaseAgent, BaseTool, BaseToolset, ConfigurationError

#: The key of the tool to which the other keys of the mapping apply.
SUBJECT = "tool"
CONFIRMATION = "require_confirmation"
SEARCH = "search"


class _Search(BaseModel, extra="forbid"):
    """The options of tools that the model searches for."""

    most: int | None = Field(default=None, ge=1)
    name: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")
    by: Searcher | None = None


def reader_of(
    kind: type[newel_compose.Factory], meaning: Callable[[Place, CodeConfig, object], object] = evaluate
) -> Reader:
    """The reader of a value that a plugin makes (a descriptor of `kind`), or the app's code."""

    def read(place: Place) -> Factory:
        config = place.parsed(CodeConfig)
        installed = place.app.installed(kind)
        if config.name in installed:
            return _created(place, config, installed[config.name].item.create)
        if "." in config.name:
            find = importer(place, config.name, kind=kind)
            return lambda: meaning(place, config, find())
        try:
            place.app.composition.registry.find(kind, config.name)
        except ConfigurationError as error:
            message = str(error)
        raise place.error(f"{message}; or name one of the app's folder as module.name")

    return read


def _created(place: Place, config: CodeConfig, create: Callable[..., object]) -> Factory:
    """The object from a plugin's factory; agents and functions among the arguments are read by its annotations."""
    try:
        check_call(create, config)
    except TypeError as error:
        raise place.error(f"{config.name!r} cannot be made of these args: TypeError: {error}", "args") from None
    annotations = _annotations(create)
    makes = [
        (argument.name, _read_argument(place.child("args", argument.value), annotations.get(argument.name or "")))
        for argument in config.args or ()
    ]

    def make() -> object:
        arguments = [ArgumentConfig(name=name, value=make_one()) for name, make_one in makes]
        complete = CodeConfig(name=config.name, args=arguments)
        return call(place, config.name, lambda: create(*complete.positional, **complete.keywords))

    return make


def _annotations(create: Callable[..., object]) -> dict[str, object]:
    try:
        parameters = inspect.signature(create, eval_str=True).parameters
    except (NameError, TypeError, ValueError):
        return {}
    return {name: parameter.annotation for name, parameter in parameters.items()}


def _read_argument(place: Place, annotation: object) -> Factory:
    """An argument of a call; what a file can only name (an agent, a function, a file) is found by the annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseAgent):
        place = place.apart()
        if isinstance(place.value, str) and not place.value.endswith(SUFFIXES):
            return read_agent_of_code(place, place.value)
        return read_agent(place)
    if get_origin(annotation) is Callable:
        return read_code(place)
    if annotation is Path or Path in get_args(annotation):
        return _read_path(place)
    return Constant(place.value)


def _read_path(place: Place) -> Factory:
    """A file of the app's folder, relative to this one."""
    file = find_file(place, place.text())
    if not file.is_file():
        raise place.error(f"{place.key} {place.value!r}: there is no such file; create it")
    return Constant(file.absolute())


def read_tool(place: Place) -> Factory:
    """A tool, a toolset or a function; as ``{tool: ..., require_confirmation: true}`` with further settings."""
    if isinstance(place.value, Mapping) and SUBJECT in place.value:
        return _read_refined(place)
    if isinstance(place.value, Mapping) and SEARCH in place.value:
        return _read_deferred(place)
    make = _read_tool(place)

    def make_tool() -> object:
        tool = make()
        if isinstance(tool, (BaseTool, BaseToolset)) or (callable(tool) and not inspect.isclass(tool)):
            return tool
        raise place.error(f"{describe(tool)} is not a tool; name a function, a tool or a toolset")

    return make_tool


def _tool_of_code(place: Place, config: CodeConfig, value: object) -> object:
    """A class of tools is instantiated, even without arguments; `ToolArgsConfig` is passed if it is asked for."""
    if isinstance(value, type) and issubclass(value, (BaseTool, BaseToolset)):
        own = getattr(value, "from_config", None)
        if own is not None and not config.positional:
            path = str(place.file.document.file.absolute())
            return call(place, config.name, lambda: own(ToolArgsConfig(**config.keywords), path))
        return call(place, config.name, lambda: apply(value, config))
    if config.args is not None and callable(value) and list(_annotations(value).values())[:1] == [ToolArgsConfig]:
        function = value
        args = None if config.positional else ToolArgsConfig(**config.keywords)
        return call(place, config.name, lambda: function(args))
    return evaluate(place, config, value)


def _read_deferred(place: Place) -> Factory:
    """Tools that the model searches for."""
    assert isinstance(place.value, Mapping)
    options = place.parsed(_Search, {key: value for key, value in place.value.items() if key != SEARCH}, also=(SEARCH,))
    makes = [read_tool(one) for one in place.child(SEARCH, place.value[SEARCH]).items()]

    def make_deferred() -> object:
        tools: list[Any] = [make() for make in makes]
        try:
            return newel.tools.Deferred(*tools, most=options.most, name=options.name, search=options.by or "newel")
        except ConfigurationError as error:
            raise place.error(str(error)) from error

    return make_deferred


def _read_refined(place: Place) -> Factory:
    """A tool with a name, a confirmation, a timeout or an effect that the file sets."""
    assert isinstance(place.value, Mapping)
    options = {key: value for key, value in place.value.items() if key not in (SUBJECT, CONFIRMATION)}
    refinement = place.parsed(Refinement, options, also=(SUBJECT, CONFIRMATION))
    needed = place.value.get(CONFIRMATION)
    ask = Constant(needed) if needed is None or isinstance(needed, bool) else _function(place, CONFIRMATION)
    make = read_tool(place.child(SUBJECT, place.value[SUBJECT]))

    def make_refined() -> object:
        tool = make()
        complete = refinement.model_copy(update={CONFIRMATION: ask()})
        try:
            if isinstance(tool, BaseToolset):
                return refined_toolset(tool, complete)
            return refined(adapt_tool(place.app.composition, tool), complete)
        except ConfigurationError as error:
            raise place.error(str(error)) from error

    return make_refined


def _function(place: Place, key: str) -> Factory:
    """A function of the app that a key names."""
    assert isinstance(place.value, Mapping)
    value = place.value[key]
    if not isinstance(value, str):
        raise place.error(f"{key}: expected true, false or a function as module.name, not {kind_of(value)}", key)
    find = importer(place, value, key)

    def make() -> object:
        if callable(function := find()):
            return function
        raise place.error(f"{key}: {value!r} is {describe(function)}, not a function", key)

    return make


_read_tool = reader_of(ToolFactory, _tool_of_code)
_read_list = list_of(read_tool)


def read_tools(place: Place) -> Factory:
    """The tools of an agent: a list, or ``search`` with a list of tools that the model searches for."""
    if not isinstance(place.value, Mapping) or SEARCH not in place.value:
        return _read_list(place)
    make = _read_deferred(place)
    return lambda: [make()]

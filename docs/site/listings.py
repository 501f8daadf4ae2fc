"""The pages of the reference that list what the composition has: kinds, hooks, settings, commands, distributions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import api
import click
import composed
import objects
import records

import newel.distributions
from newel.cli.group import cli
from newel.cli.kinds import Command
from newel.cli.known_plugins import known_plugins
from newel.cli.plugin_settings import comments_of, settings_of, type_name
from newel_compose import Distribution
from newel_kernel import LIFECYCLE, Json, lifecycle_hookspecs

KINDS = "plugins/kinds"
#: What a page ends with: it is under version control, so that links to it work in the repository.
MARK = "\n<!-- Written from the code by `python docs/site/build.py --reference`. -->\n"


def pages() -> dict[str, str]:
    """Path of a page -> its text."""
    builders = {
        "commands": _commands,
        "distributions": _distributions,
        "fields": records.page,
        "hooks": _hooks,
        "names": _names,
        "settings": _settings,
    }
    found = {
        f"{KINDS}/index.md": _kinds(),
        **{f"{KINDS}/{declared.name}.md": _kind(declared) for declared in composed.kinds()},
        **{f"reference/{name}.md": page() for name, page in builders.items()},
    }
    return {path: text + MARK for path, text in found.items()}


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown; a bar in a cell does not end it."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(map(api.cell, line)) + " |" for line in lines)


def _code(value: object) -> str:
    return f"`{value}`" if value not in (None, "") else ""


def words(name: str) -> str:
    """The name of a class in words: `ModelProvider` is a model provider."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


# --- hooks ------------------------------------------------------------------------------------------------------------


def _split_docstring(hook: Callable[..., Any]) -> tuple[str, str]:
    """What a hook's docstring says, and its example as a block of Python."""
    text, _, example = (inspect.getdoc(hook) or "").partition("\n>>> ")
    return text.strip(), _as_block(f">>> {example}") if example else ""


def _as_block(example: str) -> str:
    """An interpreter session as a block to copy; its output follows each line as comments."""
    lines = []
    for line in example.splitlines():
        if line[:4] in (">>> ", "... ", "...", ">>>"):
            lines.append(line[4:])
        elif line.strip():
            lines.append(f"# {line}")
    return "\n".join(["```python", *lines, "```"])


def _hook(hook: Callable[..., Any]) -> str:
    name = str(getattr(hook, "__name__", ""))
    text, example = _split_docstring(hook)
    return "\n\n".join([f"### {name}", objects.signature(hook, name), text, example])


def _hooks() -> str:
    lifecycle = [vars(lifecycle_hookspecs)[name] for name in LIFECYCLE]
    rows = [
        (f"[`{one.kind.hook}`](../{KINDS}/{one.name}.md)", _code(one.name), one.owner, _first(one.kind.specification))
        for one in composed.kinds()
    ]
    return (
        "\n\n".join(
            [
                "# Hooks",
                "A plugin takes part through functions that it marks with `@hookimpl`. An implementation "
                "may take fewer of the "
                "keywords than the signature has. [Write a plugin](../plugins/write-a-plugin.md) shows how.",
                "## Lifecycle hooks",
                inspect.getdoc(lifecycle_hookspecs) or "",
                *map(_hook, lifecycle),
                "## Registration hooks",
                "They are called once, when a distribution is composed. Each returns a list of descriptors "
                "of one kind.",
                table(("hook", "of", "declared by", "what for"), rows),
                "## Hooks by which a plugin describes itself",
                *map(_hook, composed.other_registration_hooks()),
            ]
        )
        + "\n"
    )


def _first(hook: Callable[..., Any]) -> str:
    return " ".join(_split_docstring(hook)[0].split("\n\n")[0].split())


# --- names ------------------------------------------------------------------------------------------------------------


def _names() -> str:
    """Every public name in a line: what the pages of the API, which only the site has, tell in full."""
    canonical: dict[tuple[str, str], api.Name] = {}
    for names in api.packages().values():
        for name in names:
            canonical.setdefault(name.place, name)
    sections = [
        f"## {package}\n\n{api.first_paragraph(inspect.getdoc(import_module(package)) or '')}\n\n"
        + table(("name", ""), [(_code(one.name), _told(one, canonical[one.place])) for one in names])
        for package, names in api.packages().items()
    ]
    mirrors = [(_code(name), ", ".join(map(_code, names))) for name, names in api.mirrors().items()]
    modules = f"## Modules under the names of google-adk\n\n{table(('module', 'names'), mirrors)}"
    intro = "Every public name, by its package. [What is public](../plugins/api.md) says what may change, and how."
    return "\n\n".join(["# Every name", intro, *sections, modules]) + "\n"


def _told(name: api.Name, canonical: api.Name) -> str:
    """What a name is, or the name under which that is told."""
    return api.first_line(name) if name == canonical else f"the same as `{canonical.package}.{canonical.name}`"


# --- kinds ------------------------------------------------------------------------------------------------------------


def _kinds() -> str:
    rows = [
        (f"[`{one.name}`]({one.name}.md)", _code(one.kind.hook), one.owner, _first(one.kind.specification))
        for one in composed.kinds()
    ]
    return (
        "\n\n".join(
            [
                "# Kinds",
                "A kind is what plugins may provide, described by a descriptor. Each has a page with its "
                "hook, its descriptor, "
                "an example that runs, and the plugins that provide it. Your own plugin may declare further kinds with "
                "[register_kinds](../../reference/hooks.md#register_kinds).",
                table(("kind", "hook", "declared by", "what for"), rows),
            ]
        )
        + "\n"
    )


def _kind(one: composed.Declared) -> str:
    text, example = _split_docstring(one.kind.specification)
    return (
        "\n\n".join(
            [
                f"# {words(one.name).capitalize()}",
                text,
                f"Plugins provide it through `{one.kind.hook}`, which returns a list of `{one.name}`. "
                f"{_declared_by(one)}",
                _place(one),
                "## An example",
                "With `from newel_kernel import *` and `from newel_compose import *`. The output follows as comments.",
                example,
                "## The descriptor",
                objects.described(
                    one.kind.descriptor, one.name, level=3, source=(one.kind.descriptor.__module__, one.name)
                ),
                "## Provided by",
                _providers(one),
            ]
        )
        + "\n"
    )


def _declared_by(one: composed.Declared) -> str:
    module = one.kind.descriptor.__module__
    door = module.partition("._")[0]
    return f"It is declared by {one.owner}: `from {door} import {one.name}`."


def _place(one: composed.Declared) -> str:
    if not one.is_stage:
        return (
            "Its name is unique within the kind. If two plugins provide the same name, a distribution says under "
            "`replace` which one counts."
        )
    listed = f" The distribution lists it under `{one.chain}`." if one.chain else ""
    placed = "A stage that is not listed names its place with `after` or `before`"
    placed += ", or has its place at the end, by name." if one.kind.open_ended else "."
    return f"The stages of a composition have an order.{listed} {placed}"


def _description(item: object) -> str:
    return str(getattr(item, "description", "") or getattr(item, "help", ""))


def _providers(one: composed.Declared) -> str:
    owned = composed.composition().registry.owned(one.kind.descriptor)
    providers = {owner.plugin for owner in owned.values()}
    rows = [
        (_code(name), _code(owner.plugin), api.first_paragraph(_description(owner.item)))
        for name, owner in owned.items()
        if owner.plugin in composed.own_plugins()
    ]
    by_settings = [
        _code(record.name)
        for record in composed.composition().plugins
        if one.kind.hook in record.hooks and record.name in composed.own_plugins() and record.name not in providers
    ]
    kind = one.kind.hook.removeprefix("register_")
    packages = [
        f"{_code(package.package)} ({', '.join(map(_code, package.provides[kind]))})"
        for package in known_plugins()
        if kind in package.provides
    ]
    sentences = (
        f"By its settings: {', '.join(by_settings)}." if by_settings else "",
        f"By packages of their own: {', '.join(packages)}." if packages else "",
    )
    told = "\n\n".join(filter(None, sentences))
    if not rows:
        return told or "None of newel's own plugins; the kind is for other plugins."
    is_described = any(row[2] for row in rows)
    shown = table(("name", "plugin", ""), rows) if is_described else table(("name", "plugin"), [r[:2] for r in rows])
    return f"{shown}\n\n{told}" if told else shown


# --- settings and distributions ---------------------------------------------------------------------------------------


def _text(row: Json, key: str) -> str:
    value = row[key]
    return _code(str(value).lower() if isinstance(value, bool) else value if value != "" else "''")


def _settings() -> str:
    rows = [row for row in settings_of(composed.composition(), None) if row["plugin"] in composed.own_plugins()]
    plugins = dict.fromkeys(str(row["plugin"]) for row in rows)
    return (
        "\n\n".join(
            [
                "# Settings",
                "A distribution sets them per plugin, under `settings`: `settings: {tool_timeout: {seconds: 30}}`. "
                "`newel plugins settings` lists them with the values that apply in your folder.",
                *(part for plugin in plugins for part in (f"## {plugin}", _settings_table(plugin, rows))),
            ]
        )
        + "\n"
    )


def _settings_table(plugin: str, rows: list[Json]) -> str:
    return table(
        ("setting", "type", "default", "in `standard`", "what it is"),
        [
            (
                _code(row["setting"]),
                _code(row["type"]),
                _text(row, "default"),
                _text(row, "value") if row["value"] != row["default"] else "",
                str(row["description"]),
            )
            for row in rows
            if row["plugin"] == plugin
        ],
    )


def _distributions() -> str:
    folder = Path(newel.distributions.__path__[0])
    comments = comments_of(Distribution)
    keys = [
        (_code(name), _code(type_name(field.annotation)), comments.get(name, ""))
        for name, field in Distribution.model_fields.items()
        if name != "source"
    ]
    return (
        "\n\n".join(
            [
                "# Distributions",
                "The keys of its file. [Compose a distribution](../guides/compose-a-distribution.md) explains them.",
                table(("key", "type", "what it is"), keys),
                *(
                    f"## {file.stem}\n\n```yaml\n{file.read_text(encoding='utf-8').strip()}\n```"
                    for file in sorted(folder.glob("*.yaml"))
                ),
            ]
        )
        + "\n"
    )


# --- commands ---------------------------------------------------------------------------------------------------------


def commands() -> dict[str, click.Command]:
    """Every command and sub-command, by its full name."""
    result: dict[str, click.Command] = {}
    for one in sorted(composed.composition().registry.all(Command), key=lambda command: command.name):
        _collect(one.load(), one.name, result)
    return result


def _collect(command: click.Command, path: str, result: dict[str, click.Command]) -> None:
    result[path] = command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):  # a group may load them on demand
            if (below := command.get_command(context, name)) is not None:
                _collect(below, f"{path} {name}", result)


def _commands() -> str:
    return (
        "\n\n".join(
            [
                "# Commands",
                inspect.cleandoc(cli.help or ""),
                "`--debug`, anywhere on the line, shows tracebacks. [The commands by "
                "task](../guides/commands.md) is shorter.",
                *(_command(path, command) for path, command in commands().items()),
            ]
        )
        + "\n"
    )


def _command(path: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"newel {path}")
    pieces = " ".join(command.collect_usage_pieces(context))
    rows = [
        (
            _code(", ".join([*param.opts, *param.secondary_opts])),
            _code(_kind_of(param)),
            " ".join(str(getattr(param, "help", "") or "").split()),
        )
        for param in command.get_params(context)
        if isinstance(param, click.Option)
    ]
    level = "#" * (2 + path.count(" "))
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    return "\n\n".join(
        [f"{level} {path}", f"```text\nnewel {path} {pieces}\n```", text, table(("option", "value", ""), rows)]
    )


def _kind_of(param: click.Parameter) -> str:
    if getattr(param, "is_flag", False):
        return ""
    return str(getattr(param, "metavar", None) or param.type.name)

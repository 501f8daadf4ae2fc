"""Setting sources: the places other than the distribution that have a setting: the environment, files.

A distribution never holds such a value, only a reference to it: ``{env: NAME}`` or ``{file: PATH}``. It is
read when the settings are validated.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, get_origin

from pydantic import BaseModel

from newel_compose._internal.distribution import Distribution
from newel_kernel import ConfigurationError, Json, did_you_mean

#: What the variables begin with that set settings: ``NEWEL_SETTINGS__HOOK_TIMEOUT__SECONDS=5``.
PREFIX = "NEWEL_SETTINGS__"
#: The variable that names those which `--set` has set, for messages.
GIVEN = "NEWEL_SETTINGS_GIVEN"
#: The most bytes of a file with a value.
_BYTES = 64 * 1024
_REFERENCES = ("env", "file")
_NAME = re.compile(r"[\w-]+\.[\w.-]+")


def give_setting(assignment: str) -> None:
    """Set a setting for this process and its children, as ``--set plugin.key=value`` does."""
    name, equals, value = assignment.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise ConfigurationError(f"--set takes PLUGIN.KEY=VALUE, such as hook_timeout.seconds=5, not {name!r}")
    variable = PREFIX + name.replace("-", "_").replace(".", "__").upper()
    os.environ[variable] = value
    os.environ[GIVEN] = " ".join({*os.environ.get(GIVEN, "").split(), variable})


def overlaid(distribution: Distribution, plugins: Collection[str]) -> Distribution:
    """`distribution` with the settings that the environment has; they refer to their variables."""
    variables = sorted(name for name in os.environ if name.upper().startswith(PREFIX))
    if not variables:
        return distribution
    known = {_folded(name): name for name in plugins}
    settings = {name: dict(values) for name, values in distribution.settings.items()}
    for variable in variables:
        folded, *keys = variable[len(PREFIX) :].lower().split("__")
        if not keys or not all(keys):
            raise ConfigurationError(f"{variable}: write {PREFIX}PLUGIN__KEY")
        if folded not in known:
            raise ConfigurationError(
                f"{_place(variable)} names the plugin {folded!r}, which is not installed{did_you_mean(folded, known)}"
            )
        inner = settings.setdefault(known[folded], {})
        for key in keys[:-1]:
            deeper = inner.get(key)
            inner[key] = inner = dict(deeper) if isinstance(deeper, dict) else {}
        inner[keys[-1]] = {"env": variable}
    return distribution.model_copy(update={"settings": settings})


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def _place(variable: str) -> str:
    """A variable in a message."""
    if variable not in os.environ.get(GIVEN, "").split():
        return variable
    plugin, _, key = variable[len(PREFIX) :].lower().partition("__")
    return f"--set {plugin}.{key.replace('__', '.')}"


def setting_source(distribution: Distribution, plugin: str, key: str) -> tuple[str, bool]:
    """The place that a plugin's setting comes from, and whether its value stands there, so that it must not be shown.

    ``default``, the distribution's file, an environment variable, ``--set``, or ``file PATH``.
    """
    values = distribution.settings.get(plugin, {})
    if key not in values:
        return "default", False
    places = list(_places(values[key]))
    return ", ".join(places) or distribution.origin(plugin, key) or distribution.label, bool(places)


def _places(value: object) -> Iterator[str]:
    """The places that a value refers to."""
    if (reference := _reference(value)) is not None:
        yield _place(reference[1]) if reference[0] == "env" else f"file {reference[1]}"
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _places(inner)


def _reference(value: object) -> tuple[str, str] | None:
    """The kind and the name of a reference; None if the value is none."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((kind, name),) = value.items()
    return (kind, name) if kind in _REFERENCES and isinstance(name, str) else None


def resolved(distribution: Distribution, plugin: str, model: type[BaseModel]) -> tuple[Json, list[str]]:
    """A plugin's settings with the values that they refer to, and those values, which no message may show.

    A file's path is relative to the file that names it. A field that takes a mapping keeps a mapping of its own. A
    ConfigurationError names what is missing.
    """
    texts: list[str] = []

    def resolve(value: Any, folder: Path, is_mapping: bool) -> Any:
        reference = None if is_mapping else _reference(value)
        if reference is not None:
            texts.append(text := _text_of(*reference, folder))
            return _parsed(text)
        if isinstance(value, dict):
            return {key: resolve(inner, folder, is_mapping=False) for key, inner in value.items()}
        return value

    fields = model.model_fields
    values = {
        key: resolve(value, Path(distribution.origin(plugin, key)).parent, _takes_mapping(fields.get(key)))
        for key, value in distribution.settings.get(plugin, {}).items()
    }
    return values, texts


def _takes_mapping(field: Any) -> bool:
    kind = get_origin(field.annotation) or field.annotation if field is not None else None
    return isinstance(kind, type) and issubclass(kind, Mapping)


def _text_of(kind: str, name: str, folder: Path) -> str:
    if kind == "env":
        if (text := os.environ.get(name)) is None:
            raise ConfigurationError(f"the environment variable {name!r} is not set")
        return text
    path = folder / name
    try:
        if not path.is_file():
            raise ConfigurationError(f"{path} is not a file")
        with path.open("rb") as file:
            return file.read(_BYTES).decode("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigurationError(f"{path} cannot be read: {why}") from None


def _parsed(text: str) -> Any:
    """A list or a mapping if the text is one in JSON; pydantic reads numbers and booleans from text itself."""
    if text.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text

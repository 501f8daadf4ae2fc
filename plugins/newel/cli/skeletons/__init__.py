"""Skeletons of plugins: a folder of templates for each kind, and `common` for all.

In a template ``$name`` and the like stand for words of the new plugin (`string.Template`). ``PACKAGE`` in a path is its
package.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from string import Template
from typing import NamedTuple

from newel_kernel import API, seam

_HERE = Path(__file__).parent
_SUFFIX = ".tmpl"


class Skeleton(NamedTuple):
    """What a kind of plugin has of its own, in addition to its templates."""

    description: str
    about: str
    usage: str
    #: What its tests need.
    needs: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ("newel>=0.1",)
    group: str = "newel.plugins"


SKELETONS = {
    "processor": Skeleton(
        "A plugin for newel that adds to every instruction.",
        "`$package/plugin.py` is the place to make it yours.",
        'A distribution sets it up: `settings: {$name: {sentence: "Answer in French."}}`',
    ),
    "policy": Skeleton(
        "A plugin for newel that limits calls of tools.",
        "A policy stands around every call of a tool.",
        "A distribution sets it up: `settings: {$name: {most: 5}}`",
    ),
    "provider": Skeleton(
        "A plugin for newel with a provider of models.",
        "`$package/model.py` says what goes out and what comes in.",
        'Set ${upper}_API_KEY and ${upper}_BASE_URL; an agent says `model: "$name:small"`.',
        needs=("newel-testkit",),
        dependencies=("newel[openapi]>=0.1",),
    ),
    "sessions": Skeleton(
        "A plugin for newel with a store of sessions.",
        "`$package/service.py` is the store; the tests are newel's conformance kit.",
        'A distribution opens it: `services: {session: "$name:"}`',
        needs=("hypothesis",),
    ),
    "artifacts": Skeleton(
        "A plugin for newel with a store of artifacts.",
        "`$package/service.py` is the store; the tests are newel's conformance kit.",
        'A distribution opens it: `services: {artifact: "$name:"}`',
    ),
    "memory": Skeleton(
        "A plugin for newel with a memory.",
        "`$package/service.py` is the memory; the tests are newel's conformance kit.",
        'A distribution opens it: `services: {memory: "$name:"}`',
    ),
    "auth": Skeleton(
        "A plugin for newel with a provider of credentials.",
        "It takes API keys from environment variables.",
        "The credential `weather` is in ${upper}_WEATHER.",
    ),
    "hooks": Skeleton(
        "A plugin for newel that logs what agents do.",
        "`$package/plugin.py` has the hooks.",
        "Configure the logger `$package`.",
    ),
    "command": Skeleton(
        "A plugin for newel with a command.",
        "`$package/command.py` is the command.",
        "    newel $command README.md",
        dependencies=("click>=8.1", "newel>=0.1"),
    ),
    "metric": Skeleton(
        "A plugin for newel with a metric.",
        "`$package/evaluator.py` computes it.",
        'In a `test_config.json`: `{"criteria": {"$name": 0.8}}`',
        group="newel.evaluation",
    ),
    "toolset": Skeleton(
        "A plugin for newel with a toolset.",
        "`$package/toolset.py` has the tools.",
        "An agent file names it: `tools: [{name: ${camel}Toolset}]`",
    ),
    "kind": Skeleton(
        "A plugin for newel with a kind that other plugins provide.",
        "`$package/kinds.py` declares it, `$package/plugin.py` consumes it.",
        "Another plugin implements `register_${name}_formatters`.",
    ),
}
KINDS = tuple(SKELETONS)


def files_of(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """Each file of a new plugin: its path below the plugin's folder, and its text."""
    words = _words(SKELETONS[kind], name)
    for root in (_HERE / "common", _HERE / "kinds" / kind):
        for template in sorted(root.rglob(f"*{_SUFFIX}")):
            path = template.relative_to(root).as_posix().removesuffix(_SUFFIX)
            yield path.replace("PACKAGE", words["package"]), _filled(template.read_text(encoding="utf-8"), words)


def _words(skeleton: Skeleton, name: str) -> dict[str, str]:
    """What the placeholders stand for."""
    words = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "command": name.replace("_", "-"),
        "package": f"newel_{name}",
        "camel": "".join(part.capitalize() for part in name.split("_")),
        "upper": name.upper(),
        "group": skeleton.group,
        "api": API,
        "year": f"{datetime.fromtimestamp(seam.clock()).year}",
        "dependencies": _listed(skeleton.dependencies),
        "test_dependencies": _listed(sorted(("pytest", *skeleton.needs))),
    }
    texts = {"description": skeleton.description, "about": skeleton.about, "usage": skeleton.usage}
    return words | {key: _filled(text, words) for key, text in texts.items()}


def _filled(text: str, words: dict[str, str]) -> str:
    return Template(text).substitute(words)


def _listed(items: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)

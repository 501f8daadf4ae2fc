"""The file form of a script: a list of steps, or a mapping with `steps`, in YAML or JSON."""

from __future__ import annotations

import re
from pathlib import Path

from newel.models.script_steps import Step, StepError, as_step
from newel.models.scripted import ScriptedModel
from newel_compose import line_of, load_yaml
from newel_kernel import ConfigurationError, ModelError, did_you_mean

_REMEDY = "give a YAML or JSON file of steps, as 'script:steps.yaml'"
_SUFFIXES = (".yaml", ".yml", ".json")
_DASH = re.compile(r"( *)- ?")


def create(address: str) -> ScriptedModel:
    """The model of ``script:FILE``; the path is relative to the working directory."""
    name = address.partition(":")[2]
    if not name:
        raise ModelError(f"the model address {address!r} names no file; {_REMEDY}")
    path = Path(name)
    if path.suffix not in _SUFFIXES:
        raise ModelError(f"the model address {address!r} names a {path.suffix or 'suffixless'} file; {_REMEDY}")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ModelError(f"the script of the model {address!r} does not exist: {path.absolute()}; {_REMEDY}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"the script of the model {address!r} cannot be read: {error}; {_REMEDY}") from error
    return ScriptedModel(read_steps(text, name), model=address)


def read_steps(text: str, source: str) -> list[Step]:
    """The steps of a file; each fault is a ConfigurationError that starts with ``file:line``."""
    data = load_yaml(text, source)
    if isinstance(data, dict):
        for key in data:
            if key != "steps":
                hint = did_you_mean(str(key), ("steps",))
                raise ConfigurationError(f"{source}:{line_of(text, str(key))}: unknown key {key!r}{hint}")
        data = data.get("steps")
    if not isinstance(data, list):
        raise ConfigurationError(f"{source}:1: a script is a list of steps, or a mapping with the list 'steps'")
    places = _places(text, len(data))
    steps: list[Step] = []
    for number, item in enumerate(data, 1):
        try:
            steps.append(as_step(item))
        except StepError as error:
            line = _line(text, places, number - 1, error.key)
            raise ConfigurationError(f"{source}:{line}: step {number}: {error}") from None
    return steps


def _places(text: str, count: int) -> list[int]:
    """The line (from 0) where each step begins, in the block style of YAML; empty if the lines cannot be found."""
    lines = text.splitlines()
    dashes = [(number, match) for number, line in enumerate(lines) if (match := _DASH.match(line))]
    if not dashes:
        return []
    indent = dashes[0][1][1]
    places = [number for number, match in dashes if match[1] == indent]
    return places if len(places) == count else []


def _line(text: str, places: list[int], index: int, key: str) -> int:
    """The line (from 1) of `key` in a step, or of the step; in the flow style the first line that has `key`."""
    lines = text.splitlines()
    start = places[index] if places else 0
    end = places[index + 1] if index + 1 < len(places) else len(lines)
    if not key:
        return start + 1
    pattern = re.compile(rf"(?:^|[\s{{,\"'-]){re.escape(key)}[\"']?\s*:")
    return next((n for n in range(start, end) if pattern.search(lines[n])), start) + 1

"""The file form of a wire script: a list of answers and faults, in YAML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from newel_compose import load_yaml
from newel_kernel import ConfigurationError, Json, did_you_mean
from newel_testkit.wire.answers import Answer, call, text, thought
from newel_testkit.wire.faults import FAULTS, fault
from newel_testkit.wire.server import Step


class _Call(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    args: Json = Field(default_factory=dict)
    id: str | None = None


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    thought: str | None = None
    text: str | None = None
    calls: list[_Call] = Field(default_factory=list)
    #: ``end``, ``max``, ``stop``, ``tool``, ``safety``, or the protocol's own word.
    stop: str | None = None
    #: How many characters an event of a stream has, and the seconds after each.
    piece: int = Field(default=7, gt=0)
    pause: float = Field(default=0.0, ge=0)
    fault: str | None = None
    retry_after: float | None = None
    message: str = ""


def read_script(path: Path) -> list[Step]:
    """The steps of a file. A ConfigurationError says what is wrong with it, and in which entry."""
    try:
        data = load_yaml(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the script {path} cannot be read: {error}") from error
    if not isinstance(data, list) or not data:
        raise ConfigurationError(f"{path}: a script is a list of answers, such as '- Hello.' or '- {{fault: \"429\"}}'")
    return [_step(entry, f"{path}: entry {number}") for number, entry in enumerate(data, 1)]


def _step(source: Any, where: str) -> Step:
    try:
        entry = _Entry.model_validate({"text": source} if isinstance(source, str) else source)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        hint = did_you_mean(place, _Entry.model_fields)
        raise ConfigurationError(f"{where}: {place}: {first['msg']}{hint}") from None
    if entry.fault is not None:
        if entry.fault not in FAULTS:
            raise ConfigurationError(f"{where}: unknown fault {entry.fault!r}{did_you_mean(entry.fault, FAULTS)}")
        return fault(entry.fault, retry_after=entry.retry_after, message=entry.message)
    parts = [
        *([thought(entry.thought)] if entry.thought is not None else ()),
        *([text(entry.text)] if entry.text is not None else ()),
        *(call(one.name, one.args, one.id) for one in entry.calls),
    ]
    stop = entry.stop or ("tool" if entry.calls else "end")
    return Answer(parts=tuple(parts), stop=stop, piece=entry.piece, pause=entry.pause)

"""Snapshot: a model request as plain JSON, without what looks like a secret."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_jsonable_python

from newel.contexts.stash_keys import SECRETS
from newel.telemetry.content import without_secrets
from newel_kernel import InvocationContext, Json, LlmRequest

#: The most characters of one text.
_MOST = 100_000
_DECLARATIONS = "function_declarations"


def snapshot(ctx: InvocationContext, request: LlmRequest) -> Json:
    """The model's name, the instruction, the contents, the declared tools and the configuration of a request."""
    config = request.config.model_dump(exclude_none=True)
    instruction, tools = config.pop("system_instruction", None), config.pop("tools", None)
    data: Json = {"model": request.model} if request.model else {}
    if instruction is not None:
        data["system_instruction"] = _plain(instruction)
    # `list.copy` reads the shared contents; iterating over the list itself would copy each.
    data["contents"] = [_plain(content.model_dump(exclude_none=True)) for content in list.copy(request.contents)]
    if tools:
        data["tools"] = [_tool(tool) for tool in tools]
    if request.tools_dict:
        data["callable"] = sorted(request.tools_dict)
    if config:
        data["config"] = _plain(config)
    secrets = ctx.stash.get(SECRETS, None)
    return data if secrets is None else secrets.mask(data)


def _tool(tool: Any) -> Any:
    """A tool without the secrets in its settings; in a declaration, a property that is named `token` is none."""
    if not isinstance(tool, dict) or _DECLARATIONS not in tool:
        return _plain(tool)
    settings = {key: value for key, value in tool.items() if key != _DECLARATIONS}
    return _plain(settings) | {_DECLARATIONS: _jsonable(tool[_DECLARATIONS])}


def _plain(value: Any) -> Any:
    return _jsonable(without_secrets(value, _MOST))


def _jsonable(value: Any) -> Any:
    return to_jsonable_python(value, fallback=_name_of, inf_nan_mode="strings")


def _name_of(value: object) -> str:
    return str(getattr(value, "__qualname__", type(value).__qualname__))

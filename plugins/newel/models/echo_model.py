"""EchoModel: answers with the request that reached it, as JSON, to show what the request chain made."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from newel.models.json_schemas import json_schema
from newel.models.offline.declarations import instruction_text
from newel.models.offline.llm import OfflineLlm
from newel.models.offline.responses import check_address, text_responses
from newel_kernel import LlmRequest, LlmResponse
from newel_types import Record

#: Settings that have keys of their own in the answer, or are not data.
_ELSEWHERE = frozenset(("system_instruction", "tools", "response_schema"))


def create(address: str) -> EchoModel:
    """The model of ``echo:``."""
    check_address(address, ("",), "use 'echo:'")
    return EchoModel(model=address)


class EchoModel(OfflineLlm):
    """Answers with its request as JSON: model, system_instruction, contents, tools, config (only what is set)."""

    model: str = "echo:"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the request as pretty JSON."""
        text = json.dumps(data_of(llm_request), indent=2, ensure_ascii=False)
        for response in text_responses(text, self.model, stream):
            yield response


def data_of(request: LlmRequest) -> dict[str, Any]:
    """The data of a request, with its keys in a fixed order."""
    config = request.config
    settings = {n: v for n in type(config).model_fields if n not in _ELSEWHERE and _is_set(v := getattr(config, n))}
    if config.response_schema is not None:
        settings["response_schema"] = json_schema(config.response_schema)
    data = {
        "model": request.model,
        "system_instruction": instruction_text(request),
        "contents": list.copy(request.contents),
        "tools": config.tools,
        "config": settings,
    }
    return {name: plain(value) for name, value in data.items() if _is_set(value)}


def _is_set(value: Any) -> bool:
    return value is not None and value != [] and value != {} and value != ""


def plain(value: Any) -> Any:
    """`value` as JSON data without unset fields; bytes are abbreviated, classes and functions named."""
    if value is None or isinstance(value, (str, int, float)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, (bytes, bytearray)):
        return f"<{len(value)} bytes{': ' + value[:8].hex() if value else ''}{'…' if len(value) > 8 else ''}>"
    if isinstance(value, Record):
        return _fields(value, value.field_names)
    if isinstance(value, BaseModel):
        return _fields(value, type(value).model_fields)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    return f"<{getattr(value, '__qualname__', type(value).__qualname__)}>"


def _fields(value: Any, names: Any) -> dict[str, Any]:
    return {name: plain(item) for name in names if (item := getattr(value, name)) is not None}

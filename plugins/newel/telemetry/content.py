"""Content: messages, arguments and results as the GenAI conventions write them, without what looks like a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pydantic_core import to_json

from newel.questions.names import CREDENTIAL_CALL
from newel_kernel import Json
from newel_types import Content, Part

_SECRET = re.compile(
    r"(^|_)(api_?key|access_?key|private_?key|token|secret|pass|password|passwd|pwd|authorization|bearer|credentials?"
    r"|cookies?|auth_code|auth_response_uri|code_verifier|client_secret)$"
)
WITHHELD = "(withheld)"
_ROLES = {"model": "assistant", None: "user"}


def as_json(value: object) -> str:
    """JSON; a value that JSON cannot hold becomes the name of its type."""
    return to_json(value, fallback=lambda other: f"({type(other).__name__})", inf_nan_mode="strings").decode()


def without_secrets(value: object, most: int) -> object:
    """Plain data without the values of keys that name a secret, and without long texts and bytes."""
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}… ({len(value) - most} more characters)"
    if isinstance(value, Mapping):
        return {
            str(key): WITHHELD if _is_secret(str(key)) else without_secrets(item, most) for key, item in value.items()
        }
    if isinstance(value, (bytes, bytearray)):
        return f"({len(value)} bytes)"
    if isinstance(value, (list, tuple, set, frozenset)):
        return [without_secrets(item, most) for item in value]
    return value


def _is_secret(key: str) -> bool:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).replace("-", "_").lower()
    return _SECRET.search(words) is not None


def as_messages(contents: Sequence[Content], most: int) -> list[Json]:
    """Contents as messages: a role and parts."""
    return [{"role": _role(content), "parts": parts_of(content, most)} for content in contents]


def _role(content: Content) -> str:
    if any(part.function_response is not None for part in content.parts or ()):
        return "tool"
    return str(_ROLES.get(content.role, content.role))


def parts_of(content: object, most: int) -> list[Json]:
    """The parts of a content, or of an instruction, which may be a text."""
    if isinstance(content, str):
        return [{"type": "text", "content": without_secrets(content, most)}]
    return [_part(part, most) for part in getattr(content, "parts", None) or ()]


def _part(part: Part, most: int) -> Json:
    if (call := part.function_call) is not None:
        args = WITHHELD if call.name == CREDENTIAL_CALL else without_secrets(call.args or {}, most)
        return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": args}
    if (answer := part.function_response) is not None:
        response = WITHHELD if answer.name == CREDENTIAL_CALL else without_secrets(answer.response, most)
        return {"type": "tool_call_response", "id": answer.id, "response": response}
    if (blob := part.inline_data) is not None:
        return {"type": "blob", "mime_type": blob.mime_type, "size": len(blob.data or b"")}
    if (file := part.file_data) is not None:
        return {"type": "uri", "mime_type": file.mime_type, "uri": file.file_uri}
    if (code := part.executable_code) is not None:
        return {"type": "executable_code", "content": without_secrets(code.code, most)}
    if (ran := part.code_execution_result) is not None:
        return {"type": "code_execution_result", "content": without_secrets(ran.output, most)}
    kind = "reasoning" if part.thought else "text"
    return {"type": kind, "content": without_secrets(part.text or "", most)}

"""Content: messages, arguments and results as the GenAI conventions write them, without what looks like a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic_core import to_json

from newel.questions.names import CREDENTIAL_CALL
from newel_kernel import Json, Operation, Signal
from newel_types import Content, Part, names_secret

WITHHELD = "(withheld)"
_ROLES = {"model": "assistant", None: "user"}


def input_content(operation: Operation, most: int) -> Json:
    """What went in."""
    if operation.kind == "tool":
        withheld = operation.name == CREDENTIAL_CALL
        args = WITHHELD if withheld else without_secrets(operation.input.args or {}, most)
        return {"gen_ai.tool.call.arguments": as_json(args)}
    if operation.kind != "model":
        return {}
    request = operation.input
    attributes: Json = {"gen_ai.input.messages": as_json(as_messages(list.copy(request.contents), most))}
    if instruction := request.config.system_instruction:
        attributes["gen_ai.system_instructions"] = as_json(parts_of(instruction, most))
    if request.config.tools:
        attributes["gen_ai.tool.definitions"] = as_json(without_secrets(definitions(request.config.tools), most))
    return attributes


def output_content(signal: Signal, finish_reason: str | None, most: int) -> Json:
    """What came out."""
    output = signal.outcome
    if output is None:
        return {}
    if signal.operation.kind == "tool":
        results = [one.response for one in output.get_function_responses()]
        result = results[0] if results and signal.operation.name != CREDENTIAL_CALL else WITHHELD
        return {"gen_ai.tool.call.result": as_json(without_secrets(result, most))}
    if signal.operation.kind != "model" or getattr(output, "content", None) is None:
        return {}
    (message,) = as_messages([output.content], most)
    return {"gen_ai.output.messages": as_json([{**message, "finish_reason": finish_reason or "stop"}])}


def as_json(value: object) -> str:
    """JSON; a value that JSON cannot hold becomes the name of its type."""
    return to_json(value, fallback=lambda other: f"({type(other).__name__})", inf_nan_mode="strings").decode()


def without_secrets(value: object, most: int) -> object:
    """Plain data without the values of keys that name a secret, and without long texts and bytes."""
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}… ({len(value) - most} more characters)"
    if isinstance(value, Mapping):
        return {
            str(key): WITHHELD if names_secret(str(key)) else without_secrets(item, most) for key, item in value.items()
        }
    if isinstance(value, (bytes, bytearray)):
        return f"({len(value)} bytes)"
    if isinstance(value, (list, tuple, set, frozenset)):
        return [without_secrets(item, most) for item in value]
    return value


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


def definitions(tools: Sequence[object]) -> list[Json]:
    """What a request declares: the functions, and the names of tools that the service runs itself."""
    found: list[Json] = []
    for tool in tools:
        for one in getattr(tool, "function_declarations", None) or ():
            schema = one.parameters_json_schema if one.parameters is None else one.parameters
            dump = getattr(schema, "model_dump", None)
            parameters = schema if dump is None else dump(mode="json", exclude_none=True)
            function = {"name": one.name, "description": one.description, "parameters": parameters}
            found.append({"type": "function", **{key: value for key, value in function.items() if value}})
        own: set[str] = getattr(tool, "model_fields_set", set()) - {"function_declarations"}
        found.extend({"type": name, "name": name} for name in sorted(own) if getattr(tool, name) is not None)
    return found


def _modality(mime_type: str | None) -> str:
    kind = (mime_type or "").partition("/")[0]
    return kind if kind in ("image", "audio", "video", "text") else "document"


def _part(part: Part, most: int) -> Json:
    if (call := part.function_call) is not None:
        args = WITHHELD if call.name == CREDENTIAL_CALL else without_secrets(call.args or {}, most)
        return {"type": "tool_call", "id": call.id or "", "name": call.name, "arguments": args}
    if (answer := part.function_response) is not None:
        response = WITHHELD if answer.name == CREDENTIAL_CALL else without_secrets(answer.response or {}, most)
        return {"type": "tool_call_response", "id": answer.id or "", "response": response}
    if (blob := part.inline_data) is not None:
        size = f"({len(blob.data or b'')} bytes)"
        return {"type": "blob", "modality": _modality(blob.mime_type), "mime_type": blob.mime_type, "content": size}
    if (file := part.file_data) is not None:
        uri = without_secrets(file.file_uri, most)
        return {"type": "uri", "modality": _modality(file.mime_type), "mime_type": file.mime_type, "uri": uri}
    if (code := part.executable_code) is not None:
        return {"type": "executable_code", "content": without_secrets(code.code, most)}
    if (ran := part.code_execution_result) is not None:
        return {"type": "code_execution_result", "content": without_secrets(ran.output, most)}
    kind = "reasoning" if part.thought else "text"
    return {"type": kind, "content": without_secrets(part.text or "", most)}

"""OpenAI's protocols: what a request says, in Chat Completions and in Responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from newel_kernel import Json
from newel_testkit.wire.facts import facts_of
from newel_testkit.wire.reading import (
    Declared,
    Item,
    Reading,
    arguments_of,
    mark_of,
    mark_of_url,
    named_tools,
    settings_of,
)

_CHAT = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "seed": "seed",
    "response_logprobs": "logprobs",
    "logprobs": "top_logprobs",
    "candidate_count": "n",
}
_RESPONSES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_output_tokens": "max_output_tokens",
    "logprobs": "top_logprobs",
}
_INSTRUCTIONS = ("system", "developer")


def chat_reading(body: Json) -> Reading:
    """What the body of a request to Chat Completions says."""
    result = Reading(settings=settings_of(body, _CHAT), choice=_choice(body.get("tool_choice")))
    for message in body["messages"]:
        parts = _parts(message.get("content"), "text")
        if message["role"] in _INSTRUCTIONS:
            result.system += "\n".join(part["text"] for part in parts) + "\n"
        elif message["role"] == "tool":
            text = "\n".join(part["text"] for part in parts)
            result.items.append(Item(role="user", kind="result", id=message["tool_call_id"], text=text))
        else:
            result.items += _chat_items(message, parts)
    for tool in body.get("tools") or ():
        if function := tool.get("function"):
            result.tools[function["name"]] = _declared(function)
    if most := body.get("max_completion_tokens") or body.get("max_tokens"):
        result.settings["max_output_tokens"] = most
    if stop := body.get("stop"):
        result.settings["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    shape = body.get("response_format") or {}
    _read_shape(result, shape, shape.get("json_schema") or {})
    result.effort = body.get("reasoning_effort") or (body.get("reasoning") or {}).get("effort")
    return result


def responses_reading(body: Json) -> Reading:
    """What the body of a request to Responses says."""
    result = Reading(system=f"{body.get('instructions') or ''}\n", choice=_choice(body.get("tool_choice")))
    result.settings = settings_of(body, _RESPONSES)
    content = body.get("input")
    for item in [{"role": "user", "content": content}] if isinstance(content, str) else content or ():
        if item.get("role") in _INSTRUCTIONS:
            result.system += "\n".join(part.get("text", "") for part in _parts(item["content"], "input_text")) + "\n"
        else:
            result.items += _response_items(item)
    for tool in body.get("tools") or ():
        if tool.get("type") == "function":
            result.tools[tool["name"]] = _declared(tool)
    if "message.output_text.logprobs" in (body.get("include") or ()):
        result.settings["response_logprobs"] = True
    shape = (body.get("text") or {}).get("format") or {}
    _read_shape(result, shape, shape)
    result.effort = (body.get("reasoning") or {}).get("effort")
    return result


def _read_shape(result: Reading, shape: Json, schema: Json) -> None:
    kind = shape.get("type")
    result.schema = facts_of(schema["schema"]) if kind == "json_schema" else None
    result.json_mode = kind in ("json_object", "json_schema")


def _parts(content: Any, kind: str) -> list[Json]:
    return [{"type": kind, "text": content}] if isinstance(content, str) else list(content or ())


def _declared(function: Json) -> Declared:
    facts = facts_of(function.get("parameters") or {})
    return Declared(function.get("description") or "", facts, bool(function.get("strict")))


def _choice(choice: Any) -> str | None:
    if choice is None or isinstance(choice, str):
        return "any" if choice == "required" else choice
    if choice.get("type") == "allowed_tools":
        allowed = choice.get("allowed_tools", choice)
        names = [tool.get("name") or tool["function"]["name"] for tool in allowed["tools"]]
        return named_tools(names) if allowed["mode"] == "required" else "auto"
    return "tool:" + str(choice.get("name") or choice["function"]["name"])


def _chat_items(message: Json, parts: list[Json]) -> Iterator[Item]:
    role: Literal["model", "user"] = "model" if message["role"] == "assistant" else "user"
    if reasoning := message.get("reasoning_content") or message.get("reasoning"):
        yield Item(role=role, kind="thought", text=reasoning)
    yield from (_item(part, role) for part in parts)
    for call in message.get("tool_calls") or ():
        function = call["function"]
        args = arguments_of(function["arguments"])
        yield Item(role=role, kind="call", id=call["id"], name=function["name"], args=args)


def _response_items(item: Json) -> Iterator[Item]:
    kind = item.get("type", "message")
    if kind == "message":
        role: Literal["model", "user"] = "model" if item["role"] == "assistant" else "user"
        yield from (_item(part, role) for part in _parts(item["content"], "input_text"))
    elif kind == "function_call":
        args = arguments_of(item["arguments"])
        yield Item(role="model", kind="call", id=item["call_id"], name=item["name"], args=args)
    elif kind == "function_call_output":
        parts = _parts(item["output"], "input_text")
        yield Item(
            role="user",
            kind="result",
            id=item["call_id"],
            text="\n".join(p["text"] for p in parts if "text" in p),
            media=tuple(_item(part, "user").text for part in parts if "text" not in part),
        )
    elif kind == "reasoning":
        proof = item.get("encrypted_content") or item.get("id")
        yield Item(role="model", kind="thought", text="".join(s["text"] for s in item["summary"]), signature=proof)


def _item(part: Json, role: Literal["model", "user"]) -> Item:
    for key in ("text", "refusal"):
        if key in part:
            return Item(role=role, kind="text", text=part[key])
    return Item(role=role, kind="media", text=_media(part))


def _media(part: Json) -> str:
    if "input_audio" in part:
        sound = part["input_audio"]
        return mark_of(f"audio/{sound['format']}", sound["data"])
    if "image_url" in part:
        image = part["image_url"]
        return mark_of_url(image if isinstance(image, str) else image["url"])
    file = part.get("file", part)
    if file.get("file_data"):
        return mark_of_url(file["file_data"])
    return str(file.get("file_url") or f"file:{file.get('file_id')}")

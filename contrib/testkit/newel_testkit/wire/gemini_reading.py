"""Gemini: what a request says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from newel_kernel import Json
from newel_testkit.wire.facts import facts_of
from newel_testkit.wire.gemini_rules import camel
from newel_testkit.wire.reading import Declared, Item, Reading, mark_of, named_tools, settings_of

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_output_tokens": "maxOutputTokens",
    "stop_sequences": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "response_logprobs": "responseLogprobs",
    "logprobs": "logprobs",
    "candidate_count": "candidateCount",
}


def reading(body: Json) -> Reading:
    """What `body` says, with the contents of its cache in their place."""
    body = camel(body)
    config = body.get("generationConfig") or {}
    result = Reading(settings=settings_of(config, _SETTINGS))
    result.system = "\n".join(part.get("text", "") for part in (body.get("systemInstruction") or {}).get("parts", ()))
    for content in body.get("contents") or ():
        role: Literal["model", "user"] = "model" if content.get("role") == "model" else "user"
        result.items += [item for part in content["parts"] for item in _items(part, role)]
    for tool in body.get("tools") or ():
        for function in tool.get("functionDeclarations") or ():
            own = function.get("parameters")
            facts = facts_of(own, gemini=True) if own else facts_of(function.get("parametersJsonSchema") or {})
            result.tools[function["name"]] = Declared(function.get("description") or "", facts)
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    mode = (calling.get("mode") or "").lower()
    result.choice = named_tools(calling.get("allowedFunctionNames") or ()) or mode or None
    if body.get("safetySettings"):
        result.settings["safety"] = body["safetySettings"]
    _read_output(result, config)
    return result


def _read_output(result: Reading, config: Json) -> None:
    if config.get("responseJsonSchema"):
        result.schema = facts_of(config["responseJsonSchema"])
    elif config.get("responseSchema"):
        result.schema = facts_of(config["responseSchema"], gemini=True)
    result.json_mode = config.get("responseMimeType") == "application/json"
    thinking = config.get("thinkingConfig") or {}
    budget = thinking.get("thinkingBudget")
    if budget is not None:
        result.thinking = "off" if budget == 0 else "dynamic" if budget < 0 else f"budget:{budget}"
    result.effort = (thinking.get("thinkingLevel") or "").lower() or None


def _items(part: Json, role: Literal["model", "user"]) -> Iterator[Item]:
    signature = part.get("thoughtSignature")
    if "text" in part:
        kind: Literal["thought", "text"] = "thought" if part.get("thought") else "text"
        yield Item(role=role, kind=kind, text=part["text"], signature=signature)
    elif "inlineData" in part or "fileData" in part:
        yield Item(role=role, kind="media", text=_media(part))
    elif "functionCall" in part:
        call = part["functionCall"]
        args = call.get("args") or {}
        yield Item(role=role, kind="call", id=call.get("id"), name=call["name"], args=args, signature=signature)
    elif "functionResponse" in part:
        result = part["functionResponse"]
        yield Item(
            role=role,
            kind="result",
            id=result.get("id"),
            name=result["name"],
            text=json.dumps(result["response"], ensure_ascii=False),
            media=tuple(_media(inner) for inner in result.get("parts") or ()),
        )


def _media(part: Json) -> str:
    if "fileData" in part:
        return str(part["fileData"]["fileUri"])
    return mark_of(part["inlineData"]["mimeType"], part["inlineData"]["data"])

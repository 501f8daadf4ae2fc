"""The parts of a request's config that its body does not express: tools, choices, settings, schemas, thinking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from newel_kernel import Json
from newel_testkit.wire.facts import Fact, facts_of
from newel_testkit.wire.reading import Reading, named_tools, same_name

#: A kind of loss, and what is lost.
Lost: TypeAlias = tuple[str, str]

_SETTINGS = (
    "temperature",
    "top_p",
    "top_k",
    "max_output_tokens",
    "stop_sequences",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "response_logprobs",
    "logprobs",
    "candidate_count",
)
#: Keywords of an answer's schema that may go into a description instead, or to newel alone.
_OPTIONAL_KEYWORDS = (
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "default",
    "format",
    "title",
)


def setting_losses(config: Json, reading: Reading, protocol: str) -> Iterator[Lost]:
    """What is lost of a config, whether or not the protocol could express it."""
    yield from _tools(config, reading, protocol)
    yield from _choice(config, reading)
    yield from _settings(config, reading)
    yield from _shape(config, reading, protocol)
    yield from _thinking(config.get("thinking_config") or {}, reading, protocol)


def _tools(config: Json, reading: Reading, protocol: str) -> Iterator[Lost]:
    allowed = _allowed(config) if reading.choice == "any" and set(reading.tools) == _allowed(config) else None
    for one in [one for tool in config.get("tools", ()) for one in tool["function_declarations"]]:
        if allowed is not None and one["name"] not in allowed:
            continue  # the declarations express the choice
        sent = next((tool for name, tool in reading.tools.items() if same_name(one["name"], name)), None)
        if sent is None:
            yield "tool", f"the tool {one['name']}"
            continue
        if one.get("description", "").strip() not in sent.description:
            yield "tool", f"the description of the tool {one['name']}"
        for path, keyword, value in sorted(_parameters(one) - sent.facts, key=str):
            if protocol == "gemini" and (path, keyword, value) == ("", "type", "object"):
                continue
            if sent.strict and keyword in ("default", "title"):
                continue
            yield "tool", f"of the schema of {one['name']}{path}: {keyword}={value!r}"


def _parameters(declaration: Json) -> frozenset[Fact]:
    if declaration.get("parameters"):
        return facts_of(declaration["parameters"], gemini=True)
    return facts_of(declaration.get("parameters_json_schema") or {})


def _choice(config: Json, reading: Reading) -> Iterator[Lost]:
    calling = (config.get("tool_config") or {}).get("function_calling_config") or {}
    if not calling:
        return
    names = _allowed(config)
    if names and reading.choice == "any" and set(reading.tools) == names:
        return
    want = named_tools(names) or calling["mode"].lower()
    if reading.choice == want or (want == "auto" and reading.choice is None) or (want == "none" and not reading.tools):
        return
    thinks = reading.thinking not in (None, "off")
    what = "choice:tools" if want.startswith("tools:") else "choice with thinking" if thinks else "choice"
    yield what, f"the choice of tools {want} (sent: {reading.choice})"


def _allowed(config: Json) -> set[str]:
    calling = (config.get("tool_config") or {}).get("function_calling_config") or {}
    return set(calling.get("allowed_function_names") or ())


def _settings(config: Json, reading: Reading) -> Iterator[Lost]:
    thinks = reading.thinking not in (None, "off")
    for name in _SETTINGS:
        want, sent = config.get(name), reading.settings.get(name)
        if want is None or want == sent:
            continue
        what = name
        if name == "stop_sequences" and sent and set(sent) < set(want):
            what = "some stop sequences"
        elif thinks and (name in ("temperature", "top_p", "top_k") or (name == "max_output_tokens" and sent > want)):
            what = f"{name} with thinking"
        elif name == "temperature" and want > 1:
            what = "temperature above 1"
        yield what, f"{name}={want} (sent: {sent})"
    if config.get("safety_settings") and "safety" not in reading.settings:
        yield "safety", "the safety settings"


def _shape(config: Json, reading: Reading, protocol: str) -> Iterator[Lost]:
    json_schema, own = config.get("response_json_schema"), config.get("response_schema")
    shape = json_schema or own
    if shape is None:
        wants_json = config.get("response_mime_type") == "application/json"
        if wants_json and not reading.json_mode and "json" not in reading.system.lower():
            yield "json", "that the answer is to be JSON"
        return
    if reading.schema is None:
        yield "schema", "the schema of the answer"
        return
    facts = facts_of(shape, gemini=json_schema is None)
    missing: set[Fact] = set(facts - reading.schema)
    if str(shape.get("type")).lower() == "array":  # within an object, if the protocol wants one
        sent = {fact[1:] for fact in reading.schema}
        missing = {fact for fact in facts if fact[1:] not in sent}
    for path, keyword, value in sorted(missing, key=str):
        what = "bounds of the answer" if keyword in _OPTIONAL_KEYWORDS and protocol != "gemini" else "schema"
        if keyword != "title":
            yield what, f"of the answer's schema{path}: {keyword}={value!r}"


def _thinking(thinking: Json, reading: Reading, protocol: str) -> Iterator[Lost]:
    budget, level = thinking.get("thinking_budget"), thinking.get("thinking_level")
    if level:
        if reading.effort != level.lower():
            yield "effort", f"the thinking level {level} (sent: {reading.effort})"
    elif budget == 0:
        words = ("none", "minimal") if protocol.startswith("openai") else ("none", "minimal", None)
        if reading.thinking not in (None, "off") or reading.effort not in words:
            yield "thinking", "that there must be no thinking"
    elif budget is not None:
        exact = "dynamic" if budget < 0 else f"budget:{budget}"
        if reading.thinking is None or reading.thinking == "off":
            yield "budget", f"the thinking budget {budget} (sent: {reading.thinking}, effort {reading.effort})"
        elif reading.thinking != exact:
            yield "exact budget", f"the thinking budget {budget} (sent: {reading.thinking})"

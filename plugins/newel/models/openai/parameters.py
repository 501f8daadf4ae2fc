"""Parameters: settings of a request that both protocols have, or that neither has."""

from __future__ import annotations

from collections.abc import Iterable

from newel.models.contract import ModelCapabilities
from newel.models.json_schemas import Schema, json_schema
from newel.models.openai.strict import inlined, relaxed_schema
from newel.models.openai.thinking import Report
from newel.models.openai.wrapping import wrapped
from newel.models.wire.instruction import parts_of, texts_of
from newel_kernel import Json
from newel_types import GenerateContentConfig, Part, ServiceTier

JSON_TYPE = "application/json"
#: Settings that are sent in some form, that are the runtime's own, or that label a bill elsewhere.
_HANDLED = frozenset(
    (
        "http_options",
        "should_return_http_response",
        "system_instruction",
        "temperature",
        "top_p",
        "max_output_tokens",
        "response_mime_type",
        "response_schema",
        "response_json_schema",
        "tools",
        "tool_config",
        "labels",
        "automatic_function_calling",
        "thinking_config",
        "service_tier",
        "store",
        "response_modalities",
        "media_resolution",
    )
)
_SAMPLING = ("temperature", "top_p")
_TIERS = {ServiceTier.FLEX: "flex", ServiceTier.STANDARD: "default", ServiceTier.PRIORITY: "priority"}
_NAME = "answer"


def instructions(config: GenerateContentConfig, report: Report) -> str:
    """The system instruction, whatever form it has."""
    for part in parts_of(config.system_instruction):
        if isinstance(part, Part) and not part.text:
            report("system_instruction", "a system instruction holds text only; what else it has is left out")
    return "\n\n".join(text for text in texts_of(config.system_instruction) if text.strip())


def sampling(config: GenerateContentConfig, capable: ModelCapabilities, report: Report) -> Json:
    """Temperature and top_p, if they have an effect."""
    fields: Json = {}
    for name in _SAMPLING:
        value = getattr(config, name)
        if value is None:
            continue
        if name in capable.sampling:
            fields[name] = value
        else:
            report(name, f"this model takes no {name}; it is left out")
    return fields


def service_tier(config: GenerateContentConfig) -> Json:
    """The service tier."""
    tier = _TIERS.get(config.service_tier) if config.service_tier is not None else None
    return {"service_tier": tier} if tier else {}


def report_unsupported(config: GenerateContentConfig, further: Iterable[str], report: Report) -> None:
    """Name the settings of a request that cannot be sent. `further`: other settings that the protocol has."""
    handled = _HANDLED | frozenset(further)
    for name in sorted(config.model_fields_set - handled):
        if getattr(config, name) not in (None, [], {}):
            report(name, f"the protocol has no {name}; it is left out")
    odd = [modality for modality in config.response_modalities or () if str(modality).upper() != "TEXT"]
    if odd:
        report("response_modalities", f"answers are text; {', '.join(odd)} is left out")


class OutputFormat:
    """The JSON form that an answer must have. `schema` None: any object."""

    def __init__(self, schema: Schema | None, *, strict: bool, name: str, wrapped: bool) -> None:
        self.schema = schema
        self.strict = strict
        self.name = name
        #: The answer is not an object, and comes wrapped in one.
        self.wrapped = wrapped


def output_format(config: GenerateContentConfig, report: Report, *, strict: bool) -> OutputFormat | None:
    """The structured output that a request asks for."""
    source = config.response_json_schema if config.response_json_schema is not None else config.response_schema
    if source is None:
        if config.response_mime_type == JSON_TYPE:
            return OutputFormat(None, strict=False, name=_NAME, wrapped=False)
        if config.response_mime_type not in (None, "text/plain"):
            report("response_mime_type", f"answers are text or JSON; {config.response_mime_type!r} is left out")
        return None
    schema = json_schema(source)
    schema = inlined(schema)
    is_object = schema.get("type") == "object"
    outer = schema if is_object else wrapped(schema)
    closed, moved = relaxed_schema(outer) if strict else (None, frozenset())
    if moved:
        report("response_schema", f"strict schemas have no {', '.join(sorted(moved))}; descriptions state it")
    title = schema.get("title")
    name = title if isinstance(title, str) and title.isascii() and title.isidentifier() and len(title) <= 64 else _NAME
    return OutputFormat(closed or outer, strict=closed is not None, name=name, wrapped=not is_object)

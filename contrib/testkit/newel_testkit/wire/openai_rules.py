"""OpenAI: what both of its protocols refuse.

Rules from the API reference and the guides "Function calling", "Structured Outputs", "Images and vision" and "File
inputs".
"""

from __future__ import annotations

import base64
import re
from typing import Any

from newel_kernel import Json
from newel_testkit.wire.http import Logged
from newel_testkit.wire.schemas import RefusedError, check_strict_openai, check_valid, walk

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGE = re.compile(r"data:(image/(?:png|jpeg|jpg|gif|webp));base64,(.*)", re.S)
_FILE = re.compile(r"data:([^;,]+);base64,(.*)", re.S)
_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "enum", "not")

#: What these protocols cannot express, and what reasoning models refuse as well.
UNSAYABLE = frozenset(
    (
        "top_k",
        "safety",
        "media:video",
        "media:model",
        "budget",
        "bounds of the answer",
        "some stop sequences",
        "caching",
    )
)
UNSAYABLE_WHERE_IT_REASONS = frozenset(
    ("temperature", "top_p", "stop_sequences", "presence_penalty", "frequency_penalty", "logprobs", "response_logprobs")
)


def reasons(model: str) -> bool:
    """Whether a model reasons, and takes no sampling settings."""
    return re.match(r"(o\d|gpt-5|gpt-6)", model) is not None and "chat" not in model


def checked_body(request: Logged, keys: frozenset[str]) -> Json:
    """The body without nulls, which stand for the default; refused without a key, or with an unknown field."""
    if not request.headers.get("authorization", "").startswith("Bearer "):
        raise RefusedError("You didn't provide an API key.")
    if not isinstance(request.body, dict):
        raise RefusedError("We could not parse the JSON body of your request.")
    for key in request.body:
        if key not in keys:
            raise RefusedError(f"Unrecognized request argument supplied: {key}")
    if not request.body.get("model"):
        raise RefusedError("you must provide a model parameter")
    return {key: value for key, value in request.body.items() if value is not None}


def check_function(function: Json, where: str, *, strict: bool) -> str:
    """Refuse a bad declaration; return its name."""
    name = function.get("name")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise RefusedError(f"Invalid '{where}.name': string does not match pattern, got {name!r}")
    if not isinstance(function.get("description"), str | None):
        raise RefusedError(f"Invalid type for '{where}.description'")
    schema = function.get("parameters")
    if schema is None:
        return name
    about = f"Invalid schema for function {name!r}: "
    check_valid(schema, about)
    for key in _NOT_AT_THE_TOP:
        if key in schema:
            raise RefusedError(f"{about}schema must not have {key!r} at the top level")
    for path, node in walk(schema):
        if node.get("type") == "array" and not node.keys() & {"items", "prefixItems"}:
            raise RefusedError(f"{about}In context={path}, array schema missing items.")
    if strict:
        check_strict_openai(schema, about)
    return name


def check_names(names: list[str], choice: object) -> None:
    """Refuse two tools of one name, and a choice that names none of them."""
    if len(set(names)) != len(names):
        raise RefusedError("Function names must be unique")
    if choice is not None and choice not in names:
        raise RefusedError(f"Tool choice {choice!r} not found in 'tools' parameter")


def check_called(name: object, where: str) -> None:
    """Refuse a bad name of a call."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise RefusedError(f"Invalid '{where}.name': string does not match pattern, got {name!r}")


def check_schema(shape: Json, where: str, keys: set[str]) -> None:
    """Refuse a bad schema of an answer."""
    if set(shape) - keys:
        raise RefusedError(f"Unknown parameter: '{where}.{sorted(set(shape) - keys)[0]}'")
    check_called(shape.get("name"), where)
    if shape.get("schema") is None:
        raise RefusedError(f"Missing required parameter: '{where}.schema'")
    check_valid(shape["schema"], f"{where}: ")
    if shape.get("strict"):
        check_strict_openai(shape["schema"], f"{where}: ")


def check_file(file: Json, where: str) -> None:
    """Refuse a bad file that comes with the request."""
    match = _FILE.match(file.get("file_data") or "")
    if match is None:
        raise RefusedError(f"Invalid '{where}.file_data': expected a base64-encoded data URL with a MIME type")
    if not file.get("filename"):
        raise RefusedError(f"Missing required parameter: '{where}.filename'")
    data = decoded(match[2], where)
    sound = data.startswith(b"%PDF") if match[1] == "application/pdf" else match[1].startswith("text/")
    if not sound:
        raise RefusedError(f"Invalid file data: '{where}.file_data': unsupported file ({match[1]})")


def check_image(url: object, where: str) -> None:
    """Refuse a bad address of an image, or a data URL with bad content."""
    if not isinstance(url, str):
        raise RefusedError(f"Invalid type for '{where}.image_url'")
    if not url.startswith("data:"):
        if not url.startswith(("https://", "http://")):
            raise RefusedError(f"Invalid '{where}': expected a valid URL, got {url[:60]!r}")
        return
    match = _IMAGE.fullmatch(url)
    if match is None:
        raise RefusedError(f"You uploaded an unsupported image ({where}, {url[:40]})")
    decoded(match[2], where)


def decoded(data: Any, where: str) -> bytes:
    """The bytes of base64."""
    try:
        return base64.b64decode(data, validate=True)
    except (ValueError, TypeError) as error:
        raise RefusedError(f"Invalid base64 in {where}") from error


def mentions_json(*values: object) -> bool:
    """Whether the word JSON occurs anywhere, which the service requires for answers of any JSON."""
    return any("json" in str(value).lower() for value in values)

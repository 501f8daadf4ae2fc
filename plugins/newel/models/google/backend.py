"""The backend of Gemini: the Gemini API or Vertex AI, and the environment variables for choice and credentials."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from urllib.parse import urlsplit

from newel.models import catalogue
from newel.models.wire.addresses import base_url_of
from newel.models.wire.keys import plain_key
from newel_kernel import ModelError

DEFAULT_MODEL = catalogue.GEMINI
#: The model names of this provider; the last two are resource names of Vertex AI.
PATTERNS = (
    r"gemini-.*",
    r"model-optimizer-.*",
    r"projects/.+/endpoints/.+",
    r"projects/.+/models/gemini.+",
)
_RESOURCE = re.compile(r"projects/([^/]+)/locations/([^/]+)/.+")
_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_VERTEX = ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI")


def _variable() -> str | None:
    """The variable of the environment that holds a key."""
    return next((name for name in _KEYS if os.environ.get(name, "").strip()), None)


def api_key(model: str) -> str | None:
    """The key in the environment; raises ModelError if it cannot be a key."""
    return plain_key(os.environ[name], model, name) if (name := _variable()) is not None else None


def is_vertex(model: str, chosen: bool | None = None) -> bool:
    """Whether `model` is served by Vertex AI: as `chosen`, else by its resource name, else by the environment."""
    if chosen is not None:
        return chosen
    if model.startswith("projects/"):
        return True
    switch = next((value for name in _VERTEX if (value := os.environ.get(name))), "")
    return switch.lower() in ("true", "1")


def _variable_of_host(vertex: bool) -> str:
    return "GOOGLE_VERTEX_BASE_URL" if vertex else "GOOGLE_GEMINI_BASE_URL"


def host(base_url: str | None, *, vertex: bool) -> str:
    """The host that the SDK connects to."""
    url = base_url or os.environ.get(_variable_of_host(vertex), "")
    return urlsplit(url).hostname or ("aiplatform.googleapis.com" if vertex else "generativelanguage.googleapis.com")


def account(
    model: str, project: str | None = None, location: str | None = None, base_url: str | None = None
) -> dict[str, str]:
    """Project and location on Vertex AI, if `project` or the model's resource name gives them.

    Otherwise the SDK reads them from the environment, where a key or a base URL may replace a project.
    """
    if project:
        return {"project": project, "location": location or os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"}
    if _variable() is not None or base_url or os.environ.get("GOOGLE_VERTEX_BASE_URL"):
        return {}
    match = _RESOURCE.fullmatch(model)
    return {"project": match[1], "location": match[2]} if match is not None else {}


def is_configured(vertex: bool) -> bool:
    """Whether the environment has credentials: a key, or on Vertex AI a project."""
    return _variable() is not None or (vertex and bool(os.environ.get("GOOGLE_CLOUD_PROJECT")))


def check(model: str, vertex: bool, base_url: str | None = None, project: str | None = None) -> None:
    """Raise a ModelError that names the remedy if the SDK or the key is missing."""
    if not _sdk_is_installed():
        raise ModelError(
            f"the model {model!r} needs the google-genai SDK, which is not installed:\npip install 'newel[gemini]'"
        )
    base_url_of(model, base_url, _variable_of_host(vertex))
    if is_configured(vertex):
        api_key(model)
        return
    if not vertex:
        raise ModelError(
            f"the model {model!r} needs an API key: set GOOGLE_API_KEY (or GEMINI_API_KEY); "
            "https://aistudio.google.com/apikey gives one"
        )
    if not (base_url or os.environ.get("GOOGLE_VERTEX_BASE_URL") or account(model, project)):
        raise ModelError(
            f"the model {model!r} runs on Vertex AI and needs a project: set GOOGLE_CLOUD_PROJECT and "
            "GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY for the express mode"
        )


def _sdk_is_installed() -> bool:
    try:
        return find_spec("google.genai") is not None
    except ModuleNotFoundError:  # there is no package `google` at all
        return False

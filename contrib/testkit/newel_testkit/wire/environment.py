"""Environment: the variables that lead the SDKs to a local service, and those that would lead them elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

#: Protocol -> the variable of its base URL, and that of its key.
VARIABLES: Mapping[str, tuple[str, str]] = {
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "openai-responses": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "compatible": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GOOGLE_API_KEY"),
}
#: Further variables that the SDKs read.
ELSEWHERE = (
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "GEMINI_API_KEY",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_GENAI_API_VERSION",
    "GOOGLE_GENAI_USE_ENTERPRISE",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_VERTEX_BASE_URL",
    "OPENAI_ADMIN_KEY",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
)


def variables(base: Mapping[str, str], protocols: tuple[str, ...], key: str) -> dict[str, str]:
    """The variables for services with these base URLs; if two protocols want one variable, the first one gets it."""
    result = {"NO_PROXY": "127.0.0.1"}
    for protocol in protocols:
        url, secret = VARIABLES[protocol]
        result.setdefault(url, base[protocol])
        result.setdefault(secret, key)
    return result
